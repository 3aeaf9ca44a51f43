"""The red team's texts, for every wrapped store."""

from __future__ import annotations

from truekeep.redteam.disguises import battery
from truekeep.redteam.screen import _data, _texts

_FILES = ("screen_battery", "screen_bypasses", "screen_directives", "screen_unseen")


def hostile_texts() -> list[str]:
    """Every hostile text of the battery, once."""
    listed = [text for name in _FILES for text in _texts(_data(name))]
    return [text for text in dict.fromkeys([*listed, *(text for _, text in battery())]) if text.strip()]
