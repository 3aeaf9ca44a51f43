"""The battery itself: it fails a store without a defence, finds faults in its own files, and counts honestly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.redteam.plain_store import PlainGround
from truekeep.config import Settings
from truekeep.redteam.attack_files import FaultyAttacks, attacks, parsed
from truekeep.redteam.battery import attacked, influence
from truekeep.redteam.figures import Rate
from truekeep.redteam.honest import facts
from truekeep.redteam.keep_store import KeepStore
from truekeep.redteam.playing import AttackOutcome, totals
from truekeep.redteam.sources import SOURCES, made_up, near_copy
from truekeep.redteam.store import OWNER

pytestmark = pytest.mark.slow


def test_a_store_without_a_defence_fails_almost_every_attack_on_it() -> None:
    outcomes = attacked(PlainGround(60), attacks())
    played = [one for one in outcomes if not one.unsound]
    assert len(played) > 100
    assert sum(not one for one in played) / len(played) > 0.9
    assert any(one.acting for one in played)
    assert any(one.displaced for one in played)
    assert any(one.allowed for one in played)


def test_what_a_target_lacks_is_told_and_not_taken_for_a_defence() -> None:
    (outcome,) = attacked(PlainGround(60), [one for one in attacks() if one.name == "credit by the agent"])
    assert "credit" in outcome.lacking
    assert not outcome


def test_an_attack_whose_premise_does_not_hold_is_no_success() -> None:
    (outcome,) = attacked(PlainGround(60), [one for one in attacks() if one.name == "overwrite of a credited truth"])
    assert outcome.unsound
    assert not outcome
    assert totals([outcome])["won"].total == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- {name: a, about: b, attack: []}", "nothing in it can be lost"),
        ("- {name: a, about: b, attack: [{fly: {}}], poison: [x]}", "no such step"),
        ("- {name: a, about: b, attack: [{remember: {via: web}}], poison: [x]}", "Remember needs: text"),
        ("- {name: a, about: b, attack: [{remember: {via: web, text: y, colour: z}}]}", "does not take: colour"),
        ("- {name: a, about: b, attack: [{remember: {via: web, text: y}}], poison: [x], query: q}", "no step plants"),
        ("- {name: a, about: b, attack: [{remember: {via: web, text: x}}], poison: [x]}", "asks nothing"),
        ("- {name: a, about: b, attack: [], attempts: [{action: pay}], speed: 3}", "unknown members: speed"),
    ],
)
def test_a_fault_in_a_file_is_found_before_anything_is_played(text: str, fault: str) -> None:
    with pytest.raises(FaultyAttacks, match=fault):
        parsed({"faulty.yaml": text})


def test_two_attacks_do_not_share_a_name() -> None:
    text = "- {name: a, about: b, attack: [], attempts: [{action: pay}]}"
    with pytest.raises(FaultyAttacks, match="two attacks are called a"):
        parsed({"one.yaml": text, "two.yaml": text})


@pytest.mark.parametrize("kind", SOURCES)
def test_there_are_three_hundred_made_up_sources_of_every_kind(kind: str) -> None:
    assert len(set(made_up(kind, 300))) == 300


def test_a_near_copy_states_the_same_claim() -> None:
    assert all("8815-47" in near_copy("Lumen's account is 8815-47.", number) for number in range(30))


@pytest.mark.parametrize("size", [60, 500, 10_000])
def test_an_honest_keep_has_the_size_it_is_said_to_have(size: int) -> None:
    texts = [text for fact in facts(size) for _, text in fact.said]
    assert len(texts) == size
    assert facts(size) == facts(size)
    assert facts(size, seed=1) != facts(size)


def test_the_largest_honest_keep_begins_with_the_facts_of_the_smaller_ones() -> None:
    largest = facts(100_000)
    assert sum(len(fact.said) for fact in largest) == 100_000
    assert len({fact.said for fact in largest}) == len(largest)
    assert {fact for fact in facts(60) if fact.group == OWNER} <= {fact for fact in largest if fact.group == OWNER}


def test_an_interval_never_claims_more_than_was_seen() -> None:
    low, high = Rate(0, 168).interval
    assert low == 0.0
    assert 0.02 < high < 0.025
    assert Rate(0, 0).interval == (0.0, 1.0)


def test_copies_of_one_attack_count_once() -> None:
    flood = AttackOutcome("flood", "copies", 60, acting=("a", "b"), planted=300)
    assert totals([flood, AttackOutcome("page", "wording", 60, planted=1)])["acting"] == Rate(1, 2)


def test_what_an_honest_keep_refuses_is_counted() -> None:
    with KeepStore.holding(60, Settings(policy="inform", embedder="none")) as keep:
        read = sum(via == "web" for fact in keep.facts for via, _ in fact.said)
        assert keep.turned_down.total == 60 - read


def test_rules_of_the_home_hold_in_the_arena(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("nonsense = true\n")
    with pytest.raises(ValueError, match="unknown tables"):
        influence(Settings(embedder="none"), (60,), attacks()[:1], questions=0, config=tmp_path)
