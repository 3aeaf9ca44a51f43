"""The search proves itself: it finds the hole in every weak defence at its known cost, and none where there is none."""

from __future__ import annotations

import pytest

from truekeep.redteam.attack_files import scenes
from truekeep.redteam.hunt import search
from truekeep.redteam.moves import MOVES
from truekeep.redteam.sequences import Budget
from truekeep.redteam.weak import WEAK, Weak

pytestmark = pytest.mark.slow

SMALL = Budget(records=100, principals=30, sequences=800)
FIRM = [one for one in WEAK if not one.cheapest]
HOLES = [one for one in WEAK if one.cheapest]


@pytest.mark.parametrize("weak", HOLES, ids=lambda weak: weak.name)
def test_the_cheapest_break_is_found_at_exactly_its_known_cost(weak: Weak) -> None:
    result = search(weak.stage, MOVES, scenes(), SMALL, seconds=20)
    assert {goal: result.found[goal].sequence.cost for goal in weak.cheapest} == weak.cheapest
    assert result.cheapest is not None
    assert result.cheapest.sequence.cost == min(weak.cheapest.values())


@pytest.mark.parametrize("weak", FIRM, ids=lambda weak: weak.name)
def test_nothing_is_found_where_nothing_but_the_owners_word_acts(weak: Weak) -> None:
    result = search(weak.stage, MOVES, scenes(), SMALL, seconds=20)
    assert not result.found
    assert result.sequences == SMALL.sequences
    assert str(result).startswith("none within 800 sequences")
    assert 0.004 < result.upper < 0.005


def test_a_hole_that_costs_more_than_the_attacker_has_is_not_found() -> None:
    (three,) = (one for one in WEAK if one.name == "three sources")
    assert not search(three.stage, MOVES, scenes(), Budget(records=100, principals=2, sequences=300), seconds=20).found
    assert not search(three.stage, MOVES, scenes(), Budget(records=2, principals=30, sequences=300), seconds=20).found


def test_chance_alone_and_the_guided_search_both_find_a_hole() -> None:
    (three,) = (one for one in WEAK if one.name == "three sources")
    result = search(three.stage, MOVES, scenes(), SMALL, seconds=20)
    assert all(result.broke.values())
