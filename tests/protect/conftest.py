"""The red team's texts, for every wrapped store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from truekeep.redteam.screen import _data, _texts

_FILES = ("screen_battery", "screen_bypasses", "screen_directives", "screen_unseen")


@pytest.fixture
def hostile() -> Callable[[], list[str]]:
    """Every hostile text of the battery."""
    return lambda: [text for name in _FILES for text in _texts(_data(name)) if text.strip()]
