"""Webhooks on the terminal: how it goes with each, a test, and what is due sent now."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import common
from truekeep.cli.output import console, print_json, table
from truekeep.config import Paths, Settings
from truekeep.errors import TruekeepError, UnknownId

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.signals.courier import Courier, Delivery
    from truekeep.signals.places import WebhookPlaces
    from truekeep.signals.webhooks import Webhook

_NONE = "No webhook is set up. 'docs/operations.md' has the lines for the settings."


@click.group()
def webhooks() -> None:
    """Tell other systems what waits or goes wrong, signed and tried again."""


@webhooks.command("list")
@common
def list_webhooks(home: str | None, output: str) -> None:
    """Print each webhook, what it is told, and how that goes."""
    from truekeep.signals.post import shown_address  # noqa: PLC0415 - loads when it is asked for

    paths, settings, hooks, places = _parts(home)
    found = {name: places.of(name) for name in _keeps(paths, settings)}
    listed = [
        {
            "webhook": hook.name,
            "to": shown_address(hook.url),
            "events": list(hook.settings.events),
            "delivered": sum(of[hook.name].delivered for of in found.values() if hook.name in of),
            "given_up": sum(of[hook.name].given_up for of in found.values() if hook.name in of),
            "failing": [_failing(keep, of[hook.name]) for keep, of in found.items() if _fails(hook, of)],
        }
        for hook in hooks
    ]
    if output == "json":
        print_json(listed)
    elif not listed:
        console().print(_NONE)
    else:
        _print(listed)


@webhooks.command()
@click.argument("name")
@common
def test(name: str, home: str | None, output: str) -> None:
    """Send a message to the webhook NAME that says that it is a test. Exit code 1 if it was not taken."""
    _, _, hooks, places = _parts(home)
    hook = next((one for one in hooks if one.name == name), None)
    if hook is None:
        raise UnknownId("There is no webhook of that name.", code="unknown_webhook", hint="truekeep webhooks list")
    _report([_courier(hooks, places).test(hook)], output)


@webhooks.command()
@click.option("--keep", "keep_name", envvar="TRUEKEEP_KEEP", help="Only what happened in this keep.")
@common
def send(keep_name: str | None, home: str | None, output: str) -> None:
    """Send what is due, once, where no service does it: from a timer, or at the end of a program.

    Exit code 1 if a receiver did not take something; it is due again after a pause.
    """
    paths, settings, hooks, places = _parts(home)
    courier, done = _courier(hooks, places), list[Any]()
    names = _keeps(paths, settings)
    if keep_name is not None and keep_name not in names:
        raise UnknownId("There is no keep of that name here.", code="unknown_keep")
    for name in names if keep_name is None else [keep_name]:
        try:
            done += courier.look(name, partial(_opened, name, home))
        except TruekeepError as error:
            click.echo(f"{name}: {error}", err=True)
    _report(done, output)


def _parts(home: str | None) -> tuple[Paths, Settings, tuple[Webhook, ...], WebhookPlaces]:
    from truekeep.keep import now  # noqa: PLC0415 - loads the store
    from truekeep.serve.shelf import shelf_of  # noqa: PLC0415
    from truekeep.signals.places import WebhookPlaces  # noqa: PLC0415
    from truekeep.signals.webhooks import webhooks_of  # noqa: PLC0415

    paths = Paths.resolve(home)
    settings = Settings.load(paths.config)
    return paths, settings, webhooks_of(settings.webhooks), WebhookPlaces(shelf_of(paths, settings), now)


def _courier(hooks: tuple[Webhook, ...], places: WebhookPlaces) -> Courier:
    from truekeep.keep import now  # noqa: PLC0415 - loads the store
    from truekeep.signals.courier import Courier  # noqa: PLC0415

    return Courier(hooks, places, now)


def _keeps(paths: Paths, settings: Settings) -> list[str]:
    from truekeep.stores.files import keep_names  # noqa: PLC0415 - loads the store

    return keep_names(paths, settings)


def _opened(name: str, home: str | None) -> AbstractContextManager[Keep]:
    from truekeep.cli.options import open_keep  # noqa: PLC0415 - loads the store

    return open_keep(name, home)


def _fails(hook: Webhook, of: Any) -> bool:
    return hook.name in of and bool(of[hook.name].error)


def _failing(keep: str, place: Any) -> dict[str, Any]:
    members = {"error": place.error, "failures": place.failures, "next_attempt": place.not_before}
    return {"keep": keep, **members}


def _report(done: list[Delivery], output: str) -> None:
    if output == "json":
        print_json([one.as_dict() for one in done])
    else:
        for one in done:
            said, style = (f"not taken: {one.error}", "red") if one.error else ("taken", "green")
            console().print(f"{one.hook}  {one.topic}  {said}", style=style)
        if not done:
            console().print("Nothing is due.")
    if any(one.error for one in done):
        sys.exit(REFUSED)


def _print(listed: list[dict[str, Any]]) -> None:
    out = console()
    listing = table("webhook", "to", "events", "taken", "given up", wide="events", folding=["to"])
    for one in listed:
        row = (one["webhook"], one["to"], ", ".join(one["events"]), f"{one['delivered']:,}", f"{one['given_up']:,}")
        listing.add_row(*row)
    out.print(listing)
    for one in listed:
        for failing in one["failing"]:
            again = f", again after {failing['next_attempt'][:19]}" if failing["next_attempt"] else ""
            how = f"{failing['error']}, {failing['failures']} times{again}"
            out.print(f"{one['webhook']} fails for the keep {failing['keep']}: {how}", style="yellow")
