"""Tokens on the terminal: made and shown once, listed without their secrets, revoked at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from truekeep.cli.options import common
from truekeep.cli.output import console, print_json, table
from truekeep.config import Paths, Settings
from truekeep.trust.fence import one_line
from truekeep.types import MEMBER, utc_moment

if TYPE_CHECKING:
    from truekeep.serve.tokens import TokenBook


@click.group()
def tokens() -> None:
    """Add, list and revoke the tokens that the service knows its callers by."""


@tokens.command()
@click.option("--keep", "keep_name", required=True, help="The keep, or a pattern of keeps such as 'team-*'.")
@click.option("--channel", required=True, help="The channel that whatever comes in with it came over.")
@click.option("--may", "capabilities", multiple=True, required=True, help="A capability; may be given several times.")
@click.option("--subject", default="", help="Who holds it; reviews are signed with this name.")
@click.option("--days", type=float, default=90, show_default=True, help="How long it lives.")
@common
def add(
    keep_name: str,
    channel: str,
    capabilities: tuple[str, ...],
    subject: str,
    days: float,
    home: str | None,
    output: str,
) -> None:
    """Make a token and show it, this one time.

    Capabilities: read, write, credit, review, delete, admin, custom-prompts. The channel must allow them, too.
    """
    from truekeep.serve.tokens import now  # noqa: PLC0415 - the service's parts load when they are asked for

    secret, token = _book(home).add(keep_name, channel, capabilities, subject=subject, days=days)
    _warn_of_unknown(token.channel, Settings.load(Paths.resolve(home).config))
    if output == "json":
        print_json({"token": secret, **token.as_dict(now())})
        return
    out = console()
    out.print(secret, soft_wrap=True)
    out.print("Keep it safe: it is not shown again.", style="bold yellow")
    out.print(f"id {token.id}, until {utc_moment(token.expires_at):%Y-%m-%d}", style="dim")


def _book(home: str | None) -> TokenBook:
    """The tokens of a home: beside its keys, or in its database."""
    from truekeep.serve.shelf import shelf_of  # noqa: PLC0415
    from truekeep.serve.tokens import TokenBook  # noqa: PLC0415

    paths = Paths.resolve(home)
    return TokenBook(shelf_of(paths, Settings.load(paths.config)))


def _warn_of_unknown(channel: str, settings: Settings) -> None:
    """A keep may have enrolled it, or may do so later; a mistyped one would only be noticed at the first request."""
    if channel not in settings.channels and not channel.startswith(("reviewer:", MEMBER)):
        click.echo(
            "note: The settings have no channel of that name. The token is refused until its keep has enrolled one:"
            " truekeep channels enrol",
            err=True,
        )


@tokens.command("list")
@common
def list_tokens(home: str | None, output: str) -> None:
    """List every token: what it is for and whether it still counts."""
    from rich.text import Text  # noqa: PLC0415 - not needed for --help

    from truekeep.serve.tokens import now  # noqa: PLC0415

    moment = now()
    listed = [token.as_dict(moment) for token in _book(home).list()]
    if output == "json":
        print_json(listed)
        return
    if not listed:
        console().print("There are no tokens yet; 'truekeep tokens add' makes one.", style="dim")
        return
    listing = table("id", "state", "keep", "channel", "until", "subject", "may", wide="may", folding=("subject",))
    for one in listed:
        may, until = ", ".join(one["capabilities"]), one["expires_at"][:10]
        subject = Text(one_line(one["subject"]) or "-")
        listing.add_row(one["id"], one["state"], one["keep"], one["channel"], until, subject, may)
    console().print(listing)


@tokens.command()
@click.argument("token_id")
@common
def revoke(token_id: str, home: str | None, output: str) -> None:
    """Take a token back; a running service refuses it from the next request on."""
    from truekeep.serve.tokens import now  # noqa: PLC0415

    token = _book(home).revoke(token_id)
    if output == "json":
        print_json(token.as_dict(now()))
    else:
        console().print("Revoked.", style="green")


@tokens.command()
@common
def accept(home: str | None, output: str) -> None:
    """Let the tokens and sign-ins of a database count that was restored from a backup.

    They are older than what was anchored, so a token that was revoked since then would count again: look at
    'truekeep tokens list' afterwards, and revoke what has to be.
    """
    from truekeep.serve.console.visits import VISITS  # noqa: PLC0415
    from truekeep.serve.shelf import shared_state  # noqa: PLC0415
    from truekeep.serve.tokens import TOKENS  # noqa: PLC0415

    paths = Paths.resolve(home)
    shared = shared_state(paths, Settings.load(paths.config))
    accepted = [name for name in (TOKENS, VISITS) if shared is not None and shared.accept(name)]
    if output == "json":
        print_json({"accepted": accepted})
    else:
        console().print(f"Accepted: {', '.join(accepted)}." if accepted else "Nothing was older than it should be.")
