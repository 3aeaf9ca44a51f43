"""The demo story: it plays as it is told, and leaves what the console's pages are there to show."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.yardstick import allowed
from truekeep import Keep
from truekeep.demo import play, read_script
from truekeep.rules.casework import run_cases
from truekeep.rules.loader import load

NOW = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
FORGER = "northwind-billing.example"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("story")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUEKEEP_EMBEDDER", "none")
        patch.delenv("TRUEKEEP_KEYS", raising=False)
        began = time.process_time()
        played = play(home, now=NOW)
        assert played.surprises == []
        assert time.process_time() - began < allowed(10)
    return home


@pytest.fixture
def keep(told: Path) -> Iterator[Keep]:
    with Keep.open("studio", home=told, clock=lambda: NOW, background=False) as opened:
        yield opened


def test_the_story_verifies_and_is_over_by_now(keep: Keep) -> None:
    assert keep.audit.verify().ok
    events = keep.audit.events()
    assert events[-1].at <= NOW
    assert NOW - events[0].at > timedelta(days=20)
    days = {event.at.date() for event in events}
    assert len(days) >= 15


def test_the_story_fills_what_the_pages_show(keep: Keep) -> None:
    waiting, settled = keep.review.list(), keep.review.list(None)
    assert 35 <= len(waiting) <= 60
    assert {"hearsay_held", "bad_outcome", "deletion_proposed", "change_outranked"} <= {item.code for item in waiting}
    assert len({item.memory.origin.principal for item in waiting}) > 10
    assert {"approved", "rejected"} <= {item.state for item in settled}
    listed = keep.get_memories()
    assert {entry["standing"] for entry in listed} == {"owner", "enrolled", "hearsay"}
    assert any(entry["blocked"] for entry in listed)
    assert any(entry["may_act"] and entry["standing"] == "enrolled" for entry in listed)
    kinds = {event.kind for event in keep.audit.events()}
    assert {"memory.rejected", "claim.buried", "run.credited", "action.redeemed", "incident.undone"} <= kinds


def test_the_attack_that_slipped_through_is_traced_from_the_payment_and_taken_back(keep: Keep) -> None:
    blamed = keep.blame("run-paper-2")
    assert any(FORGER in str(one["from"]) for one in blamed["memories"])
    before = {entry["id"] for entry in keep.get_memories()}
    owners = next(hit for hit in keep.recall("account number of Northwind", k=20, as_of=NOW) if "1180-22" in hit.text)
    plan = keep.revoke(principal=FORGER, dry_run=True)
    assert {one["as"] for one in plan["memories"]} == {"root", "derived"}
    assert {one["run"] for one in plan["actions"]["done"]} == {"run-paper-2", "run-paper-3"}
    assert {"invoices-2", "planning-2"} <= {one["session"] for one in plan["sessions"]}
    assert {entry["id"] for entry in keep.get_memories()} == before
    done = keep.revoke(principal=FORGER, by="eva", reason="The letter was forged")
    assert not any("9904-71" in hit.text for hit in keep.recall("account number of Northwind", k=20))
    assert keep.get_memory(owners.memory.id)["may_act"]
    keep.undo(done["incident"], by="eva", reason="back to the story")
    assert {entry["id"] for entry in keep.get_memories()} == before


def test_the_letter_slipped_in_before_the_rule_and_the_rule_catches_it_now(told: Path, keep: Keep) -> None:
    stored = next(event for event in keep.audit.events(kinds=["memory.stored"]) if event.body["principal"] == FORGER)
    refused = [event for event in keep.audit.events(kinds=["memory.rejected"]) if event.at > stored.at]
    assert any("payment_details_changed" in event.body["rules"] for event in refused)
    assert keep.get_memory(stored.body["memory"])["block_reason"] == ["payment_details_changed"]
    loaded = load([told / "rules" / "payment_details_changed.yaml"])
    assert not loaded.faults
    assert {outcome.result for outcome in run_cases(loaded.rules)} == {"passed"}


@pytest.mark.parametrize(
    "scenes",
    [
        '[{day: 1, at: "09:00", steps: [{dance: slowly}]}]',
        '[{day: 1, at: "09:00", steps: [{end: a}]}, {day: 0, at: "09:00", steps: [{end: a}]}]',
        '[{day: 9, at: "09:00", steps: [{end: a}]}]',
    ],
)
def test_a_script_with_an_unknown_verb_or_out_of_order_is_refused(scenes: str) -> None:
    with pytest.raises(ValueError, match=r"story|scene"):
        read_script(f"{{keep: a, days: 3, scenes: {scenes}}}")
