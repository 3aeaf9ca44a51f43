"""Every attack on a keep of sixty memories: it gets nothing, and it would have been seen to get something."""

from __future__ import annotations

import os

import pytest

from tests.redteam.weak_keeps import allowing_everything, everything_acts
from truekeep.config import Settings
from truekeep.redteam.attack import Attack, Truth
from truekeep.redteam.attack_files import attacks
from truekeep.redteam.battery import SIZES, attacked, influence
from truekeep.redteam.honest import CORROBORATED
from truekeep.redteam.keep_store import KeepStore
from truekeep.redteam.playing import Eyes, goes_through, look_after, look_before
from truekeep.redteam.stage import play, prepare
from truekeep.redteam.store import OWNER

pytestmark = pytest.mark.slow

IS_LONG = bool(os.environ.get("TRUEKEEP_LONG"))
# Floods cost the most; their twins without a truth are played in the long profile, which plays everything.
QUICK = [one for one in attacks() if IS_LONG or one.group != "copies" or not one.name.endswith("nobody knows better")]


@pytest.mark.parametrize("attack", QUICK, ids=lambda attack: attack.name)
def test_the_attack_gets_nothing(attack: Attack, arena: KeepStore, aside: list[Truth]) -> None:
    with arena.stage() as stage:
        prepare(stage, attack.setup)
        before = look_before(attack, stage, aside[::3])
        play(stage, attack.attack)
        outcome = look_after(attack, stage, before, arena.size)
        assert outcome, outcome
        # What the target cannot do at all is no defence.
        assert not outcome.lacking
        # A planted text that never got in, or a call that no boundary would have let through, proves nothing.
        with pytest.MonkeyPatch.context() as patch:
            everything_acts(patch)
            assert bool(Eyes(stage, attack).acting_poison()) == bool(attack.poison)
        with pytest.MonkeyPatch.context() as patch:
            allowing_everything(patch)
            assert all(goes_through(stage, call, "unguarded") for call in attack.attempts)


@pytest.mark.parametrize(
    "name",
    ["one record in definitional wording", "300 near-copies from made-up domains", "import of an export"],
)
def test_the_attack_gets_nothing_from_a_keep_that_holds_hearsay_back(name: str) -> None:
    with KeepStore.holding(60, Settings(policy="strict", embedder="none")) as strict:
        assert all(attacked(strict, [attack for attack in attacks() if attack.name.startswith(name)]))


FIVE_HUNDRED = (
    "one record in definitional wording",
    "30 near-copies from made-up lookalikes",
    "a trusted tool that echoes attacker text",
    "overwrite of a corroborated truth",
    "query-only injection in a shared keep",
)


def test_attacks_get_nothing_from_five_hundred_memories_found_by_meaning() -> None:
    listed = [attack for attack in attacks() if attack.name in FIVE_HUNDRED]
    assert len(listed) == len(FIVE_HUNDRED)
    report = influence(Settings(policy="inform", embedder="minilm"), (500,), listed, questions=50)
    assert report, [one for one in report.outcomes if not one]
    for group in (OWNER, CORROBORATED):
        (found,) = (one for one in report.found if one.group == group)
        assert found.total == 50
        assert found.acting >= found.plain >= 48


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.skipif(not IS_LONG, reason="the whole battery takes a quarter of an hour")
@pytest.mark.parametrize("size", SIZES)
def test_no_attack_gets_anything_from_a_keep_of_any_size(size: int) -> None:
    report = influence(Settings(policy="inform", embedder="minilm"), (size,))
    assert report, [one for one in report.outcomes if not one]
