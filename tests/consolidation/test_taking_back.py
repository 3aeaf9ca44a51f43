"""Undoing a consolidation, and taking back a source whose words were merged with others'."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.consolidation.conftest import AGAIN, FACT, WHO, Put, acting, by_id, recalled, texts
from truekeep import Keep
from truekeep.errors import InputError


def test_undoing_restores_exactly_what_was_there(shop: Keep, put: Put) -> None:
    for via in ("user", "crm", "billing"):
        put(FACT, via, topics=["payments"], session="s-1")
        put(AGAIN, via, session="s-2")
    for name in ("one", "two", "three"):
        put(AGAIN, "web", principal=f"{name}.example")
    before = by_id(shop), acting(shop), recalled(shop)
    report = shop.consolidate(**WHO)
    assert len(report["groups"]) == 4
    assert len(by_id(shop)) == 4
    shop.undo(report["incident"], **WHO)
    assert (by_id(shop), acting(shop), recalled(shop)) == before
    assert shop.audit.verify().ok
    with pytest.raises(InputError) as refused:
        shop.undo(report["incident"], **WHO)
    assert refused.value.code == "already_undone"


def test_a_rewind_goes_behind_a_consolidation_and_back(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    before, event = by_id(shop), shop.audit.events()[-1].seq
    shop.consolidate(**WHO)
    after = by_id(shop)
    rewound = shop.rewind(event, **WHO)
    assert by_id(shop) == before
    shop.undo(rewound["incident"], **WHO)
    assert by_id(shop) == after


def test_merges_of_merges_are_undone_from_the_last(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    first = shop.consolidate(**WHO)["incident"]
    put(FACT)
    second = shop.consolidate(**WHO)["incident"]
    with pytest.raises(InputError) as refused:
        shop.undo(first, **WHO)
    assert refused.value.code == "changed_since"
    shop.undo(second, **WHO)
    shop.undo(first, **WHO)
    assert texts(shop) == sorted([FACT, AGAIN, FACT])


def test_what_was_corrected_since_is_not_undone(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    put("Eva likes tea.")
    put("Eva likes the tea.")
    report = shop.consolidate(**WHO)
    account = next(group["id"] for group in report["groups"] if "1180-22" in group["content"])
    assert shop.update_memory(account, "Northwind's account is 1180-40.", via="user").accepted
    undone = shop.undo(report["incident"], **WHO)
    assert (len(undone.removed), len(undone.restored)) == (2, 1)
    assert texts(shop) == ["Eva likes tea.", "Eva likes the tea.", "Northwind's account is 1180-40."]


def test_revoking_one_of_the_sources_takes_only_its_words(shop: Keep, put: Put) -> None:
    evil = put(FACT, "web", principal="evil.example")
    good = put(AGAIN, "web", principal="shop.example")
    merged = shop.consolidate(**WHO)["groups"][0]["id"]
    plan = shop.revoke(principal="evil.example", dry_run=True)
    assert (plan["taken_apart"], [one["id"] for one in plan["memories"]]) == ([merged], [evil])
    assert list(by_id(shop)) == [merged]
    done = shop.revoke(principal="evil.example", **WHO)
    assert list(by_id(shop)) == [good]
    shop.undo(done["incident"], **WHO)
    assert set(by_id(shop)) == {evil, good}
    assert shop.audit.verify().ok


def test_revoking_a_session_leaves_what_the_owner_said_in_another(shop: Keep, put: Put) -> None:
    put(FACT, session="s-1")
    put(AGAIN, session="s-2")
    shop.consolidate(**WHO)
    shop.revoke(session="s-1", **WHO)
    assert texts(shop) == [AGAIN]
    assert acting(shop)


def test_revoking_the_source_of_all_takes_the_merged_memory_and_says_who_saw_the_originals(
    shop: Keep, put: Put
) -> None:
    put(FACT, "web", principal="evil.example")
    put(AGAIN, "web", principal="evil.example")
    assert shop.session("s-9").recall("Northwind", background=True)
    merged = shop.consolidate(**WHO)["groups"][0]["id"]
    report = shop.revoke(principal="evil.example", **WHO)
    assert (report["taken_apart"], [one["id"] for one in report["memories"]]) == ([], [merged])
    assert [one["session"] for one in report["sessions"]] == ["s-9"]
    assert texts(shop) == []
    shop.undo(report["incident"], **WHO)
    assert list(by_id(shop)) == [merged]


def test_a_note_made_after_reading_an_original_falls_with_its_source(shop: Keep, put: Put, clock: Clock) -> None:
    put(FACT, "web", principal="evil.example")
    put(AGAIN, "web", principal="shop.example")
    session = shop.session("s-1", mediated=True)
    assert len(session.recall("Northwind", background=True)) == 2
    clock.advance(minutes=1)
    session.remember("Letters to Northwind mention 1180-22.", via="agent")
    shop.consolidate(**WHO)
    shop.revoke(principal="evil.example", **WHO)
    assert texts(shop) == [AGAIN]


def test_revoking_reaches_through_merges_of_merges(shop: Keep, put: Put) -> None:
    put(FACT, "web", principal="evil.example")
    kept = put(AGAIN, "web", principal="shop.example")
    shop.consolidate(**WHO)
    put(FACT, "web", principal="evil.example")
    shop.consolidate(**WHO)
    assert len(by_id(shop)) == 1
    shop.revoke(principal="evil.example", **WHO)
    assert list(by_id(shop)) == [kept]


def test_erasing_a_merged_memory_erases_what_it_was_merged_from(shop: Keep, put: Put, home: Path) -> None:
    put(FACT)
    put(AGAIN)
    shop.consolidate(**WHO)
    put(FACT)
    merged = shop.consolidate(**WHO)["groups"][0]["id"]
    shop.erase([merged], **WHO)
    assert texts(shop) == []
    assert shop._ledger.all("history") == []
    assert shop.audit.verify().ok
