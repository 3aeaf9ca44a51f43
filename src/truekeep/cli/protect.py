"""``truekeep protect``: protection for the memory that people already have, step by step.

Each command is a module of its own and is loaded when it is called.
"""

from __future__ import annotations

import click

from truekeep.cli.lazy import CommandTable, LazyGroup

_COMMANDS: CommandTable = {
    "scan": ("protect_files:scan", "Look for threats in CLAUDE.md, AGENTS.md and their kin."),
    "baseline": ("protect_files:baseline", "Take down instruction files as they are."),
    "diff": ("protect_files:diff", "Say what appeared since, by which commit or owner, and when."),
    "quarantine": ("protect_files:quarantine", "Take a passage out of a file."),
    "undo": ("protect_files:undo", "Put a quarantined passage back."),
    "install-hook": ("protect_files:install_hook", "Look at instruction files before each git commit."),
    "report": ("protect_wrap:report", "Show what wrapped stores saw, and what would have been held."),
    "reconcile": ("protect_wrap:reconcile", "Compare a wrapped store with what the keep knows of it."),
    "mcp": ("protect_mcp:mcp", "Put a keep in front of an MCP server."),
}


@click.group(cls=LazyGroup, table=_COMMANDS)
def protect() -> None:
    """Protect the memory you already have: look, watch, enforce, move."""
