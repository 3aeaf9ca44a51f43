"""``truekeep protect``: protection for the memory that people already have, step by step.

Each command is a module of its own and is loaded when it is called.
"""

from __future__ import annotations

import click

from truekeep.cli.lazy import CommandTable, LazyGroup

_COMMANDS: CommandTable = {
    "mcp": ("protect_mcp:mcp", "Put a keep in front of an MCP server."),
}


@click.group(cls=LazyGroup, table=_COMMANDS)
def protect() -> None:
    """Protect the memory you already have: look, watch, enforce, move."""
