"""Moving in from another memory on the terminal, and taking over what is the owner's."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json
from truekeep.errors import InvalidRequest, UnknownId

if TYPE_CHECKING:
    from truekeep.protect.migrate.moving import Report
    from truekeep.quarantine.noted import NotedGroup

FORMATS = ("mem0", "langgraph", "ams", "mcp-memory", "markdown", "chatgpt", "claude")
_by = click.option("--by", default=getpass.getuser, show_default="your login name", help="Who decides.")
_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_MINE = "these are mine"


@click.group()
def migrate() -> None:
    """Move in from another memory, and take over what is yours."""


@migrate.command("from")
@click.argument("name", metavar="FORMAT", type=click.Choice(FORMATS))
@click.argument("place", metavar="FILE|URL")
@click.option("--source", help="What it goes by here; default: the format and the file's or host's name.")
@click.option("--dry-run", is_flag=True, help="Only say what would come in, and what would become of it.")
@click.option("--policy", type=click.Choice(["strict", "inform"]), help="Preset; default from the settings.")
@click.option("--batch", type=click.IntRange(1, 1000), default=200, show_default=True, help="Entries a transaction.")
@with_keep
def move_from(
    name: str,
    place: str,
    source: str | None,
    dry_run: bool,
    policy: str | None,
    batch: int,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Move in from FILE or URL: mem0, langgraph, ams, mcp-memory, markdown, chatgpt or claude.

    Everything arrives as hearsay of its source and waits for you, without a cap and for as long as it takes; 'migrate
    take' makes it your own. A run that was cut off goes on where it stopped, and what came in before is left alone.
    """
    from truekeep.protect.migrate import formats, moving  # noqa: PLC0415 - loads the store
    from truekeep.trust.principal import principal_of  # noqa: PLC0415

    called = principal_of("import", source or formats.source_name(name, place)) or name
    report = moving.Report(name, called)
    with open_keep(keep_name, home, policy, new=not dry_run) as keep:
        entries = moving.planned(formats.read(name, place), report, keep.settings, datetime.now(UTC))
        with _progress("weighing" if dry_run else "moving in", len(entries)) as tell:
            if dry_run:
                moving.weighed(keep, entries, report, tell)
            else:
                moving.move(keep, entries, report, batch=batch, tell=tell)
        group = next((group for group in keep.review.noted() if group.source == called), None)
    if output == "json":
        print_json({**report.as_dict(), "dry_run": dry_run, "group": group.key if group else None})
    else:
        _print_report(report, group, dry_run)
    if report.told["refused"]:
        sys.exit(REFUSED)


@migrate.command()
@with_keep
def groups(keep_name: str, home: str | None, output: str) -> None:
    """List what was moved in and waits for you, with samples."""
    with open_keep(keep_name, home) as keep:
        found = [group for group in keep.review.noted() if group.source]
    if output == "json":
        print_json([_as_dict(group) for group in found])
        return
    if not found:
        console().print("Nothing that was moved in is waiting.", style="green")
    for group in found:
        _print_group(group, 3)


