"""The search as a measurement: repeatable, resumable, honest about what it could not try, able to fail a keep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.redteam.weak import replacing_by_anybody
from truekeep.config import Settings
from truekeep.redteam.influence.arena import Arena
from truekeep.redteam.influence.stage import Stage
from truekeep.redteam.search import Budget, Result, rows, search
from truekeep.redteam.search.moves import MOVES, from_list, simpler
from truekeep.redteam.search.scene import scenes, wordings
from truekeep.redteam.search.sequence import Sequence
from truekeep.redteam.search.simple import SimpleMemory
from truekeep.redteam.search.talking import Pass
from truekeep.redteam.search.trial import tried
from truekeep.redteam.search.weak import WEAK, NoGate
from truekeep.redteam.search.writing import Write

OWNERS = scenes()[0]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    """A keep of sixty memories, found by keywords."""
    return Arena(tmp_path_factory.mktemp("searched"), 60, Settings(policy="inform", embedder="none"))


def test_the_same_seed_plays_the_same_search() -> None:
    (weak,) = (one for one in WEAK if one.name == "credit by anybody")
    budget = Budget(records=50, principals=10, sequences=120)
    first, second, other = (search(weak.ground(), budget, 60, seed) for seed in (3, 3, 4))
    assert first.as_dict() | {"seconds": 0} == second.as_dict() | {"seconds": 0}
    assert first.archive != other.archive


def test_a_search_goes_on_where_it_stopped() -> None:
    (weak,) = (one for one in WEAK if one.name == "believes the owner alone")
    begun = search(weak.ground(), Budget(records=50, principals=10, sequences=40), 60)
    written = json.loads(json.dumps(begun.as_dict()))
    resumed = Result.from_dict(written | {"budget": Budget(records=50, principals=10, sequences=100).as_dict()})
    result = search(weak.ground(), seconds=60, resume=resumed)
    assert result.sequences == 100
    assert len(result.archive) >= len(begun.archive)


def test_the_limit_of_cpu_seconds_is_kept() -> None:
    (weak,) = (one for one in WEAK if one.name == "believes the owner alone")
    result = search(weak.ground(), Budget(), seconds=0.3)
    assert 0 < result.sequences < Budget().sequences
    assert result.seconds < 3


def test_progress_is_told_for_every_sequence() -> None:
    told: list[int] = []
    (weak,) = (one for one in WEAK if one.name == "accepts nothing")
    search(weak.ground(), Budget(sequences=30), 60, progress=lambda _, done, total: told.append(done * 100 + total))
    assert told == [number * 100 + 30 for number in range(1, 31)]


@pytest.mark.parametrize("name", MOVES)
def test_every_move_can_be_written_down_played_and_made_simpler(name: str) -> None:
    for scene in scenes():
        steps = list(MOVES[name]().steps(scene))
        assert steps
    most = MOVES[name](**{parameter: values[-1] for parameter, values in MOVES[name].choices.items()})
    assert from_list(json.loads(json.dumps(most.as_list()))) == most
    assert all(one.elaborate <= most.elaborate for one in simpler(most))
    assert list(most.steps(OWNERS))


def test_every_wording_fits_every_scene() -> None:
    for scene in scenes():
        for wording in wordings():
            assert "{" not in scene.text(wording)
            assert ("{value}" in wordings()[wording]) == scene.attack.is_poison(scene.text(wording))


def test_so_many_names_need_as_many_records() -> None:
    cost = Sequence(OWNERS, (Write(copies=5, voices=30),)).cost
    assert (cost.records, cost.principals) == (30, 30)
    cost = Sequence(OWNERS, (Write(copies=1_000, voices=300),)).cost
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

    sequence = Sequence(OWNERS, (Write(wording="negation"), Pass()))
    assert not tried(forgetful, sequence).got


def test_what_a_target_lacks_is_told_and_its_scenes_are_left_out() -> None:
    result = search(next(one for one in WEAK if one.kind is NoGate).ground(), Budget(sequences=60, enough=99), 60)
    assert "extract" in result.lacking
    assert any(reason.startswith("a shared keep") for reason in result.left_out)


def test_rows_say_what_was_found_and_at_which_cost() -> None:
    (weak,) = (one for one in WEAK if one.name == "three sources")
    made = rows(search(weak.ground(), Budget(records=100, principals=30, sequences=400), 60), defence="three", size=9)
    broken = [row for row in made if row.metric == "broken"]
    assert {row.attack for row in broken} == {"random", "guided"}
    assert all(row.part == "search" and row.hits and row.total and row.size == 9 for row in broken)
    (acting, _) = (row for row in made if row.metric == "acting")
    assert acting.detail["cheapest"]["cost"] == {"records": 3, "principals": 3, "sessions": 0, "moves": 1}
    assert json.dumps([row.as_dict() for row in made])


def test_a_keep_gives_nothing_away_to_a_short_search(small: Arena) -> None:
    result = search(small.stage, Budget(records=10, principals=10, moves=3, sequences=26), seconds=30)
    assert not result.found, result.as_dict()["found"]
    assert not result.left_out
    assert not result.lacking
    assert any("merely read" in answer for answer in result.answers)


def test_a_hole_in_a_real_keep_is_found(small: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    replacing_by_anybody(monkeypatch)
    budget = Budget(records=3, principals=3, moves=2, sequences=30, enough=1)
    assert "displaced" in search(small.stage, budget, seconds=30, listed=[OWNERS]).found


def test_a_policy_that_holds_hearsay_back_gives_nothing_away_either(tmp_path: Path) -> None:
    strict = Arena(tmp_path, 60, Settings(policy="strict", embedder="none"))
    assert not search(strict.stage, Budget(records=10, principals=10, moves=3, sequences=14), seconds=20).found
