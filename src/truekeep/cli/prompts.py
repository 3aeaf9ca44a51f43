"""Validate, add, list, approve and disable extraction prompts."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import click

from truekeep.cli.options import common

if TYPE_CHECKING:
    from truekeep.extract.library import PromptLibrary, PromptVersion

_STYLES = {"approved": "green", "proposed": "yellow", "disabled": "red"}


@click.group()
def prompts() -> None:
    """The library of extraction prompts: only approved ones are used."""


@prompts.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--lenient", is_flag=True, help="Allow variables outside the allowlist.")
@common
def validate(file: TextIO, lenient: bool, home: str | None, output: str) -> None:
    """Check the prompt in FILE ('-' for standard input). Exit code 1: refused."""
    from truekeep.errors import PromptSecurityError  # noqa: PLC0415 - keeps --help quick
    from truekeep.extract.prompt_safety import validate_custom_prompt  # noqa: PLC0415

    del home
    try:
        validate_custom_prompt(_prompt(file), strict=not lenient)
    except PromptSecurityError as error:
        _answer({"ok": False, **error.as_dict()}, f"refused ({error.code})  {error}", error.hint, output)
        sys.exit(1)
    _answer({"ok": True}, "fine  This prompt can be used.", "", output)


@prompts.command()
@click.argument("name")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--by", required=True, help="Who adds it.")
@common
def add(name: str, file: TextIO, by: str, home: str | None, output: str) -> None:
    """Propose the prompt in FILE as NAME. A dangerous one is refused now."""
    from truekeep.origin import person_name  # noqa: PLC0415

    version = _library(home).add(name, _prompt(file), by=person_name(by), at=datetime.now(UTC))
    _show(version, "somebody else approves it with: truekeep prompts approve " + name, output)


@prompts.command("list")
@common
def list_prompts(home: str | None, output: str) -> None:
    """List every version of every prompt."""
    from truekeep.cli.output import console, print_json, table  # noqa: PLC0415

    versions = _library(home).all()
    if output == "json":
        print_json([_members(version) for version in versions])
        return
    out = console()
    if not versions:
        out.print("There are no prompts yet.", style="dim")
        return
    from rich.text import Text  # noqa: PLC0415 - not needed for JSON

    listing = table("prompt", "version", "state", "added by", "hash", wide="hash")
    for version in versions:
        state = Text(version.state.value, style=_STYLES[version.state.value])
        listing.add_row(version.name, str(version.version), state, Text(version.added_by), version.hash[:16])
    out.print(listing)


@prompts.command()
@click.argument("name")
@click.option("--version", type=click.IntRange(1), help="Which one; the newest by default.")
@click.option("--by", required=True, help="Who approves it; not who added it.")
@click.option("--reason", default="", help="Why.")
@common
def approve(name: str, version: int | None, by: str, reason: str, home: str | None, output: str) -> None:
    """Approve a proposed prompt, so that extraction may use it."""
    from truekeep.origin import person_name  # noqa: PLC0415

    now = datetime.now(UTC)
    approved = _library(home).approve(name, version, by=person_name(by), at=now, reason=reason)
    _show(approved, "use it with: truekeep extract FILE --strategy custom --prompt " + name, output)


@prompts.command()
@click.argument("name")
@click.option("--version", type=click.IntRange(1), help="Which one; the newest by default.")
@click.option("--by", required=True, help="Who disables it.")
@click.option("--reason", required=True, help="Why.")
@common
def disable(name: str, version: int | None, by: str, reason: str, home: str | None, output: str) -> None:
    """Take a prompt out of use; its hash finds the memories it made."""
    from truekeep.origin import person_name  # noqa: PLC0415

    now = datetime.now(UTC)
    disabled = _library(home).disable(name, version, by=person_name(by), at=now, reason=reason)
    _show(disabled, "", output)


def _library(home: str | None) -> PromptLibrary:
    from truekeep.config import Paths  # noqa: PLC0415
    from truekeep.extract.library import PromptLibrary  # noqa: PLC0415
    from truekeep.extract.prompt_file import FilePromptStore  # noqa: PLC0415

    return PromptLibrary(FilePromptStore(Paths.resolve(home).config / "prompts.json"))


def _prompt(file: TextIO) -> str:
    """The file's text without its last line end; more than any prompt may have is not read."""
    from truekeep.extract.prompt_safety import MAX_PROMPT  # noqa: PLC0415

    return file.read(MAX_PROMPT + 10).removesuffix("\n")


def _show(version: PromptVersion, hint: str, output: str) -> None:
    line = f"{version.state.value}  {version.name} version {version.version}, hash {version.hash[:16]}"
    _answer(_members(version), line, hint, output)


def _members(version: PromptVersion) -> dict[str, Any]:
    from truekeep.types import utc_text  # noqa: PLC0415

    return {
        "name": version.name,
        "version": version.version,
        "state": version.state.value,
        "hash": version.hash,
        "added_by": version.added_by,
        "added_at": utc_text(version.added_at),
        "decided_by": version.decided_by,
        "reason": version.reason,
    }


def _answer(members: dict[str, Any], line: str, hint: str, output: str) -> None:
    from truekeep.cli.output import console, print_json  # noqa: PLC0415

    if output == "json":
        print_json(members)
        return
    console().print(line)
    if hint:
        console().print(f"  {hint}", style="dim")
