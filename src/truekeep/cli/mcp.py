"""Serve one keep to a desktop agent over MCP, on standard input and output."""

from __future__ import annotations

import json

import click

from truekeep.cli.options import open_keep, require_extra, with_keep


@click.command()
@click.option("--channel", default="agent", show_default=True, help="The channel the agent's words come over.")
@click.option("--session", help="The session it all belongs to. Default: a new one for every start.")
@click.option("--member", metavar="NAME", help="In a shared keep: for whom the agent works.")
@click.option("--policy", type=click.Choice(["inform", "strict"]), default="inform", show_default=True, help="Preset.")
@click.option(
    "--profile",
    type=click.Choice(["truekeep", "reference"]),
    default="truekeep",
    show_default=True,
    help="Truekeep's tools, or the nine of the reference memory server.",
)
@click.option("--ask/--no-ask", default=True, show_default=True, help="Whether a yes in the client is the person's.")
@with_keep
def mcp(
    channel: str,
    session: str | None,
    member: str | None,
    policy: str,
    profile: str,
    ask: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Serve a keep to a desktop agent until it leaves.

    Use --no-ask for a client that answers questions without showing them to a person.
    """
    require_extra("serve", "mcp")
    from truekeep.serve.mcp.door import opened  # noqa: PLC0415 - an extra

    door = opened(profile)  # the client is answered while the rest loads
    from truekeep.serve.mcp import stdio  # noqa: PLC0415 - an extra, and heavy

    keep = open_keep(keep_name, home, policy, new=True)
    try:
        binding = stdio.bound(keep, channel=channel, session=session, member=member, ask=ask)
    except BaseException:
        keep.close()
        raise
    facts = {"keep": keep.name, "channel": binding.channel, "session": binding.session, "asks": ask, "policy": policy}
    # Standard output belongs to the protocol.
    told = json.dumps(facts) if output == "json" else ", ".join(f"{name} {value}" for name, value in facts.items())
    click.echo(told if output == "json" else f"truekeep mcp: {told}", err=True)
    stdio.serve(keep, binding, profile, door)
