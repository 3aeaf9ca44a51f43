"""Revoke, rewind and undo: a source or a time is taken back with all that came of it, and that can be taken back."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from truekeep import Keep, TicketRefused
from truekeep.config import Paths, Settings
from truekeep.errors import InputError, UnknownId
from truekeep.stores.rotation import rotate_data

WHO: dict[str, Any] = {"by": "eva", "reason": "the site was taken over"}


def texts(keep: Keep) -> set[str]:
    return {memory["content"] for memory in keep.get_memories()}


@pytest.fixture
def poisoned(informed: Keep) -> Keep:
    page = informed.remember("Northwind moved to Trnava.", via="web", principal="https://a.evil.example/x").memory_id
    informed.remember("I like tea.", via="user")
    informed.remember("Rain is expected.", via="web", principal="weather.example")
    assert page
    noted = informed.remember("Northwind sits in Trnava.", via="agent", session="s-1", parents=[page]).memory_id
    assert noted
    informed.remember("Trnava is where to send the letter.", via="agent", session="s-2", parents=[noted])
    return informed


def test_a_dry_run_says_what_would_happen_and_changes_nothing(poisoned: Keep) -> None:
    before, events = texts(poisoned), len(poisoned.audit.events())
    report = poisoned.revoke(principal="www.EVIL.example", dry_run=True)
    assert report["dry_run"]
    assert len(report["memories"]) == 3
    assert texts(poisoned) == before
    assert len(poisoned.audit.events()) == events
    assert poisoned.audit.verify().ok


def test_revoking_follows_derivation_to_the_end_and_can_be_undone(poisoned: Keep) -> None:
    before = texts(poisoned)
    report = poisoned.revoke(principal="evil.example", **WHO)
    assert texts(poisoned) == {"I like tea.", "Rain is expected."}
    assert {item.kind for item in poisoned.review.list()} == {"revoked"}
    assert [hit.text for hit in poisoned.recall("Trnava")] == []
    assert poisoned.audit.verify().ok
    poisoned.undo(report["incident"], by="eva", reason="false alarm")
    assert texts(poisoned) == before
    assert poisoned.review.list() == []
    assert poisoned.recall("Trnava")
    with pytest.raises(InputError):
        poisoned.undo(report["incident"], by="eva", reason="again")
    with pytest.raises(UnknownId):
        poisoned.undo("inc_00000000000000000000", by="eva", reason="nothing")


def test_the_agents_notes_after_reading_the_source_fall_with_it(informed: Keep, clock: Clock) -> None:
    session = informed.session("s-1", mediated=True)
    session.observe("user", "I live in Nitra.")
    early = "The user has a cat."
    session.remember(early, via="agent")
    clock.advance(minutes=1)
    session.observe("web", "Northwind's account is 9904-71", principal="evil.example")
    clock.advance(minutes=1)
    session.remember("Payments to Northwind go to 9904-71.", via="agent")
    session.remember("The user lives in Nitra.", via="agent", quote="I live in Nitra")
    informed.revoke(principal="evil.example", **WHO)
    assert texts(informed) == {early, "I live in Nitra."}


@pytest.mark.parametrize("trick", ["the clock was set back", "the message claims a date to come"])
def test_what_was_noted_after_reading_falls_whatever_the_clock_or_the_sender_says(
    informed: Keep, clock: Clock, trick: str
) -> None:
    session = informed.session("s-1", mediated=True)
    claimed = clock.now + timedelta(days=900) if "claims" in trick else None
    session.observe("email", "Northwind's account is 9904-71", principal="evil.example", at=claimed)
    page = informed.remember("Northwind moved to Trnava.", via="web", principal="evil.example")
    assert page.accepted
    informed.recall("Where is Northwind?", session="s-2", background=True)
    clock.advance(days=-2 if "clock" in trick else 0)
    session.remember("Payments to Northwind go to 9904-71.", via="agent")
    informed.remember("Letters for Northwind go to Trnava.", via="agent", session="s-2")
    assert len(texts(informed)) == 3
    informed.revoke(principal="evil.example", **WHO)
    assert texts(informed) == set()


def test_what_somebody_else_states_too_stays(informed: Keep) -> None:
    informed.channels.enrol("crm", by="eva", reason="our CRM")
    page = informed.remember("Northwind's plan is Gold.", via="web", principal="evil.example").memory_id
    assert page
    informed.remember("Northwind's plan is Gold.", via="agent", session="s-1", parents=[page])
    informed.remember("The plan of Northwind is Gold.", via="crm")
    report = informed.revoke(principal="evil.example", **WHO)
    assert [one["content"] for one in report["kept"]] == ["Northwind's plan is Gold."]
    assert texts(informed) == {"Northwind's plan is Gold.", "The plan of Northwind is Gold."}


def test_witnesses_lose_what_a_revoked_system_vouched_for(informed: Keep) -> None:
    for name in ("crm", "billing"):
        informed.channels.enrol(name, by="eva", reason="ours")
    kept = informed.remember("Northwind's plan is Gold.", via="crm").memory_id
    informed.remember("The plan of Northwind is Gold.", via="billing")
    assert kept
    assert informed.get_memory(kept)["may_act"]
    report = informed.revoke(channel="billing", **WHO)
    assert report["weakened"] == [kept]
    assert not informed.get_memory(kept)["may_act"]
    informed.undo(report["incident"], by="eva", reason="false alarm")
    assert informed.get_memory(kept)["may_act"]


def test_actions_are_listed_and_those_that_wait_are_cancelled(informed: Keep) -> None:
    call = {"payee": "Northwind", "amount": 300, "account": "1180-22"}
    informed.channels.enrol("crm", by="eva", reason="ours")
    informed.remember("Northwind's account is 1180-22", via="crm")
    session = informed.session("s-1", mediated=True)
    session.observe("user", "Please pay Northwind 300 euros")
    done, waiting = (session.check_action("pay", call).ticket for _ in range(2))
    assert done
    assert waiting
    informed.actions.confirm(done, via="user")
    done.redeem("pay", call)
    informed.actions.confirm(waiting, via="user")
    report = informed.revoke(channel="crm", **WHO)
    assert [one["ticket"] for one in report["actions"]["done"]] == [str(done)]
    assert [one["ticket"] for one in report["actions"]["pending"]] == [str(waiting)]
    with pytest.raises(TicketRefused):
        waiting.redeem("pay", call)


@pytest.mark.parametrize("source", ["session", "channel", "since"])
def test_a_source_can_be_a_session_a_channel_or_a_time(informed: Keep, clock: Clock, source: str) -> None:
    informed.remember("Old and good.", via="user")
    clock.advance(days=1)
    since = clock.now
    informed.remember("New and bad.", via="file", session="s-9")
    chosen: dict[str, object] = {"session": "s-9", "channel": "file", "since": since}
    informed.revoke(**{source: chosen[source]}, **WHO)  # type: ignore[arg-type]
    assert texts(informed) == {"Old and good."}


def test_a_page_cannot_be_older_than_the_moment_in_which_it_was_read(informed: Keep, clock: Clock) -> None:
    session = informed.session("s-1", mediated=True)
    session.observe("web", "The office is in Nitra.", principal="evil.example")
    clock.advance(days=1)
    since = clock.now
    other = informed.session("s-2", mediated=True)
    long_ago = clock.now - timedelta(days=400)
    other.observe("web", "Northwind's account is 6666-66.", principal="evil.example", at=long_ago)
    other.remember("The account of Northwind is 6666-66.", via="agent")
    report = informed.revoke(principal="evil.example", since=since, **WHO)
    assert [one["content"] for one in report["memories"]] == ["The account of Northwind is 6666-66."]


@pytest.mark.parametrize("wrong", [{}, {"principal": 7}, {"since": "yesterday"}, {"session": "a b"}])
def test_nonsense_is_refused(informed: Keep, wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        informed.revoke(**wrong, **WHO)  # type: ignore[arg-type]


def test_rewinding_brings_back_what_was_and_takes_out_what_came_later(keep: Keep, clock: Clock) -> None:
    first = keep.remember("I live in Nitra.", via="user").memory_id
    second = keep.remember("I like tea.", via="user").memory_id
    assert first
    assert second
    moment = clock.now
    clock.advance(hours=1)
    keep.update_memory(second, "I like coffee.", via="user")
    keep.delete_memory(first, via="user")
    keep.remember("I own a boat.", via="user")
    plan = keep.rewind(to=moment, dry_run=True)
    assert (len(plan["removed"]), len(plan["restored"]), plan["dry_run"]) == (2, 2, True)
    assert texts(keep) == {"I like coffee.", "I own a boat."}
    done = keep.rewind(to=moment, **WHO)
    assert done["restored"] == plan["restored"], "the report says what the plan said"
    assert texts(keep) == {"I live in Nitra.", "I like tea."}
    assert keep.audit.verify().ok
    keep.undo(done["incident"], by="eva", reason="too far")
    assert texts(keep) == {"I like coffee.", "I own a boat."}
    assert keep.audit.verify().ok


def test_rewinding_goes_to_an_event_and_back_again(keep: Keep) -> None:
    keep.remember("I live in Nitra.", via="user")
    event = keep.audit.events()[-1].seq
    keep.remember("I like tea.", via="user")
    keep.rewind(to=event, **WHO)
    assert texts(keep) == {"I live in Nitra."}
    later = keep.audit.events()[-1].seq
    keep.remember("I own a boat.", via="user")
    keep.rewind(to=later, **WHO)
    assert texts(keep) == {"I live in Nitra."}


def test_rewinding_goes_past_a_rotation_of_the_keys(home: Path, clock: Clock) -> None:
    def opened() -> Keep:
        return Keep.open("alice", home=home, clock=clock, background=False)

    with opened() as keep:
        stays = keep.remember("I live in Nitra.", via="user").memory_id
        gone = keep.remember("I like tea.", via="user").memory_id
        assert stays
        assert gone
        event = keep.audit.events()[-1].seq
        keep.delete_memory(gone, via="user")
        keep.remember("I own a boat.", via="user")
    for _ in range(2):
        rotate_data(Paths.resolve(home), "alice", clock, Settings())
    with opened() as keep:
        plan = keep.rewind(to=event, **WHO)
        assert ([one["id"] for one in plan["restored"]], len(plan["removed"]), plan["lost"]) == ([gone], 1, 0)
        assert texts(keep) == {"I live in Nitra.", "I like tea."}
    rotate_data(Paths.resolve(home), "alice", clock, Settings())
    with opened() as keep:
        keep.undo(plan["incident"], **WHO)
        assert texts(keep) == {"I live in Nitra.", "I own a boat."}
        assert keep.audit.verify().ok


def test_a_memory_changed_after_a_rewind_is_a_version_of_its_own(keep: Keep) -> None:
    plot = keep.remember("Plot 17 is leased to Anna.", via="user").memory_id
    assert plot
    event = keep.audit.events()[-1].seq
    keep.update_memory(plot, "Plot 17 is leased to Boris.", via="user")
    first = keep.rewind(to=event, **WHO)["incident"]
    keep.update_memory(plot, "Plot 17 is leased to Cyril.", via="user")
    keep.undo(first, **WHO)
    assert texts(keep) == {"Plot 17 is leased to Boris."}
    keep.delete_memory(plot, via="user")
    assert keep.restore(plot, via="user", version=1).accepted
    assert texts(keep) == {"Plot 17 is leased to Anna."}
    keep.delete_memory(plot, via="user")
    assert len({entry["version"] for entry in keep.history(plot)}) == len(keep.history(plot)) == 4
    assert keep.audit.verify().ok


def test_a_rewind_survives_a_reindex_and_a_second_process(keep: Keep, home: object, clock: Clock) -> None:
    keep.remember("I live in Nitra.", via="user")
    event = keep.audit.events()[-1].seq
    keep.remember("I like tea.", via="user")
    with Keep.open("alice", home=home, clock=clock, background=False) as other:  # type: ignore[arg-type]
        other.rewind(to=event, **WHO)
    assert texts(keep) == {"I live in Nitra."}


def test_a_memory_that_was_put_back_is_still_the_one_that_was_there(poisoned: Keep) -> None:
    before = texts(poisoned)
    event = poisoned.audit.events()[-1].seq
    for _ in range(2):
        report = poisoned.revoke(principal="evil.example", **WHO)
        poisoned.undo(report["incident"], **WHO)
    plan = poisoned.rewind(to=event, dry_run=True)
    assert (plan["removed"], plan["restored"], plan["lost"]) == ([], [], 0)
    gone = poisoned.revoke(principal="evil.example", **WHO)
    poisoned.rewind(to=event, **WHO)
    assert texts(poisoned) == before
    poisoned.undo(gone["incident"], **WHO)
    assert texts(poisoned) == before
    assert poisoned.audit.verify().ok


@pytest.mark.parametrize("to", [0, -1, datetime(2020, 1, 1), "yesterday", True, None])
def test_a_moment_that_never_was_is_refused(keep: Keep, to: object) -> None:
    keep.remember("I live in Nitra.", via="user")
    with pytest.raises(InputError):
        keep.rewind(to=to, **WHO)  # type: ignore[arg-type]


def test_incidents_are_listed_with_who_and_why(poisoned: Keep, clock: Clock) -> None:
    poisoned.revoke(principal="evil.example", **WHO)
    clock.advance(minutes=5)
    poisoned.rewind(to=clock.now - timedelta(minutes=1), **WHO)
    assert [(one.kind, one.by, one.reason) for one in poisoned.incidents()] == [
        ("revoke", "eva", "the site was taken over"),
        ("rewind", "eva", "the site was taken over"),
    ]


def test_an_agents_handle_has_no_way_to_any_of_it(informed: Keep) -> None:
    agent = informed.bind("agent", session="s-1")
    for name in ("revoke", "rewind", "undo", "trace", "blame", "incidents"):
        assert not hasattr(agent, name)


def test_a_memory_that_is_brought_back_says_what_it_said_and_not_what_was_taken_back(keep: Keep) -> None:
    memory = keep.remember("My dentist is Dr. Novak.", via="user").memory_id
    assert memory
    keep.observe("s-1", "web", "A page.", principal="https://page.example")
    change = keep.update_memory(memory, "My dentist is Dr. Mallory.", via="agent", session="s-1")
    assert change.item_id
    keep.review.approve(change.item_id, by="eva", reason="looks right")
    keep.review.undo(change.item_id, by="eva", reason="it was a slip")
    keep.delete_memory(memory, via="user")
    assert keep.restore(memory, via="user").code == "restored"
    assert keep.get_memory(memory)["content"] == "My dentist is Dr. Novak."
    assert keep.restore(memory, via="user", version=2).code == "restored", "who names a version gets that one"
    assert keep.get_memory(memory)["content"] == "My dentist is Dr. Mallory."
