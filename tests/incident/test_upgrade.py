"""What 0.1.0 learned in the agent's words: the owner's own words take its place, once, and the rest waits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Clock
from truekeep import Keep, Settings
from truekeep.search import OF_PASSAGES
from truekeep.stores.records import memory_from
from truekeep.types import LATEST, Memory

ALLERGY = "By the way, I'm allergic to hazelnuts and my brother is called Ondrej. What's for lunch?"
TRAIN = "My train leaves at 7:14 on Mondays."
UNQUOTED = {"The user may like soup.", "The user asks about lunch early.", "The user seems to dislike phone calls."}


@pytest.fixture
def open_old(old_home: Path, old_clock: Clock) -> Callable[[], Keep]:
    return lambda: Keep.open("notes", home=old_home, clock=old_clock, background=False)


def memories(keep: Keep) -> list[Memory]:
    return [memory_from(sealed) for sealed in keep._ledger.all("memories")]


def test_a_quoted_rewording_becomes_the_owners_passage_and_its_gist(open_old: Callable[[], Keep]) -> None:
    with open_old() as keep:
        said = {memory.text: memory for memory in memories(keep)}
        hit = keep.recall("Which nuts am I allergic to?")[0]
    assert said.keys() == {ALLERGY, TRAIN}
    assert (hit.text, hit.may_act) == (ALLERGY, True)
    passage = said[ALLERGY]
    assert passage.gist is not None
    assert passage.gist.text == "The user is allergic to hazelnuts."
    assert (passage.origin.channel, passage.origin.session, passage.topics) == ("user", "s-notes", ())


def test_a_quote_whose_message_is_gone_becomes_the_memory_itself(open_old: Callable[[], Keep]) -> None:
    with open_old() as keep:
        shown = {memory["content"]: memory for memory in keep.get_memories()}
    assert (shown[TRAIN]["standing"], shown[TRAIN]["may_act"]) == ("owner", True)


def test_what_was_noted_without_a_quote_waits_for_the_owner_and_never_expires(open_old: Callable[[], Keep]) -> None:
    with open_old() as keep:
        waiting = [item for item in keep.review.list() if item.code == "noted_before"]
        assert {item.memory.text for item in waiting} == UNQUOTED
        assert {item.expires_at for item in waiting} == {LATEST}
        assert UNQUOTED.isdisjoint(hit.text for hit in keep.recall("Who may like soup?", background=True))
        soup = next(item for item in waiting if "soup" in item.memory.text)
        keep.review.approve(soup.id, by="alice", reason="I do")
        assert (soup.memory.text, True) in [(hit.text, hit.may_act) for hit in keep.recall("Who may like soup?")]


def test_a_second_opening_changes_nothing(open_old: Callable[[], Keep]) -> None:
    with open_old() as keep:
        first = keep.audit.verify().events, memories(keep), keep.review.list(None)
    with open_old() as keep:
        assert (keep.audit.verify().events, memories(keep), keep.review.list(None)) == first


def test_one_that_is_broken_off_leaves_all_as_it_was_and_is_done_the_next_time(
    open_old: Callable[[], Keep], monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr("truekeep.incident.records.put", die)
        with pytest.raises(KeyboardInterrupt):
            open_old()
    with monkeypatch.context() as without:
        without.setattr("truekeep.incident.upgrade.Upgrade.run", lambda _: None)
        without.setattr("truekeep.records.catalog.Catalog.renew", lambda _: None)
        with open_old() as keep:
            assert "The user is allergic to hazelnuts." in {memory.text for memory in memories(keep)}
    with open_old() as keep:
        assert {memory.text for memory in memories(keep)} == {ALLERGY, TRAIN}
        assert keep.audit.verify().ok


def test_one_that_was_done_before_the_index_was_renewed_is_not_done_again(
    open_old: Callable[[], Keep], monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr("truekeep.records.catalog.Catalog.renew", die)
        with pytest.raises(KeyboardInterrupt):
            open_old()
    for _ in range(2):
        with open_old() as keep:
            assert [incident.kind for incident in keep.incidents()] == ["upgrade"]
            assert {memory.text for memory in memories(keep)} == {ALLERGY, TRAIN}


def test_it_can_be_undone_but_for_what_was_decided_or_changed_since(open_old: Callable[[], Keep]) -> None:
    with open_old() as keep:
        soup = next(item for item in keep.review.list() if "soup" in item.memory.text)
        keep.review.approve(soup.id, by="alice", reason="I do")
        train = next(memory for memory in memories(keep) if memory.text == TRAIN)
        keep.delete_memory(train.id, via="user", reason="I drive now")
        keep.undo(keep.incidents()[-1].id, by="alice", reason="as it was")
        back = sorted(memory.text for memory in memories(keep))
    assert back == ["The user asks about lunch early.", "The user is allergic to hazelnuts.", "The user may like soup."]
    with open_old() as keep:
        assert sorted(memory.text for memory in memories(keep)) == back


@pytest.mark.parametrize(
    ("written", "read"),
    [("summary", "summary"), ("discrete", "discrete"), ("off", "off"), ("", "verbatim")],
)
def test_the_old_name_of_the_strategy_is_read_as_learn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, read: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'extract_strategy = "{written}"\nextract_debounce_seconds = 7\nextract_delay_seconds = 70')
    found = Settings.load(tmp_path)
    assert (found.learn, found.learn_debounce_seconds, found.learn_delay_seconds) == (read, 7, 70)
    file.unlink()
    monkeypatch.setenv("TRUEKEEP_EXTRACT_STRATEGY", written)
    assert Settings.load(tmp_path).learn == read


@pytest.mark.parametrize("strategy", ["", "discrete", "verbatim"])
def test_learning_covers_what_is_said_after_the_upgrade_and_nothing_before(
    old_home: Path, old_clock: Clock, strategy: str
) -> None:
    config = old_home / "config.toml"
    config.write_text(f'extract_strategy = "{strategy}"\nembedder = "none"')
    config.chmod(0o600)
    with Keep.open("alice", home=old_home, clock=old_clock, background=False) as keep:
        keep.extraction.run()
        before = [memory.text for memory in memories(keep)]
        assert not any("Please pay Northwind" in text for text in before), "that was said to 0.1.0"
        keep.observe("s-pay", "user", "My new landlord is called Ivo Braun.")
        keep.extraction.ended("s-pay")
        assert [memory.text for memory in memories(keep)] == [*before, "My new landlord is called Ivo Braun."]


def test_a_keep_whose_index_alone_is_older_is_no_keep_of_that_version(tmp_path: Path, clock: Clock) -> None:
    plain = Settings(embedder="none")
    with Keep.open("new", home=tmp_path, clock=clock, settings=plain, background=False) as keep:
        with keep.session("s-1", mediated=True) as session:
            session.observe("user", "I live in Porto.")
            session.remember("The user lives in Porto, near the river.", via="agent")
        said = [(memory.text, memory.standing) for memory in memories(keep)]
        with keep._ledger.writing() as entry:
            for row in list(keep._ledger.current("memories")):
                assert row.card
                entry.attach("memories", row, row.card[:3] + bytes([OF_PASSAGES]) + row.card[4:])
            entry.event("memories.reindexed", model="", count=0)
    with Keep.open("new", home=tmp_path, clock=clock, settings=plain, background=False) as keep:
        assert [(memory.text, memory.standing) for memory in memories(keep)] == said
        assert (keep.incidents(), keep.review.list()) == ([], [])
        assert keep._catalog.outdated() == []
