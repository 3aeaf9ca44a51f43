"""The reference of the command line, from the commands themselves; also as a page of the manual."""

from __future__ import annotations

from collections.abc import Iterator

import click

from reference.source import line
from truekeep.cli import cli


def commands(group: click.Group = cli, before: str = "truekeep") -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, those of groups after their group."""
    context = click.Context(group, info_name=before)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield f"{before} {name}", command
            if isinstance(command, click.Group):
                yield from commands(command, f"{before} {name}")


def page() -> str:
    """All commands."""
    return "# Commands\n\nExit codes: 0 fine, 1 findings or refused, 2 wrong use, 3 internal error.\n\n" + "\n".join(
        part for name, command in commands() for part in _command(name, command)
    )


def _command(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    yield f"## `{name}`\n"
    yield f"```text\n{context.get_usage().removeprefix('Usage: ')}\n```\n"
    yield f"{' '.join((command.help or command.short_help or '').split())}\n"
    rows = [record for option in command.params if (record := option.get_help_record(context)) is not None]
    if rows:
        yield "| option | |\n|---|---|"
        yield from (f"| `{line(flags)}` | {line(words)} |" for flags, words in rows)
        yield ""
