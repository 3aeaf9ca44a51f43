"""The search as a measurement: repeatable, honest about what it could not try, able to fail a keep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.redteam.weak_keeps import replacing_by_anybody
from truekeep.config import Settings
from truekeep.redteam.attack import wordings
from truekeep.redteam.attack_files import scenes
from truekeep.redteam.hunt import Fresh, SearchResult, rows_of_search, search, tried
from truekeep.redteam.keep_store import KeepStore
from truekeep.redteam.moves import MOVES, Pass, Write
from truekeep.redteam.sequences import Budget, Move, MoveSequence, simpler
from truekeep.redteam.simple_memory import SimpleMemory
from truekeep.redteam.stage import Stage
from truekeep.redteam.weak import WEAK, NoGate

pytestmark = pytest.mark.slow

OWNERS = scenes()[0]


@pytest.fixture(scope="module")
def small() -> Iterator[KeepStore]:
    """A keep of sixty memories, found by keywords."""
    with KeepStore.holding(60, Settings(policy="inform", embedder="none")) as keep:
        yield keep


def searched(fresh: Fresh, budget: Budget, seconds: float, **options: Any) -> SearchResult:
    return search(fresh, MOVES, scenes(), budget, seconds, **options)


def test_the_same_seed_plays_the_same_search() -> None:
    (weak,) = (one for one in WEAK if one.name == "credit by anybody")
    budget = Budget(records=50, principals=10, sequences=120)
    first, second, other = (replace(searched(weak.stage, budget, 60, seed=seed), seconds=0) for seed in (3, 3, 4))
    assert first == second
    assert first.answers != other.answers


def test_the_limit_of_cpu_seconds_is_kept() -> None:
    (weak,) = (one for one in WEAK if one.name == "believes the owner alone")
    result = searched(weak.stage, Budget(), seconds=0.3)
    assert 0 < result.sequences < Budget().sequences
    assert result.seconds < 3


def test_progress_is_told_for_every_sequence() -> None:
    told: list[int] = []
    (weak,) = (one for one in WEAK if one.name == "accepts nothing")
    searched(weak.stage, Budget(sequences=30), 60, progress=lambda _, done, total: told.append(done * 100 + total))
    assert told == [number * 100 + 30 for number in range(1, 31)]


@pytest.mark.parametrize("kind", MOVES, ids=lambda kind: kind.name)
def test_every_move_can_be_written_down_played_and_made_simpler(kind: type[Move]) -> None:
    for scene in scenes():
        assert list(kind().steps(scene))
    most = kind(**{parameter: values[-1] for parameter, values in kind.choices.items()})
    name, parameters = json.loads(json.dumps(most.as_list()))
    assert (name, kind(**parameters)) == (kind.name, most)
    assert all(one.elaborate <= most.elaborate for one in simpler(most))
    assert list(most.steps(OWNERS))


def test_every_wording_fits_every_scene() -> None:
    for scene in scenes():
        for wording in wordings():
            assert "{" not in scene.text(wording)
            assert ("{value}" in wordings()[wording]) == scene.attack.is_poison(scene.text(wording))


def test_so_many_names_need_as_many_records() -> None:
    cost = MoveSequence(OWNERS, (Write(copies=5, voices=30),)).cost
    assert (cost.records, cost.principals) == (30, 30)
    cost = MoveSequence(OWNERS, (Write(copies=1_000, voices=300),)).cost
    assert (cost.records, cost.principals) == (1_000, 300)


class Forgetful(SimpleMemory):
    """Forgets the owner's words when nobody has been at it for a while; no attacker is needed for that."""

    stage: Stage

    def believes(self, record: object) -> bool:  # noqa: ARG002 - whatever it is
        return self.stage.clock.now.day == 2


def test_what_time_alone_does_is_not_the_attackers() -> None:
    @contextmanager
    def forgetful() -> Iterator[Stage]:
        memory = Forgetful()
        memory.stage = Stage(memory)
        yield memory.stage

    sequence = MoveSequence(OWNERS, (Write(wording="negation"), Pass()))
    assert not tried(forgetful, sequence).got


def test_what_a_target_lacks_is_told_and_its_scenes_are_left_out() -> None:
    result = searched(next(one for one in WEAK if one.kind is NoGate).stage, Budget(sequences=60, enough=99), 60)
    assert "extract" in result.lacking
    assert any(reason.startswith("a shared keep") for reason in result.left_out)


def test_rows_say_what_was_found_and_at_which_cost() -> None:
    (weak,) = (one for one in WEAK if one.name == "three sources")
    made = rows_of_search(
        searched(weak.stage, Budget(records=100, principals=30, sequences=400), 60), defence="three", size=9
    )
    broken = [row for row in made if row.metric == "broken"]
    assert {row.attack for row in broken} == {"random", "guided"}
    assert all(row.part == "search" and row.hits and row.total and row.size == 9 for row in broken)
    (acting, _) = (row for row in made if row.metric == "acting")
    assert acting.detail["cheapest"]["cost"] == {"records": 3, "principals": 3, "sessions": 0, "moves": 1}
    assert json.dumps([row.as_dict() for row in made])


def test_a_keep_gives_nothing_away_to_a_short_search(small: KeepStore) -> None:
    result = searched(small.stage, Budget(records=10, principals=10, moves=3, sequences=26), seconds=30)
    assert not result.found, result.found
    assert not result.left_out
    assert not result.lacking
    assert any("merely read" in answer for answer in result.answers)


def test_a_hole_in_a_real_keep_is_found(small: KeepStore, monkeypatch: pytest.MonkeyPatch) -> None:
    replacing_by_anybody(monkeypatch)
    budget = Budget(records=3, principals=3, moves=2, sequences=30, enough=1)
    assert "displaced" in search(small.stage, MOVES, [OWNERS], budget, 30).found


def test_a_policy_that_holds_hearsay_back_gives_nothing_away_either() -> None:
    budget = Budget(records=10, principals=10, moves=3, sequences=14)
    with KeepStore.holding(60, Settings(policy="strict", embedder="none")) as strict:
        assert not searched(strict.stage, budget, 20).found
