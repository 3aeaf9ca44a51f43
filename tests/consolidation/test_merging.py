"""What is merged, what is left alone, and what stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from tests.consolidation.conftest import AGAIN, FACT, WHO, Put, acting, by_id, kinds, recalled, texts
from truekeep import Keep
from truekeep.errors import InputError

LATER = timedelta(days=30)


def test_copies_of_one_claim_become_one_memory_with_all_of_them_as_its_parents(shop: Keep, put: Put) -> None:
    originals = [put(FACT), put(AGAIN), put("Northwind's account is 1180-22!")]
    put("Eva likes tea.")
    before = acting(shop), recalled(shop)
    report = shop.consolidate(**WHO)
    (group,) = report["groups"]
    assert [one["id"] for one in group["originals"]] == originals
    stored = shop.get_memory(group["id"])
    assert stored["origin"]["parents"] == originals
    assert (stored["standing"], stored["may_act"]) == ("owner", True)
    assert texts(shop) == ["Eva likes tea.", AGAIN]
    assert (acting(shop), recalled(shop)) == before
    assert shop.audit.verify().ok


def test_the_text_is_one_of_theirs_the_one_with_the_most_different_words(shop: Keep, put: Put) -> None:
    said = ["I like tea.", "I like the tea!", "i like TEA"]
    for text in said:
        put(text)
    (group,) = shop.consolidate(**WHO)["groups"]
    assert group["content"] == "I like the tea!"


def test_a_dry_run_lists_the_groups_and_changes_nothing(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    before, events = by_id(shop), len(shop.audit.events())
    plan = shop.consolidate(dry_run=True)
    assert (plan["incident"], len(plan["groups"]), plan["groups"][0]["id"]) == (None, 1, None)
    assert "What consolidating would do" in plan.text()
    assert (by_id(shop), len(shop.audit.events())) == (before, events)
    assert shop.incidents() == []
    assert shop.audit.verify().ok


def test_a_second_run_finds_nothing_and_leaves_no_trace(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    shop.consolidate(**WHO)
    events = len(shop.audit.events())
    assert shop.consolidate(**WHO)["groups"] == []
    assert (len(shop.audit.events()), len(shop.incidents())) == (events, 1)


def test_what_is_said_again_later_joins_what_was_merged_before(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    shop.consolidate(**WHO)
    put(FACT)
    report = shop.consolidate(**WHO)
    assert len(report["groups"]) == 1
    assert texts(shop) == [AGAIN]
    shop.undo(report["incident"], **WHO)
    assert texts(shop) == [FACT, AGAIN]


@pytest.mark.parametrize(
    "other",
    [
        "Northwind's account is 1180-23.",
        "Northwind's account is not 1180-22.",
        "Southwind's account is 1180-22.",
        "Northwind's phone is 1180-22.",
        "Northwind's account was 1180-22.",
        "Northwind's account is 1180-22 since May 2024.",
        "Northwind's account is 1180-22 and Eva's account is 1180-22.",
    ],
)
def test_another_value_denial_subject_attribute_or_time_is_another_claim(shop: Keep, put: Put, other: str) -> None:
    put(FACT)
    put(other)
    before = by_id(shop)
    assert shop.consolidate(**WHO)["groups"] == []
    assert by_id(shop) == before


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("The balance of Eva is 500.", "The balance of Eva is -500."),
        ("Eva owes Tom 5 €.", "Eva owes Tom $5."),
        ("Anna owes Ben 5 euros.", "Ben owes Anna 5 euros."),
        ("Eva likes tea.", "Does Eva like tea?"),
        ("Northwind's account is 1180-22.", "Northwind's account is 1180-22?"),
        ("Eva's cat is in the house.", "Eva's cat is on the house."),
        ("Eva likes tea.", "Eva did like tea."),
        ("His account is 1180-22.", "His account is 1180-22."),
    ],
)
def test_what_only_looks_alike_stays_apart(shop: Keep, put: Put, one: str, two: str) -> None:
    put(one)
    put(two)
    assert shop.consolidate(**WHO)["groups"] == []


def test_tomorrow_is_another_day_each_day(shop: Keep, put: Put, clock: Clock) -> None:
    put("The audit of Northwind is tomorrow.")
    clock.advance(days=1)
    put("The audit of Northwind is tomorrow.")
    assert shop.consolidate(**WHO)["groups"] == []
    put("The audit of Northwind is tomorrow.")
    assert len(shop.consolidate(**WHO)["groups"]) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"via": "crm"},
        {"via": "web", "principal": "shop.example"},
        {"expires_at": "later"},
        {"kind": "episodic"},
        {"metadata": {"ticket": 7}},
    ],
)
def test_only_equals_in_standing_channel_end_and_labels_are_merged(
    shop: Keep, put: Put, clock: Clock, fields: dict[str, Any]
) -> None:
    if "expires_at" in fields:
        fields = {"expires_at": clock() + LATER}
    put(FACT)
    put(AGAIN, **fields)
    before = by_id(shop)
    assert shop.consolidate(**WHO)["groups"] == []
    assert by_id(shop) == before


def test_topics_and_entities_of_all_are_kept(shop: Keep, put: Put) -> None:
    put(FACT, topics=["payments"], entities=["Northwind"])
    put(AGAIN, topics=["suppliers", "payments"])
    (group,) = shop.consolidate(**WHO)["groups"]
    stored = shop.get_memory(group["id"])
    assert (stored["topics"], stored["entities"]) == (["payments", "suppliers"], ["Northwind"])


def test_it_holds_since_the_earliest_and_is_as_new_as_the_newest(shop: Keep, put: Put, clock: Clock) -> None:
    put(FACT)
    early = clock()
    clock.advance(days=10)
    newest = put(AGAIN)
    as_of = shop.get_memory(newest)["as_of"]
    (group,) = shop.consolidate(**WHO)["groups"]
    stored = shop.get_memory(group["id"])
    assert (stored["as_of"], stored["valid_from"][:16]) == (as_of, early.isoformat()[:16])
    assert [hit.text for hit in shop.recall("Northwind account", as_of=early + timedelta(days=1))] == [AGAIN]
    assert [memory["content"] for memory in shop.get_memories(as_of=early + timedelta(days=1))] == [AGAIN]


def test_an_end_that_they_have_in_common_stays_and_what_has_expired_is_left_alone(
    shop: Keep, put: Put, clock: Clock
) -> None:
    end = clock() + timedelta(days=1)
    put(FACT, expires_at=end)
    put(AGAIN, expires_at=end)
    (group,) = shop.consolidate(**WHO)["groups"]
    assert shop.get_memory(group["id"])["expires_at"][:19] == end.isoformat()[:19]
    put("Eva likes tea.", expires_at=end)
    put("Eva likes the tea.", expires_at=end)
    clock.advance(days=2)
    assert shop.consolidate(**WHO)["groups"] == []


def test_two_systems_that_agree_stay_two_witnesses(shop: Keep, put: Put) -> None:
    put(FACT, "crm")
    put(AGAIN, "crm")
    put(FACT, "billing")
    put(AGAIN, "billing")
    before = acting(shop)
    assert before
    assert len(shop.consolidate(**WHO)["groups"]) == 2
    assert acting(shop) == before
    assert len(texts(shop)) == 2


def test_one_system_that_repeats_itself_is_still_one_witness(shop: Keep, put: Put) -> None:
    for text in (FACT, AGAIN, FACT):
        put(text, "crm")
    shop.consolidate(**WHO)
    assert (len(texts(shop)), acting(shop)) == (1, set())


def test_a_fact_whose_proof_needs_two_of_the_copies_is_left_as_it_is(home: Path, clock: Clock) -> None:
    """The first copy met the other system's word before that faded; the second came long after."""
    home.mkdir()
    config = (
        'enrolled_shelf_days = 30\n[channels.crm]\nstanding = "enrolled"\n[channels.billing]\nstanding = "enrolled"\n'
    )
    (home / "config.toml").write_text(config)
    with Keep.open("shop", home=home, clock=clock, background=False) as keep:
        keep.remember(FACT, via="crm")
        clock.advance(days=1)
        keep.remember(FACT, via="billing")
        clock.advance(days=300)
        keep.remember(AGAIN, via="crm")
        before = by_id(keep)
        report = keep.consolidate(**WHO)
        assert (report["groups"], report["left"]) == ([], {"would_change_who_acts": 1})
        assert by_id(keep) == before
        assert keep.audit.verify().ok


