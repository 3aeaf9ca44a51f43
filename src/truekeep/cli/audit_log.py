"""The audit log on the terminal: what happened, whether the store still is what it left, and what to do if not."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json, print_styled
from truekeep.errors import StoreCorrupt, StoreError, StoreTampered
from truekeep.trust.fence import one_line
from truekeep.types import utc_text


@click.command()
@click.option("--after", type=int, default=0, help="Only events after that number.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--kind", "kinds", multiple=True, help="Only events of that kind.")
@with_keep
def events(
    after: int, limit: int | None, kinds: tuple[str, ...], keep_name: str, home: str | None, output: str
) -> None:
    """Print what happened, in order."""
    with open_keep(keep_name, home) as keep:
        found = keep.audit.events(after=after, limit=limit, kinds=kinds)
    if output == "json":
        print_json(
            [{"seq": event.seq, "at": utc_text(event.at), "kind": event.kind, "body": event.body} for event in found]
        )
        return
    out = console()
    for event in found:
        print_styled(out, (f"{event.seq:>6}  {event.at:%Y-%m-%d %H:%M:%S}  {event.kind}", "bold"))
        body = {name: value for name, value in event.body.items() if value is not None}
        print_styled(out, (one_line(json.dumps(body, ensure_ascii=False)), "dim"), indent=8)


@click.command()
@with_keep
def verify(keep_name: str, home: str | None, output: str) -> None:
    """Check every row and every event again. Exit code 1 if anything was altered."""
    found = _verified(keep_name, home)
    if output == "json":
        print_json(found)
    else:
        _print(found)
    if not found["ok"]:
        sys.exit(REFUSED)


@click.command()
@click.option("--by", required=True, help="Who decides.")
@click.option("--reason", required=True, help="Why it may count.")
@click.option("--dry-run", is_flag=True, help="Only say what would be accepted.")
@with_keep
def accept(by: str, reason: str, dry_run: bool, keep_name: str, home: str | None, output: str) -> None:
    """Let a store count as it is, though it is behind its anchor or rows are gone.

    What is gone stays gone; the decision is written into the audit log with who and why.
    """
    from truekeep.ops.recovery import accept as accept_keep  # noqa: PLC0415 - loads the store

    done = accept_keep(keep_name, by=by, reason=reason, dry_run=dry_run, home=home)
    if output == "json":
        print_json(
            {
                "accepted": not dry_run,
                "problems": list(done.problems),
                "given_up": list(done.given_up),
                "ends_at": done.ends_at,
                "anchored_at": done.anchored_at,
                "event": done.event,
            }
        )
        return
    out = console()
    for problem in done.problems:
        out.print(problem, style="yellow")
    for place in done.given_up:
        out.print(f"given up: {place}", style="yellow")
    out.print("Nothing was changed." if dry_run else f"Accepted; written down as event {done.event}.", style="green")


@click.command()
@with_keep
def salvage(keep_name: str, home: str | None, output: str) -> None:  # noqa: ARG001 - JSON lines in either format
    """Print what still verifies as JSON lines, also when the keep refuses to serve.

    'truekeep import' takes the lines into another keep, as hearsay.
    """
    from truekeep.ops.salvage import salvage as salvage_keep  # noqa: PLC0415 - loads the store

    for entry in salvage_keep(keep_name, home=home):
        print_json(entry, indent=None)


def _verified(keep_name: str, home: str | None) -> dict[str, Any]:
    try:
        with open_keep(keep_name, home) as keep:
            result = keep.audit.verify()
    except (StoreTampered, StoreCorrupt) as error:
        return _refusal(error)
    return {"ok": result.ok, "events": result.events, "rows": result.rows, "problems": list(result.problems)}


def _refusal(error: StoreError) -> dict[str, Any]:
    described = error.as_dict()
    return {"ok": False, "problems": [described.pop("error")], **described}


def _print(found: dict[str, Any]) -> None:
    out = console()
    if found["ok"]:
        out.print(
            f"Verified: {found['events']} events and {found['rows']} rows are as they were written.", style="green"
        )
    for problem in found["problems"]:
        out.print(f"ALTERED: {problem}", style="bold red")
    for name, label in (("where", "where"), ("since", "known good"), ("hint", "what to do")):
        if found.get(name):
            out.print(f"  {label}: {found[name]}", style="yellow")
