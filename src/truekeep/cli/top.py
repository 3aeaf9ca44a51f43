"""``truekeep top``: what happens now, on one page of the terminal that is looked at again and again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from truekeep.cli.options import common
from truekeep.cli.output import console, print_json

if TYPE_CHECKING:
    from truekeep.cli.top_sources import TopSource


@click.command()
@click.option("--keep", "keeps", multiple=True, help="Only this keep; more than one may be named.")
@click.option("--url", envvar="TRUEKEEP_URL", help="A service to ask, with a token that may admin and read.")
@click.option("--token-file", type=click.Path(dir_okay=False), help="Where that token is, if not in TRUEKEEP_TOKEN.")
@click.option("--every", type=click.FloatRange(0.5, 3_600), default=2.0, show_default=True, help="Seconds.")
@click.option("--once", is_flag=True, help="Look once, and end.")
@click.option("--texts", is_flag=True, help="Also the texts of what waits for review.")
@common
def top(
    keeps: tuple[str, ...],
    url: str | None,
    token_file: str | None,
    every: float,
    once: bool,
    texts: bool,
    home: str | None,
    output: str,
) -> None:
    """Show what happens now, in the keeps of this home or of a service, until Ctrl-C.

    It only reads. Texts of memories are shown only with --texts. With --format json each look is one line.
    """
    from truekeep.cli.top_sources import HomeSource, ServiceSource  # noqa: PLC0415 - loads the store or the client

    with ExitStack() as stack:
        source: TopSource
        if url is not None:
            source = stack.enter_context(ServiceSource(url, token_file, keeps, with_texts=texts))
        else:
            source = stack.enter_context(HomeSource(home, keeps, with_texts=texts))
        if output == "json":
            _as_lines(source, every, once=once)
        elif once or not sys.stdout.isatty():
            _once(source)
        else:
            _live(source, every)


def _as_lines(source: TopSource, every: float, *, once: bool, pause: Callable[[float], None] = time.sleep) -> None:
    while True:
        print_json(source.look(), indent=2 if once else None)
        if once:
            return
        pause(every)


def _once(source: TopSource) -> None:
    from truekeep.cli.top_page import page  # noqa: PLC0415 - not needed for JSON

    console().print(page(source.look()))


def _live(source: TopSource, every: float) -> None:
    """On a screen of its own, which is gone afterwards."""
    from rich.live import Live  # noqa: PLC0415 - not needed for JSON

    from truekeep.cli.top_page import page  # noqa: PLC0415

    with Live(page(source.look()), console=console(), screen=True, auto_refresh=False) as live:
        try:
            while True:
                time.sleep(every)
                live.update(page(source.look()), refresh=True)
        except KeyboardInterrupt:
            pass