def test_what_one_group_may_not_do_keeps_no_other_from_being_merged(home: Path, clock: Clock) -> None:
    home.mkdir()
    config = (
        'enrolled_shelf_days = 30\n[channels.crm]\nstanding = "enrolled"\n[channels.billing]\nstanding = "enrolled"\n'
    )
    (home / "config.toml").write_text(config)
    with Keep.open("shop", home=home, clock=clock, background=False) as keep:
        keep.remember("Eva likes tea.", via="user")
        keep.remember("Eva likes the tea.", via="user")
        keep.remember(FACT, via="crm")
        keep.remember(FACT, via="billing")
        clock.advance(days=300)
        keep.remember(AGAIN, via="crm")
        report = keep.consolidate(**WHO)
        assert (len(report["groups"]), report["left"]) == (1, {"would_change_who_acts": 1})
        assert (len(keep.get_memories()), keep.audit.verify().ok) == (4, True)


def test_a_fact_that_replaced_another_is_merged_and_still_replaces_it(shop: Keep, put: Put, clock: Clock) -> None:
    put("Eva lives in Paris.")
    clock.advance(days=1)
    put("Eva lives in Berlin.")
    put("Eva lives in Berlin!")
    before = acting(shop)
    assert len(shop.consolidate(**WHO)["groups"]) == 1
    assert acting(shop) == before
    assert len(texts(shop)) == 1


