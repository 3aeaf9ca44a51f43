"""Master keys that commands answer, asked anew in every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from truekeep.stores import master


@pytest.fixture(autouse=True)
def _ask_commands_again() -> Iterator[None]:
    """What a command answered for one test's master key is not taken for another's."""
    yield
    master._answered.cache_clear()
