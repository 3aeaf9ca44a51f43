"""What a gate costs honest people, and how it shows where the cost is."""

from __future__ import annotations

import pytest

from truekeep.config import Settings
from truekeep.redteam.encoders import NONE, encoder
from truekeep.redteam.honest import GATED, GROUPS, READ, facts
from truekeep.redteam.keep_store import KeepStore
from truekeep.redteam.store import PlainKeywords
from truekeep.redteam.utility import (
    measure_cold_start,
    measure_review,
    measure_uncorroborated,
    measure_utility,
)

ENCODER = encoder(NONE)


@pytest.mark.slow
def test_a_keep_finds_behind_the_gate_what_its_owner_and_two_systems_said() -> None:
    rows = {(row.note, row.metric): row for row in measure_utility(lambda: KeepStore(None), ENCODER, 200, 40)}
    for group in GATED:
        assert rows[GROUPS[group], "gate"].hits >= rows[GROUPS[group], "plain"].hits >= 38
        assert rows[GROUPS[group], "gate"].total == 40
    assert rows[GROUPS[READ], "plain"].share > 0.9
    assert rows[GROUPS[READ], "gate"].hits == 0
    (refused,) = (row for row in rows.values() if row.metric == "turned_down")
    assert refused.hits == 0
    assert (refused.detail["rejected"], refused.detail["held"]) == (0, 0)
    assert refused.total >= 150


def test_an_owner_can_use_what_they_have_just_said() -> None:
    rows = {row.metric: row for row in measure_cold_start(lambda: KeepStore(None), ENCODER, 60)}
    assert rows["cold_start_gate"].share >= 0.95
    assert rows["cold_start_gate"].total == 60


def test_an_owner_s_word_needs_nobody_else_to_act() -> None:
    plain, gate = measure_uncorroborated(lambda: KeepStore(None), ENCODER, 60, 40)
    assert (plain.metric, gate.metric) == ("uncorroborated_plain", "uncorroborated_gate")
    assert gate.hits >= plain.hits >= 38


def test_what_was_read_acts_after_a_person_looked_at_it_and_the_effort_is_told() -> None:
    strict = Settings(policy="strict")
    before, after = measure_review(lambda: KeepStore(None, settings=strict), ENCODER, 60, 60)
    assert (before.hits, before.metric) == (0, "read_before_review")
    assert (after.share > 0.9, after.metric) == (True, "read_after_review")
    pages = sum(via == "web" for fact in facts(60) for via, _ in fact.said)
    assert after.detail["decisions"] == pages


def test_a_store_without_a_gate_loses_nothing_and_has_nobody_to_review() -> None:
    rows = list(measure_utility(PlainKeywords, ENCODER, 500, 20))
    assert {row.note for row in rows if row.metric == "gate"} == set(GROUPS.values())
    assert all(row.share > 0.7 for row in rows)
    assert [row.metric for row in measure_review(PlainKeywords, ENCODER, 60, 20)] == ["read_before_review"]