def test_copies_with_something_else_said_between_them_stay_apart(shop: Keep, put: Put, clock: Clock) -> None:
    put("Eva lives in Berlin.")
    clock.advance(days=1)
    put("Eva lives in Paris.", "crm")
    clock.advance(days=1)
    put("Eva lives in Berlin!")
    before = by_id(shop)
    assert shop.consolidate(**WHO)["groups"] == []
    assert by_id(shop) == before


def test_what_a_tool_call_used_and_an_outcome_proved_stays_as_it_is(shop: Keep, put: Put) -> None:
    session = shop.session("s-1", mediated=True)
    session.observe("user", "Please pay Northwind 300 euros.")
    put(FACT)
    put(AGAIN)
    call = {"payee": "Northwind", "amount": 300, "account": "1180-22"}
    assert session.check_action("pay", call, run="run-1").decision == "allow"
    used = {name for name in by_id(shop) if any(one["kind"] == "action" for one in shop.exposures(name))}
    assert used
    put(f"{FACT}!")
    put(f"{AGAIN}!")
    (group,) = shop.consolidate(**WHO)["groups"]
    assert used.isdisjoint(one["id"] for one in group["originals"])
    assert used < set(by_id(shop))


def test_what_was_derived_and_what_something_was_derived_from_stay_as_they_are(shop: Keep, put: Put) -> None:
    first = put(FACT, "crm")
    put(AGAIN, "crm")
    put("Northwind is paid to 1180-22.", "billing", parents=[first])
    put("Northwind is paid to 1180-22!", "billing", parents=[first])
    assert shop.consolidate(**WHO)["groups"] == []


def test_what_a_person_is_asked_about_or_approved_stays_as_it_is(shop: Keep, put: Put) -> None:
    first = put(FACT)
    put(AGAIN)
    shop.delete_memory(first, via="agent", reason="old")
    assert shop.consolidate(**WHO)["groups"] == []
    (item,) = shop.review.list()
    shop.review.reject(item.id, by="eva", reason="it is right")
    assert len(shop.consolidate(**WHO)["groups"]) == 1


def test_who_merged_what_is_in_the_audit_log(shop: Keep, put: Put) -> None:
    first = put(FACT)
    put(AGAIN)
    report = shop.consolidate(**WHO)
    assert (kinds(shop)["memory.merged"], kinds(shop)["incident.consolidated"]) == (1, 1)
    assert [(one.id, one.kind, one.by, one.reason) for one in shop.incidents()] == [
        (report["incident"], "consolidate", "eva", "tidying up")
    ]
    trace = shop.trace(first)
    assert trace["state"] == "merged"
    assert "memory.merged" in [decision["kind"] for decision in trace["decisions"]]
    assert [parent["content"] for parent in shop.trace(report["groups"][0]["id"])["parents"]] == [FACT, AGAIN]


def test_progress_is_told(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    told: list[tuple[int, int]] = []
    shop.consolidate(progress=lambda done, total: told.append((done, total)), **WHO)
    assert told == [(1, 1)]


@pytest.mark.parametrize(
    "bad", [{"by": "", "reason": "x"}, {"by": "eva", "reason": ""}, {"by": "eva\n", "reason": "x"}]
)
def test_a_consolidation_needs_a_name_and_a_reason(shop: Keep, bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        shop.consolidate(**bad)


@pytest.fixture
def office(home: Path, clock: Clock) -> Iterator[Keep]:
    with Keep.open("office", home=home, clock=clock, policy="inform", background=False) as keep:
        for name in ("member:eva", "member:jan", "member:tom"):
            keep.channels.enrol(name, by="operator", reason="works here")
        yield keep


def test_members_words_are_merged_only_with_their_own_and_count_as_before(office: Keep, clock: Clock) -> None:
    for member in ("eva", "jan"):
        for text in (FACT, AGAIN):
            clock.advance(minutes=1)
            office.remember(text, via=f"member:{member}")
    sessions = {name: office.session(f"of-{name}", member=name) for name in ("eva", "jan", "tom")}

    def seen() -> dict[str, set[tuple[str, bool]]]:
        return {
            name: {(str(one["origin"]["principal"]), one["may_act"]) for one in session.get_memories()}
            for name, session in sessions.items()
        }

    before = seen()
    assert all(acts for _, acts in before["tom"])
    assert len(office.consolidate(**WHO)["groups"]) == 2
    assert seen() == before
    assert len(office.get_memories()) == 2
