"""Channels on the terminal: who may write into a keep, and how far their words are proven."""

from __future__ import annotations

import getpass

import click

from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json, table

_by = click.option("--by", default=getpass.getuser, show_default="your login name", help="Who decides.")
_reason = click.option("--reason", required=True, help="Why; goes into the audit log.")


@click.group()
def channels() -> None:
    """List, enrol and retire the ways into a keep."""


@channels.command("list")
@with_keep
def list_channels(keep_name: str, home: str | None, output: str) -> None:
    """List every channel: its standing, what it may do and where it was set up."""
    with open_keep(keep_name, home) as keep:
        listed = keep.channels.list()
    if output == "json":
        print_json(listed)
        return
    listing = table("channel", "standing", "set up", "may", wide="may")
    for entry in listed:
        listing.add_row(entry["name"], entry["standing"] or "-", entry["state"], ", ".join(entry["capabilities"]))
    out = console()
    out.print(listing)
    out.print("The agent stands as enrolled only in a clean mediated session, else as hearsay.", style="dim")


@channels.command()
@click.argument("name")
@click.option("--may", "capabilities", multiple=True, help="A capability; may be given several times. Default: write.")
@_by
@_reason
@with_keep
def enrol(
    name: str, capabilities: tuple[str, ...], by: str, reason: str, keep_name: str, home: str | None, output: str
) -> None:
    """Let a system write over a channel of its own; 'member:NAME' for a person who shares the keep.

    What it says stands as enrolled. It may act once a second, independent system says the same.
    """
    with open_keep(keep_name, home, new=True) as keep:
        channel = keep.channels.enrol(name, by=by, reason=reason, capabilities=capabilities or None)
    if output == "json":
        print_json({"name": channel.name, "state": "enrolled", "capabilities": sorted(channel.capabilities)})
    else:
        console().print(f"Enrolled. It may {', '.join(sorted(channel.capabilities))}.", style="green")


@channels.command()
@click.argument("name")
@_by
@_reason
@with_keep
def retire(name: str, by: str, reason: str, keep_name: str, home: str | None, output: str) -> None:
    """Close a way in. What came over it stays; 'truekeep revoke --channel' takes it back."""
    with open_keep(keep_name, home) as keep:
        keep.channels.retire(name, by=by, reason=reason)
    if output == "json":
        print_json({"name": name, "state": "retired"})
    else:
        console().print("Retired. Nothing comes in over it any more.", style="green")
