"""``truekeep demo --serve``: a home in which three weeks have happened, with the review console open on it."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

from truekeep.cli.options import require_extra

_NEEDED = ("fastapi", "uvicorn", "httptools", "jinja2", "jwt", "mcp")


def serve_story(home: str | None, port: int | None, output: str) -> None:
    """Fill a home with the story, unless it has been already, and serve it on this machine."""
    require_extra("serve", *_NEEDED)
    os.environ.pop("TRUEKEEP_KEYS", None)  # the demo's keys do not belong among real ones
    with _home(home) as folder:
        _serve(folder, port, output)


def _home(given: str | None) -> AbstractContextManager[str]:
    return tempfile.TemporaryDirectory(prefix="truekeep-demo-") if given is None else nullcontext(given)


def _serve(home: str, port: int | None, output: str) -> None:
    from truekeep.cli.output import print_json  # noqa: PLC0415 - the service's parts load when they are asked for
    from truekeep.cli.serve import link_for  # noqa: PLC0415
    from truekeep.config import Paths, Settings  # noqa: PLC0415
    from truekeep.serve.server import require_free, run  # noqa: PLC0415
    from truekeep.serve.settings import ServeSettings  # noqa: PLC0415

    given: dict[str, Any] = {"port": port, "workers": 1}
    chosen = ServeSettings.load(Settings.load(Paths.resolve(home).config).serve, given)
    chosen.require_safe()
    require_free(chosen)
    keep = _told(home)
    address = f"http://{chosen.host}:{chosen.port}"
    link = link_for(chosen, home, address)
    if output == "json":
        print_json({"address": address, "home": home, "keep": keep, "console": link})
    else:
        click.echo(
            f"Three weeks of an assistant's memory are in {home}. Serving on {address}; stop with Ctrl-C.", err=True
        )
        click.echo(f"Open this once, within {chosen.console_link_minutes:g} minutes: {link}")
    run(chosen, home)


def _progress(done: int, steps: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {steps}", err=True, nl=done == steps)


def _told(home: str) -> str:
    from truekeep.config import Paths  # noqa: PLC0415 - loaded when the demo runs, not for --help
    from truekeep.demo import play, read_script  # noqa: PLC0415
    from truekeep.stores.files import keep_names  # noqa: PLC0415

    script = read_script()
    if script.keep not in keep_names(Paths.resolve(home)):
        click.echo("Playing three weeks; this takes a few seconds.", err=True)
        play(home, script=script, progress=_progress)
    return script.keep
