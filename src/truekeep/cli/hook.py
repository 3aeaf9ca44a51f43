"""``truekeep hook``: the boundary for every Claude Code user, through its shell hooks.

Each event is a process: JSON on standard input, JSON on standard output. It fails closed. Claude Code goes on after
any exit code but 0 and 2, so whatever happens here ends in an answer that blocks, or in exit code 2.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truekeep import disk
from truekeep.cli.options import common, with_keep
from truekeep.cli.output import console, print_json

if TYPE_CHECKING:
    from truekeep.adapters.claude_events import ClaudeEvents
    from truekeep.keep import Keep

_BLOCKS = 2
_MOST_INPUT = 50_000_000  # characters of one event, which is held in memory; a longer one is no JSON and is blocked


@click.group()
def hook() -> None:
    """Guard the sessions of coding agents through their hooks."""


@hook.command("claude-code")
@with_keep
def claude_code(keep_name: str, home: str | None, output: str) -> None:  # noqa: ARG001 - it speaks JSON only
    """Answer one event of Claude Code's: JSON on standard input, JSON on standard output."""
    try:
        answer = _answer(sys.stdin.read(_MOST_INPUT), keep_name, home)
        click.echo(json.dumps(answer))
    except BaseException as error:  # whatever it is: an event that is not answered would be let through
        click.echo(f"truekeep: this was stopped, for it could not be judged ({type(error).__name__}).", err=True)
        sys.exit(_BLOCKS)


def _answer(given: str, keep_name: str, home: str | None) -> dict[str, Any]:
    event = json.loads(given)
    if not isinstance(event, Mapping) or not isinstance(event.get("session_id"), str):
        raise click.UsageError("This is no event of Claude Code's.")
    from truekeep.adapters.claude_events import blocked  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.config import Paths  # noqa: PLC0415

    paths = Paths.resolve(home)
    unreported = paths.cache / "claude-code" / hashlib.sha256(event["session_id"].encode()).hexdigest()
    try:
        with _opened(keep_name, home) as keep:
            events = _events(keep, paths.config)
            if unreported.exists() and events.missed(event):
                unreported.unlink()
            answer = events.answer(event)
    except Exception as error:
        answer = blocked(
            event.get("hook_event_name"),
            f"truekeep cannot reach its store ({type(error).__name__}), so this is stopped. See 'truekeep doctor'.",
        )
    if _is_stopped(answer):
        # What came into the context stays there, so the session is not to be taken for clean when it goes on.
        unreported.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        disk.create(unreported)
    return answer


def _opened(keep_name: str, home: str | None) -> Keep:
    from truekeep.cli.options import open_keep  # noqa: PLC0415
    from truekeep.embed import expect_few_texts  # noqa: PLC0415

    expect_few_texts()
    return open_keep(keep_name, home, new=True)


def _events(keep: Keep, config: Path) -> ClaudeEvents:
    from truekeep.adapters.claude_events import ClaudeEvents  # noqa: PLC0415
    from truekeep.adapters.claude_files import read_pins  # noqa: PLC0415
    from truekeep.adapters.mediator import Mediator  # noqa: PLC0415

    return ClaudeEvents(Mediator(keep), pins=read_pins(config), is_lasting=False)


def _is_stopped(answer: Mapping[str, Any]) -> bool:
    return answer.get("continue") is False or answer.get("decision") == "block"


@hook.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@common
def pin(files: tuple[Path, ...], home: str | None, output: str) -> None:
    """Accept FILES (CLAUDE.md, skills, …) as they are now: sessions that load them stay clean until they change."""
    from truekeep.adapters.claude_files import add_pins  # noqa: PLC0415
    from truekeep.config import Paths  # noqa: PLC0415

    added = add_pins(Paths.resolve(home).config, files)
    if output == "json":
        print_json([{"sha256": digest, "file": str(path)} for digest, path in added])
    else:
        console().print(f"Pinned {len(added)} of {len(files)}; the others were already.", style="green")


@hook.command()
@click.argument("agent", type=click.Choice(["claude-code"]))
@click.option("--project", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Only this project.")
@click.option("--dry-run", is_flag=True, help="Show what the settings would be, and change nothing.")
@click.option("--uninstall", is_flag=True, help="Take the hooks out again.")
@with_keep
def install(
    agent: str,  # noqa: ARG001 - there is one
    project: Path | None,
    dry_run: bool,
    uninstall: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Put truekeep into the hooks of AGENT's settings: the user's, or a project's.

    What else is in the settings stays. The settings as they were are kept beside them.
    """
    from truekeep.cli import hook_settings  # noqa: PLC0415

    path = hook_settings.settings_path(project)
    before = hook_settings.read(path)
    command = hook_settings.command_line(keep_name, home)
    after = hook_settings.without(before) if uninstall else hook_settings.with_hooks(before, command)
    changes = after != before
    backup = hook_settings.write(path, after) if changes and not dry_run else None
    if output == "json":
        done = {"settings": str(path), "changed": changes and not dry_run, "backup": str(backup) if backup else None}
        print_json(done | {"would_be": after} if dry_run else done)
        return
    out = console()
    if dry_run:
        print_json(after)
    elif not changes:
        out.print(f"Nothing to do: {path} is as it should be.", style="green")
    else:
        out.print(f"{'Removed from' if uninstall else 'Installed in'} {path}.", style="green")
    if backup is not None:
        out.print(f"The settings as they were: {backup}")
