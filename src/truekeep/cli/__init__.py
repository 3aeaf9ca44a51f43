"""The command line: a thin layer over the library. Commands load when they are called, so that help is quick."""

from __future__ import annotations

import atexit
import gc
import sys

import click

from truekeep import __version__
from truekeep.cli.lazy import LazyGroup
from truekeep.cli.working import working

_COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo:demo", "See it work: honest facts, three attacks, recall and the snapshot."),
    "remember": ("memories:remember", "Put a text through the gate."),
    "recall": ("memories:recall", "Find the memories that answer a question."),
    "list": ("memories:list_memories", "List all memories."),
    "forget": ("memories:forget", "Forget what you said, or delete a memory."),
    "pin": ("memories:pin", "Put a memory first in every prompt."),
    "snapshot": ("memories:snapshot", "Print the frozen text a session's prompt gets."),
    "migrate": ("migrate:migrate", "Move in from another memory, and take over what is yours."),
    "import": ("load:import_memories", "Import many memories from a file."),
    "export": ("load:export", "Write all memories as signed JSON lines."),
    "erase": ("recovery:erase", "Erase a subject or memories for good, with a receipt."),
    "reindex": ("load:reindex", "Embed again after the embedder changed."),
    "scan": ("scan:scan", "Scan files or standard input for threats."),
    "review": ("review:review", "Look at what was held back; approve or reject it."),
    "actions": ("actions:actions", "Judge tool calls, and confirm or decline those that wait."),
    "why": ("why:why", "Say why something was asked, held or refused, and what to do."),
    "grants": ("grants:grants", "List, add and take back standing permissions for tool calls."),
    "channels": ("channels:channels", "List, enrol and retire the ways into a keep."),
    "trace": ("incident:trace", "Show where a memory came from and what it touched."),
    "exposures": ("incident:exposures", "List the sessions and actions that a memory reached."),
    "blame": ("incident:blame", "Go from a run's actions back to the memories behind them."),
    "revoke": ("incident:revoke", "Take back a source and everything derived from it."),
    "rewind": ("incident:rewind", "Put the memories back to what they were."),
    "consolidate": ("incident:consolidate", "Merge memories that say the same."),
    "undo": ("incident:undo", "Take a revocation, a rewind or a consolidation back."),
    "incidents": ("incident:incidents", "List revocations, rewinds and consolidations."),
    "audit": ("audit:audit", "Read and verify the audit log."),
    "protect": ("protect:protect", "Protect the memory you already have: look, watch, enforce, move."),
    "rules": ("rules:rules", "List, test, lint and add threat rules."),
    "extract": ("extract:extract", "Distil a transcript into memories, each with its proof."),
    "prompts": ("prompts:prompts", "Check, add and approve extraction prompts."),
    "redteam": ("redteam:redteam", "Attack the defences, and measure them on your own texts."),
    "serve": ("serve:serve", "Serve REST and MCP over HTTP, on this machine by default."),
    "top": ("top:top", "Show what happens now: sessions, calls, what waits, and alerts."),
    "webhooks": ("webhooks:webhooks", "Tell other systems what waits or goes wrong."),
    "config": ("config:config", "Show the settings that count, without secrets."),
    "tokens": ("tokens:tokens", "Add, list and revoke the tokens of the service's callers."),
    "mcp": ("mcp:mcp", "Serve a keep to a desktop agent over MCP."),
    "hook": ("hook:hook", "Guard Claude Code's sessions through its hooks."),
    "keys": ("keys:keys", "Show and rotate keys."),
    "db": ("db:db", "Keep keeps in PostgreSQL: migrate, status, move."),
    "backup": ("recovery:backup", "Copy a keep to a file while it is in use."),
    "restore": ("recovery:restore", "Put a backup back, with a reason."),
    "destroy": ("recovery:destroy", "Shred a keep: its key first, then its files."),
    "doctor": ("doctor:doctor", "Say what is installed, where things are and whether they are safe."),
    "completion": ("completion:completion", "Print the completion script for your shell."),
}
_BETWEEN_COLLECTIONS = 50_000
"""Objects made between two looks for garbage. Hardly any of a start's become it, and at Python's 700 a seventh of the
time goes into looking; a process that goes on still looks."""


@click.group(
    cls=LazyGroup, table=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="truekeep")
def cli() -> None:
    """Long-term memory for AI agents that cannot be poisoned into acting."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors become one clear line, a hint and an exit code."""
    gc.set_threshold(_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    # At its end Python looks for garbage among everything that was loaded; the process takes it all along anyway.
    atexit.register(gc.freeze)
    try:
        with working(sys.argv[1:] if arguments is None else arguments):
            cli.main(args=arguments, prog_name="truekeep", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        sys.exit(_explain(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        sys.exit(_explain(error))


def _explain(error: Exception) -> int:
    """The exit code, once the person was told."""
    from truekeep.cli.failure import explain  # noqa: PLC0415 - only when something went wrong

    return explain(error)
