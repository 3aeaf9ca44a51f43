"""``truekeep protect report`` and ``reconcile``: what wrapped stores saw, and whether they and their keep agree."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from truekeep.cli.options import open_keep, require_extra, with_keep
from truekeep.cli.output import console, print_json, table
from truekeep.errors import InvalidRequest
from truekeep.trust.fence import one_line

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.protect.wrap.reconcile import Reconcilable, Reconciliation

_KINDS = {
    "unknown": "in the store, not known here",
    "changed": "not what was written through the wrapper",
    "gone": "known here, no longer in the store",
    "half_done": "begun and not finished",
    "approved": "approved, on its way to the store",
    "rejected": "rejected or expired; never reaches the store",
    "waiting": "waiting for a reviewer",
    "refused": "not taken by the store; tried again next time",
}
_MOST_SHOWN = 20  # a terminal shows no more at once


@click.command()
@with_keep
def report(keep_name: str, home: str | None, output: str) -> None:
    """Show what wrapped stores and watched servers saw: what was, or would have been, stopped or marked."""
    with open_keep(keep_name, home) as keep:
        tallies = keep.entries.tallies()
    if output == "json":
        print_json([one.as_dict() for one in tallies])
        return
    out = console()
    if not tallies:
        out.print("No wrapped store has reported anything yet.", style="green")
    for one in tallies:
        verb = "would have been" if one.mode == "shadow" else "were"
        out.print(f"{one_line(one.store)} ({one.mode}, since {one.since[:10]}): what {verb} held, blocked or denied")
        listing = table("what", "times", wide="what")
        for name, times in sorted(one.counts.items()):
            listing.add_row(name.replace("_", " "), str(times))
        for name, times in sorted(one.reasons.items(), key=lambda pair: -pair[1])[:_MOST_SHOWN]:
            listing.add_row(f"reason: {one_line(name)}", str(times))
        out.print(listing)
        if one.mode == "shadow":
            out.print("Shadow mode protects nothing: all of this went through.", style="yellow")


@click.command()
@click.option(
    "--langgraph", "file", type=click.Path(exists=True, dir_okay=False), help="A file of LangGraph's SQLite store."
)
@click.option("--open", "opener", help="MODULE:FUNCTION that takes the keep and gives your wrapped store.")
@click.option("--name", default="langgraph", show_default=True, help="The name the store was wrapped under.")
@click.option("--channel", default="user", show_default=True, help="The channel it was wrapped with.")
@click.option("--apply", "applies", is_flag=True, help="Do it; without this it is only told.")
@click.option("--undo", "undone", help="Take the reconciliation of that id back.")
@with_keep
def reconcile(
    file: str | None,
    opener: str | None,
    name: str,
    channel: str,
    applies: bool,
    undone: str | None,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Compare a store with what the keep knows of it; a dry run unless --apply is given."""
    with open_keep(keep_name, home) as keep:
        if undone is not None:
            taken, dropped = keep.entries.undo(undone)
            told = {"undone": undone, "taken": len(taken), "dropped": len(dropped)}
            print_json(told) if output == "json" else console().print("Taken back.", style="green")
            return
        from truekeep.protect.wrap.reconcile import reconcile as compared  # noqa: PLC0415 - only here

        found = compared(_opened(keep, file, opener, name, channel), apply=applies)
    if output == "json":
        print_json(found.as_dict())
    else:
        _print(found)
    if found.refused or (not applies and any(getattr(found, kind) for kind in _KINDS if kind != "waiting")):
        sys.exit(1)


def _opened(keep: Keep, file: str | None, opener: str | None, name: str, channel: str) -> Reconcilable:
    if (file is None) == (opener is None):
        raise InvalidRequest("Name the store with --langgraph or --open.", code="store_not_named")
    if file is not None:
        return _langgraph(keep, file, name, channel)
    module, _, attribute = (opener or "").partition(":")
    try:
        opened: Any = getattr(import_module(module), attribute)(keep)
    except (ImportError, AttributeError, ValueError):
        raise InvalidRequest("There is no such function.", code="store_not_opened") from None
    return opened  # type: ignore[no-any-return]


def _langgraph(keep: Keep, file: str, name: str, channel: str) -> Reconcilable:
    require_extra("langgraph", "langgraph.store.sqlite")
    import sqlite3  # noqa: PLC0415 - only here

    from langgraph.store.sqlite import SqliteStore  # noqa: PLC0415 - heavy

    from truekeep.protect.wrap.langgraph import protect_store  # noqa: PLC0415 - heavy

    store = SqliteStore(sqlite3.connect(file, check_same_thread=False, isolation_level=None))
    return protect_store(store, keep, channel=channel, mode="enforce", name=name)


def _print(found: Reconciliation) -> None:
    out = console()
    listing = table("what", "entries", "which", wide="which")
    for kind, told in _KINDS.items():
        places = getattr(found, kind)
        if places:
            which = ", ".join(one_line("/".join((*one.namespace, one.key))) for one in places[:_MOST_SHOWN])
            listing.add_row(told, str(len(places)), which)
    if not listing.row_count:
        out.print("The store and the keep agree.", style="green")
        return
    out.print(listing)
    if found.undo:
        out.print(f"Done. Take it back with: truekeep protect reconcile --undo {found.undo}")
    elif not found.applied:
        out.print("Nothing was changed; --apply does it.")
