"""How far a source reaches: a quick look says the same as the revocation does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Clock
from truekeep import Keep
from truekeep.stores.records import memory_from

WHO: dict[str, Any] = {"by": "eva", "reason": "the site was taken over"}
PLANS = ("Gold", "Silver")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["user", "crm", "billing", "web", "agent"]),
        st.sampled_from(["Northwind", "Acorn"]),
        st.sampled_from(PLANS),
        st.booleans(),
    ),
    min_size=2,
    max_size=14,
)


def poisoned(keep: Keep) -> None:
    page = keep.remember("Northwind moved to Trnava.", via="web", principal="https://a.evil.example/x").memory_id
    keep.remember("I like tea.", via="user")
    assert page
    noted = keep.remember("Northwind sits in Trnava.", via="agent", session="s-1", parents=[page]).memory_id
    assert noted
    keep.remember("Trnava is where to send the letter.", via="agent", session="s-2", parents=[noted])
    session = keep.session("s-3", mediated=True)
    session.recall("Trnava", background=True)
    session.remember("Letters go by post.", via="agent")


def test_the_look_names_what_the_revocation_takes_out_and_changes_nothing(informed: Keep) -> None:
    poisoned(informed)
    events = len(informed.audit.events())
    look = informed.reach(principal="evil.example")
    assert len(informed.audit.events()) == events
    plan = informed.revoke(principal="evil.example", dry_run=True)
    assert [one["id"] for one in look["memories"]] == [one["id"] for one in plan["memories"]]
    assert (look["roots"], look["derived"]) == (1, 3)
    assert {one["session"] for one in look["sessions"]} == {one["session"] for one in plan["sessions"]} == {"s-3"}
    few = informed.reach(principal="evil.example", most=1)
    assert (len(few["memories"]), few["derived"]) == (1, 3)


def test_the_look_follows_what_is_taken_out_put_back_and_merged(informed: Keep) -> None:
    poisoned(informed)
    before = informed.reach(principal="evil.example")
    done = informed.revoke(principal="evil.example", **WHO)
    gone = informed.reach(principal="evil.example")
    assert (gone["roots"], gone["derived"], gone["memories"]) == (0, 0, [])
    informed.undo(done["incident"], by="eva", reason="false alarm")
    assert {one["id"] for one in informed.reach(principal="evil.example")["memories"]} == {
        one["id"] for one in before["memories"]
    }
    informed.remember("Northwind moved to Trnava.", via="web", principal="https://a.evil.example/y")
    informed.consolidate()
    look, plan = informed.reach(principal="evil.example"), informed.revoke(principal="evil.example", dry_run=True)
    assert {one["id"] for one in look["memories"]} == {one["id"] for one in plan["memories"]}


def acting(keep: Keep) -> set[str]:
    memories = [memory_from(sealed) for sealed in keep._ledger.all("memories")]
    return {memory.id for memory in memories if keep._way_out.reader.shown(memory).may_act}


@pytest.mark.slow
@settings(max_examples=12)
@given(steps=STEPS, source=st.sampled_from(["user", "crm", "billing", "web"]))
def test_whoever_ceases_to_act_is_named_without_looking_at_everybody(
    tmp_path_factory: Any, steps: list[tuple[str, str, str, bool]], source: str
) -> None:
    home: Path = tmp_path_factory.mktemp("reach")
    clock = Clock()
    with Keep.open("ines", home=home, clock=clock, policy="inform", background=False) as keep:
        for name in ("crm", "billing"):
            keep.channels.enrol(name, by="eva", reason="ours")
        for number, (via, subject, plan, derived) in enumerate(steps):
            clock.advance(hours=1)
            parents = [one["id"] for one in keep.get_memories()[-1:]] if derived and via == "agent" else []
            keep.remember(f"{subject}'s plan is {plan}.", via=via, session=f"s-{number}", parents=parents)
        before = acting(keep)
        report = keep.revoke(channel=source, **WHO)
        taken = {one["id"] for one in report["memories"]}
        assert report["weakened"] == sorted(before - taken - acting(keep))


def test_an_incident_is_told_again_with_who_saw_it_and_stays_told_after_it_is_undone(informed: Keep) -> None:
    poisoned(informed)
    report = informed.revoke(principal="evil.example", **WHO)
    told = informed.account(report["incident"])
    assert {one["id"] for one in told["memories"]} == {one["id"] for one in report["memories"]}
    assert {one["content"] for one in told["memories"]} == {one["content"] for one in report["memories"]}
    assert told["sessions"] == report["sessions"]
    assert told["review_items"]
    informed.undo(report["incident"], by="marek", reason="false alarm")
    again = informed.account(report["incident"])
    assert again["undone_by"] == "marek"
    assert {one["content"] for one in again["memories"]} == {one["content"] for one in report["memories"]}
    assert "evil.example" in again.text()
    for word in ("<script", "onerror"):
        assert word not in again.html()


def test_what_every_session_saw_is_traced_once_and_told_as_far_as_asked(informed: Keep) -> None:
    page = informed.remember("Tea is served at four.", via="web", principal="tea.example").memory_id
    assert page
    for number in range(12):
        session = informed.session(f"s-{number}", mediated=True)
        session.recall("tea", k=50, background=True)
        for cup in range(3):
            session.remember(f"Tea cup {number} {cup} is blue.", via="agent")
    whole = informed.trace(page)
    assert (len(whole["children"]), whole["counts"]["children"]) == (36, 36)
    part = informed.trace(page, most=5)
    assert part["children"] == whole["children"][:5]
    assert part["counts"] == whole["counts"]
    opened: dict[str, Any] = {}
    lineage = informed._upkeep.incident._tracer._kin.lineage()
    assert lineage._noted(lineage.seen[page], opened)
    assert lineage._noted(lineage.seen[page], opened) == []
