"""A receiver, and a courier that tells it of a keep."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import run
from tests.conftest import Clock
from tests.serve.conftest import service
from tests.signals.receiver import Receiver, receiving
from truekeep import Keep
from truekeep.config import Paths
from truekeep.signals.courier import Courier, Delivery
from truekeep.signals.places import WebhookPlaces
from truekeep.signals.webhooks import webhooks_of

__all__ = ["run", "service"]
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
Look = Callable[[Keep], list[Delivery]]
Make = Callable[..., Courier]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    with receiving() as one:
        yield one


@pytest.fixture
def courier(home: Path, clock: Clock, receiver: Receiver) -> Make:
    """A courier as a process of its own would have it, with one webhook; settings may be given."""

    def make(**settings: Any) -> Courier:
        table = {"url": f"{receiver.address}/in?key=17", "secret": "env:HOOK_SECRET", **settings}
        return Courier(webhooks_of({"ops": table}), WebhookPlaces(Paths.resolve(home).keys, clock), clock)

    return make


@pytest.fixture
def look(courier: Make) -> Look:
    """Have one courier look at a keep, again and again."""
    one = courier()
    return lambda keep: one.look(keep.name, lambda: nullcontext(keep))
