"""Keeps made by 0.1.0 still open, say what they said, and go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock, intruder
from truekeep import Keep
from truekeep.search import is_outdated, values_in

VECTOR = 64
"""So many bytes from the end tell one vector from another."""


@pytest.fixture(params=["alice", "family"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def expected(old_home: Path, name: str) -> dict[str, Any]:
    said: dict[str, dict[str, Any]] = json.loads((old_home / "expected.json").read_text("utf-8"))
    return said[name]


SAID = {
    "I moved to Bratislava last month. My cat is called Mia.": [
        "The user moved to Bratislava in 2026-01",
        "The user's cat is called Mia",
    ],
    "I work at Fabrikam as a designer.": ["The user works at Fabrikam as a designer"],
}
"""What Alice said in the session that 0.1.0 distilled, with what it made of it."""


def test_what_was_remembered_is_read_as_it_was(
    old_home: Path, old_clock: Clock, name: str, expected: dict[str, Any]
) -> None:
    reworded = {wording for wordings in SAID.values() for wording in wordings}
    with Keep.open(name, home=old_home, clock=old_clock, background=False) as keep:
        read = [[memory["content"], memory["standing"], memory["may_act"]] for memory in keep.get_memories()]
    said = [[text, "owner", True] for text in SAID] if name == "alice" else []
    assert read == [one for one in expected["memories"] if one[0] not in reworded] + said


def test_what_waits_and_what_was_decided_is_as_it_was(
    old_home: Path, old_clock: Clock, name: str, expected: dict[str, Any]
) -> None:
    with Keep.open(name, home=old_home, clock=old_clock, background=False) as keep:
        queue = [[item.kind, item.state, item.memory.text] for item in keep.review.list(None)]
        tickets = [[record.session, record.code, record.state] for record in keep.actions.tickets.all()]
        channels = [[channel["name"], channel["state"]] for channel in keep.channels.list()]
    assert (queue, tickets, channels) == (expected["queue"], expected["tickets"], expected["channels"])


def test_old_index_cards_are_written_anew_once_and_keep_their_vectors(
    old_home: Path, old_clock: Clock, name: str
) -> None:
    with intruder(old_home, name) as connection:
        before = dict(connection.execute("SELECT seq, card FROM memories"))
    for _ in range(2):
        with Keep.open(name, home=old_home, clock=old_clock) as keep:
            kinds = [event.kind for event in keep.audit.events(after=expected_events(old_home, name))]
            assert keep.audit.verify().ok
    with intruder(old_home, name) as connection:
        after = dict(connection.execute("SELECT seq, card FROM memories"))
    assert kinds.count("memories.reindexed") == 1
    assert kinds[-1] == "memories.reindexed"
    assert {is_outdated(card) for card in before.values()} == {True}
    assert {is_outdated(card) for card in after.values()} == {False}
    kept = before.keys() & after.keys()
    assert len(before) - len(kept) == (sum(map(len, SAID.values())) if name == "alice" else 0)
    for seq in kept:
        assert values_in(after[seq]) == values_in(before[seq])
        assert after[seq][-VECTOR:] == before[seq][-VECTOR:]


def expected_events(home: Path, name: str) -> int:
    said: dict[str, dict[str, Any]] = json.loads((home / "expected.json").read_text("utf-8"))
    return int(said[name]["events"])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which mode do I prefer in editors?", "I prefer dark mode in every editor."),
        ("Wohin fahren die Züge am Dienstag?", "Ich fahre jeden Dienstag mit dem Zug nach Wien."),
        ("Kedy mám let do Ríma?", "Môj let do Ríma je 14. mája 2026."),
    ],
)
def test_old_memories_are_found_by_their_words_in_their_language(
    old_home: Path, old_clock: Clock, question: str, answer: str
) -> None:
    with Keep.open("alice", home=old_home, clock=old_clock) as keep:
        assert keep.recall(question)[0].text == answer


def test_an_old_keep_takes_in_more_and_is_verified(
    old_home: Path, old_clock: Clock, name: str, expected: dict[str, Any]
) -> None:
    with Keep.open(name, home=old_home, clock=old_clock, background=False) as keep:
        assert keep.remember("The spare key is under the blue pot.", via="user").accepted
        verified = keep.audit.verify()
        assert verified.ok
        assert verified.events > expected["events"]
    with Keep.open(name, home=old_home, clock=old_clock, background=False) as keep:
        assert "spare key" in keep.recall("Where is the spare key?")[0].text
