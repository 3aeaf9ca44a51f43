"""The battery can fail: each of these keeps has one hole, and the attack that is meant for it gets through."""

from __future__ import annotations

import pytest

from tests.redteam.weak_keeps import WEAK, Weakness
from truekeep.redteam.attack_files import attacks
from truekeep.redteam.keep_store import KeepStore
from truekeep.redteam.playing import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("weakness", WEAK, ids=lambda weakness: weakness.name)
def test_the_attack_finds_the_hole(weakness: Weakness, arena: KeepStore, monkeypatch: pytest.MonkeyPatch) -> None:
    (attack,) = (one for one in attacks() if one.name == weakness.caught_by)
    with arena.stage() as stage:
        assert run(attack, stage, arena.size)
    weakness.dig(monkeypatch)
    with arena.stage() as stage:
        assert not run(attack, stage, arena.size)
