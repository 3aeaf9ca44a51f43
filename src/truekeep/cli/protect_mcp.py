"""``truekeep protect mcp``: a keep in front of any MCP server."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import open_keep, require_extra, with_keep
from truekeep.cli.output import console, print_json, print_styled
from truekeep.errors import InvalidRequest
from truekeep.trust.fence import one_line

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.protect.proxy.pins import HeldTool

_COMMAND = "truekeep.protect.command"


class _BeforeAServer(click.Group):
    """A group whose own work is what stands behind ``--``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the server's command off, which has options of its own."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)


@click.group(cls=_BeforeAServer, invoke_without_command=True, subcommand_metavar="[-- COMMAND …]")
@click.option("--name", "server", help="What the server is called in the keep. Default: made from its command.")
@click.option("--url", default="", help="The server's address (streamable HTTP), instead of a command.")
@click.option("--bearer-env", default="", metavar="VARIABLE", help="Where the token for the address stands.")
@click.option("--memory", "map_name", help="It is a memory server: a shipped map's name, or a map's file.")
@click.option("--env", "passed", multiple=True, metavar="VARIABLE", help="A variable the server gets. Repeatable.")
@click.option(
    "--trust", is_flag=True, help="Believe what the server says about its tools, and pass structured results."
)
@click.option("--pin", is_flag=True, help="Hold every tool until it was accepted, also on first use.")
@click.option("--session", help="The session it all belongs to. Default: a new one for every start.")
@click.option("--member", metavar="NAME", help="In a shared keep: for whom the agent works.")
@click.option("--policy", type=click.Choice(["inform", "strict"]), default="inform", show_default=True, help="Preset.")
@click.option("--ask/--no-ask", default=True, show_default=True, help="Whether a yes in the client is the person's.")
@click.option("--listen", default="", metavar="HOST:PORT", help="Offer it over HTTP on loopback, not standard input.")
@click.option("--token-env", default="", metavar="VARIABLE", help="With --listen: where the clients' token stands.")
@click.option("--timeout", "seconds", type=click.FloatRange(1, 3600), default=300.0, show_default=True, help="Seconds.")
@click.option("--shadow", is_flag=True, help="Pass everything on unchanged, and count what would have been stopped.")
@with_keep
@click.pass_context
def mcp(
    ctx: click.Context,
    server: str | None,
    url: str,
    bearer_env: str,
    map_name: str | None,
    passed: tuple[str, ...],
    trust: bool,
    pin: bool,
    session: str | None,
    member: str | None,
    policy: str,
    ask: bool,
    listen: str,
    token_env: str,
    seconds: float,
    shadow: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Put a keep in front of an MCP server: truekeep protect mcp [OPTIONS] -- COMMAND …"""
    if ctx.invoked_subcommand is not None:
        return
    command = ctx.meta.get(_COMMAND, [])
    if bool(command) == bool(url):
        raise click.UsageError("Give the server's command after '--', or its --url.")
    if shadow and (url or listen):
        raise click.UsageError("--shadow stands before a command, over standard input and output.")
    require_extra("serve", "mcp")
    from truekeep.protect.proxy import run  # noqa: PLC0415 - an extra, and heavy
    from truekeep.protect.proxy.held import checked_name  # noqa: PLC0415
    from truekeep.protect.proxy.maps import memory_map  # noqa: PLC0415
    from truekeep.serve.mcp import stdio  # noqa: PLC0415

    options = run.ProxyOptions(
        server=checked_name(server or _name_of(command, url)),
        command=command,
        url=url,
        bearer=_secret(bearer_env) if bearer_env else "",
        passed=passed,
        memory=memory_map(map_name) if map_name else None,
        trust=trust,
        first_use=not pin,
        seconds=seconds,
    )
    if shadow:

        def watched() -> tuple[Keep, str]:
            keep = open_keep(keep_name, home, policy, new=True)
            return keep, stdio.bound(keep, channel="agent", session=session, member=member, ask=False).session

        sys.exit(run.serve_shadow(watched, options))
    host, port, token = _place(listen, token_env)
    keep = open_keep(keep_name, home, policy, new=True)
    try:
        binding = stdio.bound(keep, channel="agent", session=session, member=member, ask=ask)
    except BaseException:
        keep.close()
        raise
    facts = {"keep": keep.name, "server": options.server, "session": binding.session, "asks": ask, "policy": policy}
    if output == "json":
        click.echo(json.dumps(facts), err=True)
    else:
        run.say(", ".join(f"{name} {value}" for name, value in facts.items()))
    if listen:
        run.serve_http(keep, binding, options, host, port, token)
    else:
        run.serve_stdio(keep, binding, options)


@mcp.command()
@click.argument("server")
@click.argument("tool", required=False)
@click.option("--hash", "digest", default="", help="The hash that was shown, of what is accepted.")
@with_keep
def accept(server: str, tool: str | None, digest: str, keep_name: str, home: str | None, output: str) -> None:
    """Show the tools of SERVER that are held, and how they changed. With TOOL and --hash: accept just that.

    Exit code 0: nothing is held, or it was accepted. 1: something is held.
    """
    from truekeep.protect.proxy import held  # noqa: PLC0415 - heavier than the help text

    with open_keep(keep_name, home) as keep:
        if tool and digest:
            done = held.accept(keep, held.checked_name(server), tool, digest)
            waiting = []
        else:
            done = None
            waiting = [one for one in held.waiting(keep, held.checked_name(server)) if tool in (None, one.name)]
    if output == "json":
        print_json([held.as_table(one) for one in ([done] if done else waiting)])
    elif done:
        print_styled(console(), ("accepted", "bold green"), (f"  {one_line(done.name)}", ""))
    else:
        _show(waiting)
    sys.exit(REFUSED if waiting else 0)


def _show(waiting: list[HeldTool]) -> None:
    out = console()
    if not waiting:
        out.print("Nothing is held.", style="green")
    for one in waiting:
        print_styled(out, (one_line(one.name), "bold"), (f"  {one.why}, --hash {one.digest[:16]}", "yellow"))
        for line in one.difference():
            style = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
            print_styled(out, (line, style), indent=2)


def _name_of(command: list[str], url: str) -> str:
    """A name that is the same for the same server: its program, and a hash of all of the command."""
    stem = PurePath(command[0]).stem if command else "url"
    whole = "\0".join(command) if command else url
    return f"{re.sub('[^A-Za-z0-9]', '-', stem)[:40]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def _place(listen: str, token_env: str) -> tuple[str, int, str]:
    """Where to listen, and for whom. Only loopback: beyond it the token would be read on the way."""
    if not listen:
        return "", 0, ""
    host, _, port = listen.rpartition(":")
    if host not in ("127.0.0.1", "localhost") or not port.isdecimal() or int(port) > 65_535:
        raise click.UsageError("--listen takes 127.0.0.1:PORT.")
    if not token_env:
        raise click.UsageError("--listen needs --token-env: any program on this machine can reach a port.")
    return host, int(port), _secret(token_env)


def _secret(variable: str) -> str:
    found = os.environ.get(variable, "")
    if len(found) < 8:
        raise InvalidRequest("The variable that is to hold a token holds none.", code="no_token", hint="Export it.")
    return found
