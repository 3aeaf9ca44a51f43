"""The keep that the tests of keys and of recovery open again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Clock
from truekeep import Keep
from truekeep.stores import master


@pytest.fixture
def open_keep(home: Path, clock: Clock) -> Callable[[], Keep]:
    return lambda: Keep.open("alice", home=home, clock=clock)


@pytest.fixture(autouse=True)
def _ask_commands_again() -> Iterator[None]:
    """What a command answered for one test's master key is not taken for another's."""
    yield
    master._answered.cache_clear()
