"""The audit log on the terminal."""

from __future__ import annotations

import json
import sys

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json
from truekeep.fence import one_line
from truekeep.types import utc_text


@click.group()
def audit() -> None:
    """Read and verify the audit log."""


@audit.command()
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
        out.print(f"{event.seq:>6}  {event.at:%Y-%m-%d %H:%M:%S}  {event.kind}", style="bold", end="  ")
        body = {name: value for name, value in event.body.items() if value is not None}
        out.print(one_line(json.dumps(body, ensure_ascii=False)), style="dim")


@audit.command()
@with_keep
def verify(keep_name: str, home: str | None, output: str) -> None:
    """Check every row and every event again. Exit code 1 if anything was altered."""
    with open_keep(keep_name, home) as keep:
        result = keep.audit.verify()
    if output == "json":
        print_json({"ok": result.ok, "events": result.events, "rows": result.rows, "problems": list(result.problems)})
    else:
        out = console()
        if result.ok:
            out.print(
                f"Verified: {result.events} events and {result.rows} rows are as they were written.", style="green"
            )
        for problem in result.problems:
            out.print(f"ALTERED: {problem}", style="bold red")
    if not result.ok:
        sys.exit(REFUSED)
