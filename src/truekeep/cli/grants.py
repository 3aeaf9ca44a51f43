"""The owner's standing permissions on the terminal: list, add and take back."""

from __future__ import annotations

import getpass
from datetime import datetime

import click

from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json, table
from truekeep.trust.fence import one_line
from truekeep.trust.flow.evidence import StandingGrant

_by = click.option("--by", default=getpass.getuser, show_default="your login name", help="Who decides.")
_via = click.option("--via", default="user", show_default=True, help="The channel of the person who decides.")


@click.group()
def grants() -> None:
    """List, add and take back standing permissions for tool calls."""


@grants.command("list")
@with_keep
def list_grants(keep_name: str, home: str | None, output: str) -> None:
    """Show every standing permission, also those that have ended."""
    with open_keep(keep_name, home) as keep:
        listed = keep.grants.list()
    if output == "json":
        print_json([grant.as_dict() for grant in listed])
        return
    out = console()
    if not listed:
        out.print("There are none.", style="green")
        return
    listing = table("id", "tool", "where", "until", wide="where")
    for grant in listed:
        until = grant.until.isoformat() if grant.until else "-"
        listing.add_row(grant.id, one_line(grant.tool), _where(grant), until)
    out.print(listing)


@grants.command()
@click.argument("tool")
@click.option("--where", "where", multiple=True, required=True, help="ARGUMENT=PATTERN; may be given several times.")
@click.option("--cap", "cap", multiple=True, help="ARGUMENT=NUMBER: the most it may be.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z"]), help="The end; none if left out.")
@_by
@_via
@with_keep
def add(
    tool: str,
    where: tuple[str, ...],
    cap: tuple[str, ...],
    until: datetime | None,
    by: str,
    via: str,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Permit calls of TOOL whose targets fit the patterns. A value that only others wrote never does."""
    end = until.astimezone() if until is not None else None
    with open_keep(keep_name, home, new=True) as keep:
        made = keep.grants.add(tool=tool, where=_pairs(where), cap=_pairs(cap), until=end, by=by, via=via)
    if output == "json":
        print_json(made.as_dict())
    else:
        console().print(f"Permitted: {made.id}", style="green")


@grants.command()
@click.argument("grant")
@_by
@_via
@with_keep
def remove(grant: str, by: str, via: str, keep_name: str, home: str | None, output: str) -> None:
    """Take the permission GRANT back."""
    with open_keep(keep_name, home) as keep:
        keep.grants.remove(grant, by=by, via=via)
    if output == "json":
        print_json({"id": grant, "state": "removed"})
    else:
        console().print("Taken back.", style="green")


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    if any(not name or not value for name, _, value in pairs):
        raise click.BadParameter("write it as ARGUMENT=VALUE, like 'path=src/**'")
    return {name: value for name, _, value in pairs}


def _where(grant: StandingGrant) -> str:
    limits = [f"{name} at most {most}" for name, most in grant.cap.items()]
    return one_line(", ".join([*(f"{name}={fits}" for name, fits in grant.where.items()), *limits]))
