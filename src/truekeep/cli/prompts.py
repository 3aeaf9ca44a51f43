"""Validate, add, list, approve and disable extraction prompts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

from truekeep.cli.options import common, open_keep, with_keep

if TYPE_CHECKING:
    from truekeep.extract.library import PromptVersion

_STYLES = {"approved": "green", "proposed": "yellow", "disabled": "red"}


@click.group()
def prompts() -> None:
    """A keep's library of extraction prompts: only approved ones are used."""


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
@with_keep
def add(name: str, file: TextIO, by: str, keep_name: str, home: str | None, output: str) -> None:
    """Propose the prompt in FILE as NAME. A dangerous one is refused now."""
    text = _prompt(file)
    with open_keep(keep_name, home, new=True) as keep:
        version = keep.prompts.add(name, text, by=by)
    _show(version, f"somebody else approves it with: truekeep prompts approve {name} --by NAME", output)


@prompts.command("list")
@with_keep
def list_prompts(keep_name: str, home: str | None, output: str) -> None:
    """List every version of every prompt."""
    from truekeep.cli.output import console, print_json, table  # noqa: PLC0415

    with open_keep(keep_name, home) as keep:
        versions = keep.prompts.all()
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
@with_keep
def approve(
    name: str, version: int | None, by: str, reason: str, keep_name: str, home: str | None, output: str
) -> None:
    """Approve a proposed prompt, so that extraction may use it."""
    with open_keep(keep_name, home) as keep:
        approved = keep.prompts.approve(name, version, by=by, reason=reason)
    _show(approved, "use it with: truekeep extract FILE --strategy custom --prompt " + name, output)


@prompts.command()
@click.argument("name")
@click.option("--version", type=click.IntRange(1), help="Which one; the newest by default.")
@click.option("--by", required=True, help="Who disables it.")
@click.option("--reason", required=True, help="Why.")
@with_keep
def disable(
    name: str, version: int | None, by: str, reason: str, keep_name: str, home: str | None, output: str
) -> None:
    """Take a prompt out of use; its hash finds the memories it made."""
    with open_keep(keep_name, home) as keep:
        disabled = keep.prompts.disable(name, version, by=by, reason=reason)
    _show(disabled, "", output)


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
