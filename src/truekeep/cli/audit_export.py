"""The audit log on its way to a SIEM: as lines of OCSF or CEF, once or for as long as it is written, or to syslog."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import print_json

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.types import AuditEvent

_PORTION = 500
"""Events read at a time, so that writers get in between."""
_PAUSE = 1.0
"""Seconds between two looks at what is new."""


@click.command()
@click.option("--as", "shape", type=click.Choice(["ocsf", "cef"]), default="ocsf", show_default=True, help="Which.")
@click.option("--after", type=click.IntRange(0), default=0, help="Only events after that number.")
@click.option("--since", type=click.DateTime(), metavar="DATE", help="Only events since that moment (UTC).")
@click.option("--follow", is_flag=True, help="Go on with what happens from now on, until Ctrl-C.")
@click.option("--to", "address", help="A syslog receiver: tcp://, tls:// or udp://host:port, or unix:///dev/log.")
@click.option("--unsafe-no-tls", is_flag=True, help="Send to another machine over tcp:// or udp:// all the same.")
@with_keep
def export(
    shape: str,
    after: int,
    since: datetime | None,
    follow: bool,
    address: str | None,
    unsafe_no_tls: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Print every event as a line for a SIEM, oldest first, or send it --to syslog.

    OCSF is JSON, one object a line; CEF is ArcSight's text. Nothing in an event can end or forge a line.
    """
    from truekeep.cli.output import as_json  # noqa: PLC0415
    from truekeep.signals.cef import as_cef  # noqa: PLC0415 - loads the store
    from truekeep.signals.ocsf import as_ocsf  # noqa: PLC0415
    from truekeep.signals.syslog import SyslogPlace, syslog  # noqa: PLC0415

    place = SyslogPlace.parsed(address, unsafe_no_tls=unsafe_no_tls) if address is not None else None
    moment = since.replace(tzinfo=UTC) if since else None
    count = 0
    with ExitStack() as stack:
        keep = stack.enter_context(open_keep(keep_name, home))
        receiver = stack.enter_context(syslog(place)) if place is not None else None
        for event in _events(keep, after, follow=follow):
            if moment is not None and event.at < moment:
                continue
            line = as_cef(event, keep_name) if shape == "cef" else as_json(as_ocsf(event, keep_name), indent=None)
            if receiver is None:
                click.echo(line)
            else:
                receiver.send(event, line)
            count += 1
    if receiver is not None and output == "json":
        print_json({"sent": count})
    elif receiver is not None:
        click.echo(f"Sent: {count:,} events.")


def _events(
    keep: Keep, after: int, *, follow: bool, pause: Callable[[float], None] = time.sleep
) -> Iterator[AuditEvent]:
    """The events after that number, oldest first; to follow, for ever."""
    while True:
        found = keep.audit.events(after=after, limit=_PORTION)
        yield from found
        after = found[-1].seq if found else after
        if len(found) == _PORTION:
            continue
        if not follow:
            return
        pause(_PAUSE)
