"""The same attacker against any store behind the small protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.peers.store_target import StoreGround

from truekeep.redteam.attack_files import scenes
from truekeep.redteam.hunt import search
from truekeep.redteam.moves import MOVES
from truekeep.redteam.sequences import Budget
from truekeep.redteam.store import OWNER, STORED, StoreHit, TextEntry

BUDGET = Budget(records=60, principals=30, sequences=400)


class ListStore:
    """Texts in a list; which of them act is for its kinds to say."""

    name = "list"
    version = "0"

    def __init__(self) -> None:
        self._filled: list[TextEntry] = []
        self._planted: list[TextEntry] = []

    def fill(self, entries: Sequence[TextEntry]) -> None:
        self._filled += entries

    def plant(self, entries: Sequence[TextEntry]) -> list[str]:
        json.dumps([dict(entry.claims) for entry in entries])  # most stores are in another process
        self._planted += entries
        return [STORED for _ in entries]

    def recall(self, query: str, k: int) -> list[StoreHit]:
        words = set(query.casefold().split())
        every = [*self._filled, *self._planted]
        every.sort(key=lambda entry: -len(words & set(entry.text.casefold().replace("'s", "").split())))
        return [StoreHit(entry.text, self.acts(entry)) for entry in every[:k]]

    def acting(self, query: str, k: int) -> list[StoreHit]:
        return [hit for hit in self.recall(query, 10_000) if hit.may_act][:k]

    def reset(self) -> None:
        self._planted = []

    def close(self) -> None:
        self.reset()

    def acts(self, entry: TextEntry) -> bool:
        return entry.by == OWNER


class Labelled(ListStore):
    def acts(self, entry: TextEntry) -> bool:
        return super().acts(entry) or entry.claims.get("role") == "user"


class Counting(ListStore):
    def acts(self, entry: TextEntry) -> bool:
        value = entry.text.rstrip(".")[-7:]
        sources = {one.source for one in self._planted if value in one.text}
        return super().acts(entry) or len(sources) >= 2


def test_a_store_that_believes_its_owner_alone_gives_nothing_away() -> None:
    result = search(StoreGround(ListStore()).stage, MOVES, scenes(), BUDGET, seconds=20)
    assert not result.found, result.found
    assert "check_action" in result.lacking


def test_a_store_that_believes_a_role_falls_to_one_record() -> None:
    found = search(StoreGround(Labelled()).stage, MOVES, scenes(), BUDGET, seconds=20).found
    assert found["acting"].sequence.cost == (1, 1, 0, 1)


def test_a_store_that_counts_sources_falls_to_as_many() -> None:
    found = search(StoreGround(Counting()).stage, MOVES, scenes(), BUDGET, seconds=20).found
    assert found["acting"].sequence.cost == (2, 2, 0, 1)


def test_every_sequence_meets_the_store_as_it_was_filled() -> None:
    store = ListStore()
    ground = StoreGround(store, [TextEntry("The boat key is a brass one.")])
    search(ground.stage, MOVES, scenes(), Budget(records=20, principals=5, sequences=20), seconds=20)
    with ground.stage() as stage:
        texts = [hit.text for hit in stage.target.recall("", 10_000, influence_only=False)]
    assert "The boat key is a brass one." in texts
    assert not any("7777-13" in text for text in texts)
