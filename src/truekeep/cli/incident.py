"""Incidents on the terminal: look back with trace, exposures and blame; take back with revoke, rewind and undo;
merge what is remembered more than once with consolidate.
"""

from __future__ import annotations

import getpass
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truekeep import disk
from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json, table
from truekeep.errors import InvalidRequest
from truekeep.trust.fence import one_line

if TYPE_CHECKING:
    from truekeep.incident.report import IncidentReport
    from truekeep.types import Progress

_by = click.option("--by", default=getpass.getuser, show_default="your login name", help="Who decides.")
_reason = click.option("--reason", required=True, help="Why; goes into the audit log and the report.")
_html = click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the report as a page, too.")
_yes = click.option("--yes", is_flag=True, help="Do it. Without this, only say what it would do.")


@click.command()
@click.argument("memory_id")
@_html
@with_keep
def trace(memory_id: str, html: Path | None, keep_name: str, home: str | None, output: str) -> None:
    """Show where a memory came from, what was derived from it, who saw it and what was decided."""
    with open_keep(keep_name, home) as keep:
        _print(keep.trace(memory_id), html, output)


@click.command()
@click.argument("memory_id")
@with_keep
def exposures(memory_id: str, keep_name: str, home: str | None, output: str) -> None:
    """List the sessions that were shown a memory and the actions it was matched in."""
    with open_keep(keep_name, home) as keep:
        found = keep.exposures(memory_id)
    if output == "json":
        print_json(found)
        return
    if not found:
        console().print("It has reached no session and no action.", style="green")
        return
    listing = table("when", "what", "session", "how", wide="how")
    for one in found:
        listing.add_row(one["at"][:19], one["kind"], one["session"], f"{one['how']} {one.get('state', '')}".strip())
    console().print(listing)


@click.command()
@click.argument("run")
@_html
@with_keep
def blame(run: str, html: Path | None, keep_name: str, home: str | None, output: str) -> None:
    """Go from the actions of RUN back to the memories in them and to where those came from."""
    with open_keep(keep_name, home) as keep:
        _print(keep.blame(run), html, output)


@click.command()
@click.option("--principal", help="A domain or a name; every spelling of a site is one principal.")
@click.option("--channel", help="Everything that came over a channel.")
@click.option("--session", help="Everything written in a session.")
@click.option("--prompt", help="Everything that a custom prompt extracted, by the prompt's hash.")
@click.option("--since", type=click.DateTime(), metavar="DATE", help="Only what came since that moment (UTC).")
@_yes
@_by
@_reason
@_html
@with_keep
def revoke(
    yes: bool,
    by: str,
    reason: str,
    html: Path | None,
    keep_name: str,
    home: str | None,
    output: str,
    since: datetime | None,
    **source: str | None,
) -> None:
    """Take back a source with everything derived from it. Says what it would do unless --yes is given.

    What is taken out waits in the review queue; 'truekeep undo' brings all of it back.
    """
    moment = since.replace(tzinfo=UTC) if since else None
    with open_keep(keep_name, home) as keep:
        _print(keep.revoke(**source, since=moment, by=by, reason=reason, dry_run=not yes), html, output, done=yes)


@click.command()
@click.option("--to", "moment", type=click.DateTime(), metavar="DATE", help="The moment to go back to (UTC).")
@click.option("--event", type=click.IntRange(1), help="The audit event to go back to, instead of a moment.")
@_yes
@_by
@_reason
@_html
@with_keep
def rewind(
    moment: datetime | None,
    event: int | None,
    yes: bool,
    by: str,
    reason: str,
    html: Path | None,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Put the memories back to what they were. Says what it would do unless --yes is given."""
    if (moment is None) == (event is None):
        raise click.UsageError("Give either --to or --event.")
    to = event if event is not None else moment.replace(tzinfo=UTC) if moment else 0
    with open_keep(keep_name, home) as keep:
        done = keep.rewind(to, by=by, reason=reason, dry_run=not yes, progress=_counted("steps"))
        _print(done, html, output, done=yes)


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be merged; so it is without --yes.")
@_yes
@_by
@click.option("--reason", default="tidying up", show_default=True, help="Why; goes into the audit log.")
@_html
@with_keep
def consolidate(
    dry_run: bool, yes: bool, by: str, reason: str, html: Path | None, keep_name: str, home: str | None, output: str
) -> None:
    """Merge memories that say the same. Says which unless --yes is given.

    Nothing comes to act by it or stops; 'truekeep undo' takes it back.
    """
    if dry_run and yes:
        raise click.UsageError("Give either --dry-run or --yes.")
    with open_keep(keep_name, home) as keep:
        _print(
            keep.consolidate(by=by, reason=reason, dry_run=not yes, progress=_counted("groups")), html, output, done=yes
        )


@click.command()
@click.argument("incident")
@_by
@_reason
@with_keep
def undo(incident: str, by: str, reason: str, keep_name: str, home: str | None, output: str) -> None:
    """Take a revocation, a rewind or a consolidation back."""
    with open_keep(keep_name, home) as keep:
        undone = keep.undo(incident, by=by, reason=reason)
    if output == "json":
        print_json(undone.as_dict())
    else:
        back, gone = len(undone.removed), len(undone.restored)
        console().print(f"Undone: {back} memories are back, {gone} are gone again.", style="green")


@click.command()
@with_keep
def incidents(keep_name: str, home: str | None, output: str) -> None:
    """List revocations, rewinds and consolidations, with who and why."""
    with open_keep(keep_name, home) as keep:
        listed: list[dict[str, Any]] = [one.as_dict() for one in keep.incidents()]
    if output == "json":
        print_json(listed)
        return
    if not listed:
        console().print("Nothing was ever taken back.", style="green")
        return
    listing = table("id", "when", "what", "by", "reason", wide="reason")
    for one in listed:
        what = f"{one['kind']}{' (undone)' if one['undone_by'] else ''}"
        listing.add_row(one["id"], one["at"][:19], what, one_line(one["by"]), one_line(one["reason"]))
    console().print(listing)


def _counted(what: str) -> Progress | None:
    """Say on a terminal how much is done; a thousand times at most."""

    def told(done: int, total: int) -> None:
        if done == total or done % max(1, total // 1_000) == 0:
            click.echo(f"\r{done} of {total} {what}", err=True, nl=done == total)

    return told if sys.stderr.isatty() else None


def _print(report: IncidentReport, html: Path | None, output: str, *, done: bool = True) -> None:
    if output == "json":
        print_json(report.as_dict())
    else:
        click.echo(report.text(), nl=False)
        if not done:
            click.echo("Nothing was changed. Give --yes to do it.", err=True)
    if html is not None:
        try:
            disk.replace(html.absolute(), report.html().encode())
        except OSError as error:
            raise InvalidRequest("The page cannot be written.", hint=type(error).__name__) from error
