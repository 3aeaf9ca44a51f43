"""Review on the terminal: what was held back, why, and what a person decides about it."""

from __future__ import annotations

import getpass
import shlex
from datetime import UTC, datetime
from typing import Any

import click

from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json, print_verdict, table
from truekeep.quarantine.noted import SAMPLES, NotedGroup
from truekeep.review.decisions import STATES, item_as_dict, text_of
from truekeep.trust.fence import one_line, sanitised
from truekeep.types import Item

_by = click.option("--by", default=getpass.getuser, show_default="your login name", help="Who decides.")
_MOST_NAMED = 5
"""Items of a group whose undo is named one by one; the queue lists the ids of more."""
_reason = click.option("--reason", required=True, help="Why; goes into the audit log.")


@click.group()
def review() -> None:
    """Look at what was held back; approve or reject it."""


@review.command("list")
@click.option("--state", type=click.Choice([*STATES, "all"]), default="open", show_default=True)
@with_keep
def list_items(state: str, keep_name: str, home: str | None, output: str) -> None:
    """List what waits for a person, oldest first."""
    with open_keep(keep_name, home) as keep:
        items = keep.review.list(None if state == "all" else state)
    if output == "json":
        print_json([item_as_dict(item) for item in items])
        return
    out = console()
    if not items:
        out.print("Nothing is waiting.", style="green")
        return
    listing = table("id", "what", "from", "held text", wide="held text")
    for item in items:
        listing.add_row(item.id, item.kind, one_line(item.memory.origin.channel), one_line(text_of(item)))
    out.print(listing)


@review.command()
@click.argument("item_id")
@click.option("--reveal", is_flag=True, help="Show passwords, keys and codes, too; for your eyes only.")
@with_keep
def show(item_id: str, reveal: bool, keep_name: str, home: str | None, output: str) -> None:
    """Show one item: its text, where it came from and what was found in it."""
    with open_keep(keep_name, home) as keep:
        item = keep.review.show(item_id)
    if output == "json":
        print_json(item_as_dict(item))
    else:
        _print_item(item, item.memory.text if reveal else text_of(item))


@review.command()
@with_keep
def groups(keep_name: str, home: str | None, output: str) -> None:
    """List what waits for your own word, by the day and the place it was noted at."""
    with open_keep(keep_name, home) as keep:
        found = keep.review.noted()
    if output == "json":
        print_json([_group_as_dict(group) for group in found])
        return
    out = console()
    if not found:
        out.print("Nothing is waiting.", style="green")
    for group in found:
        out.print(f"{group.key}  {one_line(group.title)}", style="bold")
        for item in group.items[:SAMPLES]:
            out.print(f"  {one_line(text_of(item))}")
        if len(group.items) > SAMPLES:
            out.print(f"  and {len(group.items) - SAMPLES:,} more")
        for item in group.apart:
            out.print(f"  by itself: {item.id}  {one_line(text_of(item))}", style="yellow")


@review.command()
@click.argument("item_id", required=False)
@click.option("--group", help="Confirm a whole group of 'review groups', but for what it lists by itself.")
@_by
@_reason
@click.option("--until", type=click.DateTime(), metavar="DATE", help="Let it act only until that day (UTC).")
@click.option("--inform-only", is_flag=True, help="Let it inform, never act.")
@with_keep
def approve(
    item_id: str | None,
    group: str | None,
    by: str,
    reason: str,
    until: datetime | None,
    inform_only: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Let an item in, or all of a group."""
    if (item_id is None) == (group is None) or (group is not None and (until is not None or inform_only)):
        raise click.UsageError("Name one item, or one --group without limits.")
    limit = until.replace(tzinfo=UTC) if until else None
    with open_keep(keep_name, home) as keep:
        if item_id is None:
            told = keep.review.approve_group(group or "", by=by, reason=reason)
            _print_decided(told, output)
            done = [one for one, code in told.items() if code == "done"]
            for one in done if len(done) <= _MOST_NAMED else ["ID"]:
                _print_undo(one, by, output)
            return
        verdict = keep.review.approve(item_id, by=by, reason=reason, until=limit, inform_only=inform_only)
    if output == "json":
        print_json(verdict.as_dict())
    else:
        print_verdict(verdict)
        _print_undo(item_id, by, output)


@review.command()
@click.argument("item_id")
@_by
@_reason
@with_keep
def reject(item_id: str, by: str, reason: str, keep_name: str, home: str | None, output: str) -> None:
    """Turn an item down. The same claim is refused from then on."""
    with open_keep(keep_name, home) as keep:
        keep.review.reject(item_id, by=by, reason=reason)
    if output == "json":
        print_json({"id": item_id, "state": "rejected"})
    else:
        console().print("Rejected. The same claim will be refused without asking again.")
        _print_undo(item_id, by, output)


@review.command()
@click.argument("item_id")
@_by
@_reason
@with_keep
def undo(item_id: str, by: str, reason: str, keep_name: str, home: str | None, output: str) -> None:
    """Take your decision back, within ten minutes and while nothing was built on it: the item waits again."""
    with open_keep(keep_name, home) as keep:
        keep.review.undo(item_id, by=by, reason=reason)
    if output == "json":
        print_json({"id": item_id, "state": "open"})
    else:
        console().print("Taken back. It waits again.")


@review.command()
@click.argument("text")
@_by
@_reason
@with_keep
def lift(text: str, by: str, reason: str, keep_name: str, home: str | None, output: str) -> None:
    """Lift the tombstone of the claim TEXT, so that it may be said again."""
    with open_keep(keep_name, home) as keep:
        lifted = keep.review.lift(text, by=by, reason=reason)
    if output == "json":
        print_json({"lifted": lifted})
    else:
        console().print("Lifted." if lifted else "There is no tombstone for that text.")


def _group_as_dict(group: NotedGroup) -> dict[str, Any]:
    return {
        "id": group.key,
        "title": sanitised(group.title),
        "items": [item_as_dict(item) for item in group.items],
        "apart": [item_as_dict(item) for item in group.apart],
    }


def _print_undo(what: str, by: str, output: str) -> None:
    if output != "json":
        words = f"Undo: truekeep review undo {what} --by {shlex.quote(by)} --reason …"
        console().print(one_line(words), style="dim", soft_wrap=True)


def _print_decided(told: dict[str, str], output: str) -> None:
    if output == "json":
        print_json(told)
        return
    done = sum(code == "done" for code in told.values())
    left = f" {len(told) - done:,} had been decided meanwhile." if done < len(told) else ""
    console().print(f"Approved {done:,}.{left}")


def _print_item(item: Item, text: str) -> None:
    from rich.text import Text  # noqa: PLC0415 - not needed for --help and JSON

    out = console()
    origin = item.memory.origin
    out.print(f"{item.id}  {item.kind}  {item.state}", style="bold")
    out.print(sanitised(text))
    source = " ".join(one_line(part) for part in (origin.channel, origin.principal) if part)
    facts = [("from", source, "dim"), ("standing", item.memory.standing.label, "dim")]
    facts.append(("why held", item.reason.removeprefix("Held for review: "), "yellow"))
    for finding in item.findings:
        facts.append(("", f"{finding.rule_id} ({finding.severity.label}): {one_line(finding.reason)}", "yellow"))
    if item.decided_by:
        facts.append(("decided", f"{one_line(item.decided_by)}: {one_line(item.decided_reason or '')}", "dim"))
    listing = table("fact", "value", wide="value")
    listing.show_header = False
    for name, value, style in facts:
        listing.add_row(Text(name, style=style), Text(value, style=style))
    out.print(listing)
