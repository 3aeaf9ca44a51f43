"""Groups of commands that load when they are called, so that help is quick."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

CommandTable = Mapping[str, tuple[str, str]]
"""A command's name, where it is (``module:attribute`` in this package), and its one-line help."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and one-line help without importing them."""

    def __init__(self, *arguments: Any, table: CommandTable, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which a newcomer meets them."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command when it is really called."""
        if cmd_name not in self.table:
            return None
        module, attribute = self.table[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(f"truekeep.cli.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was called; of a name that is none, say which one is nearest."""
        if args and args[0] not in self.table and not ctx.resilient_parsing:
            from difflib import get_close_matches  # noqa: PLC0415 - only when something was mistyped

            near = get_close_matches(args[0], self.table, n=1)
            ctx.fail("There is no such command." + (f" Did you mean '{near[0]}'?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table."""
        if not self.table:
            return
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in self.table.items()])
