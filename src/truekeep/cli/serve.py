"""Serving on the terminal: REST and MCP over HTTP, on this machine unless the operator says more."""

from __future__ import annotations

from typing import Any

import click

from truekeep.cli.options import require_extra
from truekeep.config import Paths, Settings

_NEEDED = ("fastapi", "uvicorn", "httptools", "jwt", "mcp")


@click.command()
@click.option("--host", help="The address to serve on. Default: 127.0.0.1, this machine only.")
@click.option("--port", type=int, help="The port. Default: 8430.")
@click.option("--workers", type=click.IntRange(1, 64), help="How many processes. Default: 1.")
@click.option("--tls-certificate", type=click.Path(dir_okay=False), help="A certificate chain in PEM form.")
@click.option("--tls-key", type=click.Path(dir_okay=False), help="The certificate's private key.")
@click.option("--unsafe-no-tls", is_flag=True, default=None, help="Serve off this machine without TLS.")
@click.option("--unsafe-no-auth", metavar="KEEP", help="Take every caller on this machine for this keep's agent.")
@click.option("--home", type=click.Path(file_okay=False), envvar="TRUEKEEP_HOME", help="Where data and keys are.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def serve(home: str | None, output: str, **options: Any) -> None:
    """Serve REST and MCP over HTTP. Callers are known by tokens: 'truekeep tokens add' makes one.

    Other limits are settings, in the [serve] table of config.toml or as TRUEKEEP_SERVE_* variables.
    """
    from truekeep.cli.output import print_json  # noqa: PLC0415 - the service's parts load when they are asked for

    require_extra("serve", *_NEEDED)
    from truekeep.serve.server import run  # noqa: PLC0415
    from truekeep.serve.settings import ServeSettings  # noqa: PLC0415

    chosen = ServeSettings.load(Settings.load(Paths.resolve(home).config).serve, options)
    chosen.require_safe()
    scheme = "https" if chosen.tls_certificate else "http"
    address = f"{scheme}://{chosen.host}:{chosen.port}"
    if output == "json":
        print_json({"address": address, "workers": chosen.workers})
    else:
        click.echo(f"Serving on {address}. Stop with Ctrl-C.", err=True)
    run(chosen, home)