@migrate.command()
@click.argument("key", metavar="GROUP")
@click.option("--except", "excepted", multiple=True, metavar="ITEM", help="Leave that one; may be given several times.")
@click.option("--samples", type=click.IntRange(0, 1000), default=10, show_default=True, help="How many to show first.")
@click.option("--reason", default=_MINE, show_default=True, help="Why; goes into the audit log.")
@_by
@_yes
@with_keep
def take(
    key: str,
    excepted: tuple[str, ...],
    samples: int,
    reason: str,
    by: str,
    yes: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Take over a GROUP of 'migrate groups' as your own words.

    Samples are shown and you are asked. What has findings, contradicts something, or names an account, an address or a
    link is listed by itself and never taken over this way: decide with 'truekeep review approve ITEM'.
    """
    with open_keep(keep_name, home) as keep:
        group = next((one for one in keep.review.noted() if one.source and one.key == key), None)
        if group is None:
            raise UnknownId("No such group waits.", hint="List them with 'truekeep migrate groups'.")
        if output != "json":
            _print_group(group, samples)
        _ask(f"Take over {len(group.items) - len(set(excepted)):,} as your own words?", yes)
        told = keep.review.approve_group(key, by=by, reason=reason, excepted=excepted)
    done = sum(code == "done" for code in told.values())
    if output == "json":
        print_json({"taken": done, "by": by, "left": {one: code for one, code in told.items() if code != "done"}})
        return
    left = f" {len(told) - done:,} were left to be looked at one by one." if done < len(told) else ""
    console().print(f"Taken over: {done:,}, by {by}.{left} Undo: truekeep migrate undo {key}")


@migrate.command()
@click.argument("key", metavar="GROUP")
@click.option("--reason", default="taken back", show_default=True, help="Why; goes into the audit log.")
@_by
@_yes
@with_keep
def undo(key: str, reason: str, by: str, yes: bool, keep_name: str, home: str | None, output: str) -> None:
    """Give a GROUP back: what you took over of it waits again, unless it was changed since."""
    _ask("Give back what you took over of this group?", yes)
    with open_keep(keep_name, home) as keep:
        told = keep.review.undo_group(key, by=by, reason=reason)
    done = sum(code == "done" for code in told.values())
    if output == "json":
        print_json({"given_back": done, "left": {one: code for one, code in told.items() if code != "done"}})
    else:
        console().print(f"Given back: {done:,}; they wait again.")


def _ask(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidRequest("This is for a person to say.", code="not_asked", hint="Pass --yes to say it beforehand.")
    click.confirm(question, abort=True, err=True)


@contextmanager
def _progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - only for a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True, markup=False, highlight=False)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def _as_dict(group: NotedGroup) -> dict[str, Any]:
    from truekeep.review.decisions import item_as_dict  # noqa: PLC0415

    return {
        "id": group.key,
        "source": group.source,
        "together": len(group.items),
        "samples": [item_as_dict(item) for item in group.items[:3]],
        "apart": [item_as_dict(item) for item in group.apart],
    }


def _print_group(group: NotedGroup, samples: int) -> None:
    from truekeep.review.decisions import text_of  # noqa: PLC0415
    from truekeep.trust.fence import one_line  # noqa: PLC0415

    out = console()
    out.print(f"{group.key}  {one_line(group.title)}", style="bold")
    step = max(1, len(group.items) // samples) if samples else 1
    for item in group.items[::step][:samples]:  # from the whole of it, not only from its beginning
        out.print(f"  {item.id}  {one_line(text_of(item))}")
    if len(group.items) > samples:
        out.print(f"  and {len(group.items) - samples:,} more that can be taken over together")
    for item in group.apart:
        out.print(f"  by itself: {item.id}  {one_line(text_of(item))}", style="yellow")


def _print_report(report: Report, group: NotedGroup | None, dry_run: bool) -> None:
    from truekeep.trust.fence import one_line  # noqa: PLC0415

    out, told = console(), report.told
    if report.resumed_at:
        out.print(f"Gone on after {report.resumed_at:,} that came in before.")
    would = "would be " if dry_run else ""
    known = f", {told['known']:,} known before" if told["known"] else ""
    out.print(
        f"{report.entries:,} entries of {one_line(report.source)}: {would}held {told['held']:,}, "
        f"stored as background {told['stored']:,}, refused {told['refused']:,}{known}."
    )
    for name, counts in (
        ("fields taken over", report.fields),
        ("skipped", report.skipped),
        ("cut", report.cut),
        ("refused", report.refused),
    ):
        if counts:
            listed = ", ".join(f"{one_line(str(key))[:40]} {count:,}" for key, count in counts.most_common(12))
            out.print(f"  {name}: {listed}")
    if dry_run:
        out.print("Nothing was changed. Run it without --dry-run to move in.")
    elif group is not None:
        out.print(
            f"It waits for you and acts nowhere: {len(group.items):,} can be taken over together, "
            f"{len(group.apart):,} one by one.\nNext: truekeep migrate take {group.key}"
        )
