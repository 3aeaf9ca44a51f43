"""Serving on the terminal: REST, MCP and the review console over HTTP, on this machine unless told otherwise."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any

import click

from truekeep.cli.options import require_extra
from truekeep.config import Paths, Settings

if TYPE_CHECKING:
    from truekeep.serve.settings import ServeSettings

_NEEDED = ("fastapi", "uvicorn", "httptools", "jinja2", "jwt", "mcp")


@click.command()
@click.option("--host", help="The address to serve on. Default: 127.0.0.1, this machine only.")
@click.option("--port", type=click.IntRange(1, 65_535), help="The port. Default: 8430.")
@click.option("--workers", type=click.IntRange(1, 64), help="How many processes. Default: 1.")
@click.option("--tls-certificate", type=click.Path(dir_okay=False), help="A certificate chain in PEM form.")
@click.option("--tls-key", type=click.Path(dir_okay=False), help="The certificate's private key.")
@click.option("--unsafe-no-tls", is_flag=True, default=None, help="Serve off this machine without TLS.")
@click.option("--unsafe-no-auth", metavar="KEEP", help="Take every caller on this machine for this keep's agent.")
@click.option("--home", type=click.Path(file_okay=False), envvar="TRUEKEEP_HOME", help="Where data and keys are.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def serve(home: str | None, output: str, **options: Any) -> None:
    """Serve REST, MCP and the review console over HTTP. Callers are known by tokens: 'truekeep tokens add' makes one.

    Other limits are settings, in the [serve] table of config.toml or as TRUEKEEP_SERVE_* variables.
    """
    from truekeep.cli.output import print_json  # noqa: PLC0415 - the service's parts load when they are asked for

    require_extra("serve", *_NEEDED)
    from truekeep.serve.server import require_free, run  # noqa: PLC0415
    from truekeep.serve.settings import ServeSettings  # noqa: PLC0415
    from truekeep.signals.webhooks import webhooks_of  # noqa: PLC0415

    settings = Settings.load(Paths.resolve(home).config)
    chosen = ServeSettings.load(settings.serve, options)
    webhooks_of(settings.webhooks)  # refused here, before anybody is told that it serves
    if chosen.telemetry:
        require_extra("otel", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
    chosen.require_safe()
    require_free(chosen)
    scheme = "https" if chosen.tls_certificate else "http"
    address = f"{scheme}://{chosen.host}:{chosen.port}"
    link = link_for(chosen, home, address) if chosen.console else None
    if output == "json":
        print_json({"address": address, "workers": chosen.workers, "console": link})
    else:
        click.echo(f"Serving on {address}. Stop with Ctrl-C.", err=True)
        if link is not None:
            click.echo(f"Review console, once within {chosen.console_link_minutes:g} minutes: {link}", err=True)
    run(chosen, home)


def link_for(settings: ServeSettings, home: str | None, address: str) -> str:
    """A one-time link for whoever starts the service: they hold the keys, so they may do everything there."""
    from truekeep.serve.console.visits import Visits  # noqa: PLC0415
    from truekeep.serve.shelf import shelf_of  # noqa: PLC0415

    paths = Paths.resolve(home)
    visits = Visits(shelf_of(paths, Settings.load(paths.config)), settings)
    return f"{address}/console/sign-in?once={visits.link('*', _login_name(), frozenset({'review', 'admin', 'read'}))}"


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "operator"
