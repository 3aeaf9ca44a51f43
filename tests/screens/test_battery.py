"""The disguise battery: seed phrases reworded, translated and written in every way a filter may miss."""

from __future__ import annotations

from collections import Counter

from tests.screens.conftest import held
from truekeep.redteam.disguises import battery


def test_the_battery_is_caught_whatever_the_disguise() -> None:
    total: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for name, text in battery():
        total[name] += 1
        missed[name] += not held(text)
    assert sum(total.values()) >= 200
    assert sum(missed.values()) <= 0.05 * sum(total.values()), missed.most_common(12)
