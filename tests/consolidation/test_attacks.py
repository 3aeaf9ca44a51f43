"""Somebody plants near-copies and waits for the tidying up: nothing comes to act by it, and nothing stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.consolidation.conftest import AGAIN, FACT, WHO, Put, acting, by_id, recalled, texts
from truekeep import Keep

pytestmark = pytest.mark.slow

FLIP = "Northwind's account is 1180-23."
CALL = {"payee": "Northwind", "amount": 300, "account": "1180-22"}
POISON = {**CALL, "account": "1180-23"}


def decides(keep: Keep, name: str, call: dict[str, object]) -> str:
    session = keep.session(name, mediated=True)
    session.observe("user", "Please pay Northwind 300 euros.")
    return str(session.check_action("pay", call).decision)


def wordings(claim: str, count: int) -> list[str]:
    return [f"{claim.removesuffix('.')}{'.!'[number % 2] * (number % 5)}" for number in range(count)]


@pytest.mark.parametrize("count", [3, 30, 300])
def test_near_copies_from_made_up_sources_never_become_proof(shop: Keep, count: int) -> None:
    entries = [
        {"text": text, "principal": f"https://www.made-up-{number}.example/"}
        for number, text in enumerate(wordings(FACT, count))
    ]
    shop.remember_many(entries, via="web")
    shop.consolidate(**WHO)
    (left, *more) = [memory for memory in shop.get_memories() if "1180-22" in memory["content"]]
    assert len(more) <= count // 256
    assert (left["standing"], left["may_act"]) == ("hearsay", False)
    assert (acting(shop), recalled(shop)) == (set(), set())
    assert decides(shop, "s-1", CALL) == "confirm"
    shop.remember(FACT, via="crm")
    assert acting(shop) == set()


@pytest.mark.parametrize("count", [3, 30, 300])
def test_a_numeric_flip_and_its_copies_never_displace_or_join_the_truth(shop: Keep, put: Put, count: int) -> None:
    put(FACT)
    put(AGAIN)
    shop.remember_many([{"text": text, "principal": "evil.example"} for text in wordings(FLIP, count)], via="web")
    before = acting(shop), recalled(shop)
    shop.consolidate(**WHO)
    shop.consolidate(**WHO)
    assert (acting(shop), recalled(shop)) == before
    true = [memory for memory in shop.get_memories() if "1180-22" in memory["content"]]
    assert all(memory["may_act"] and memory["standing"] == "owner" for memory in true)
    assert {memory["standing"] for memory in shop.get_memories() if "1180-23" in memory["content"]} == {"hearsay"}
    assert len(texts(shop)) <= 5
    assert (decides(shop, "s-1", CALL), decides(shop, "s-2", POISON)) == ("allow", "confirm")


def test_hearsay_is_not_laundered_by_merging_with_the_owners_word(shop: Keep, put: Put) -> None:
    own = put(FACT)
    echo = put(AGAIN, "web", principal="evil.example")
    before = by_id(shop)
    assert shop.consolidate(**WHO)["groups"] == []
    assert by_id(shop) == before
    assert (before[own]["may_act"], before[echo]["may_act"]) == (True, False)


def test_the_owners_memory_outlives_a_source_that_copied_it(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    for _ in range(3):
        put(AGAIN, "web", principal="evil.example")
    shop.consolidate(**WHO)
    shop.revoke(principal="evil.example", **WHO)
    assert [(memory["content"], memory["standing"]) for memory in shop.get_memories()] == [(AGAIN, "owner")]


def test_the_agents_copies_stay_the_agents(shop: Keep, put: Put) -> None:
    session = shop.session("s-1", mediated=True)
    session.observe("user", "Please note down what you know.")
    for text in (FACT, AGAIN):
        put(text, "agent", session="s-1")
    put(FACT, "crm")
    shop.consolidate(**WHO)
    assert {memory["origin"]["channel"] for memory in shop.get_memories()} == {"agent", "crm"}
    assert acting(shop) == set()


def test_an_echo_of_hearsay_does_not_become_a_witness_by_being_merged(shop: Keep, put: Put) -> None:
    put(FACT, "web", principal="evil.example")
    for system in ("crm", "billing"):
        put(FACT, system)
        put(AGAIN, system)
    shop.consolidate(**WHO)
    assert acting(shop) == set()


def test_what_is_derived_from_a_merged_memory_does_not_vouch_for_it_after_an_undo(shop: Keep, put: Put) -> None:
    put(FACT, "crm")
    put(AGAIN, "crm")
    report = shop.consolidate(**WHO)
    put(FACT, "billing", parents=[report["groups"][0]["id"]])
    assert acting(shop) == set()
    shop.undo(report["incident"], **WHO)
    assert acting(shop) == set()


def test_a_quarantined_copy_is_neither_merged_nor_let_in(home: Path, clock: Clock) -> None:
    with Keep.open("strict", home=home, clock=clock, background=False) as keep:
        keep.remember(FACT, via="user")
        keep.remember(AGAIN, via="user")
        held = keep.remember(AGAIN, via="web", principal="evil.example")
        assert held.item_id
        keep.consolidate(**WHO)
        assert [item.id for item in keep.review.list()] == [held.item_id]
        assert [memory["standing"] for memory in keep.get_memories()] == ["owner"]


def test_a_revoked_copy_does_not_come_back_by_merging_or_by_undoing_the_merge(shop: Keep, put: Put) -> None:
    put(FACT, "web", principal="evil.example")
    put(AGAIN, "web", principal="shop.example")
    merged = shop.consolidate(**WHO)["incident"]
    shop.revoke(principal="evil.example", **WHO)
    assert texts(shop) == [AGAIN]
    assert shop.consolidate(**WHO)["groups"] == []
    with pytest.raises(Exception, match="since"):
        shop.undo(merged, **WHO)
    assert texts(shop) == [AGAIN]


def test_what_was_forgotten_is_not_kept_alive_by_its_copies(shop: Keep, put: Put) -> None:
    own = put(FACT)
    for name in ("one", "two"):
        put(AGAIN, "web", principal=f"{name}.example")
    shop.delete_memory(own, via="user")
    before = by_id(shop)
    assert shop.consolidate(**WHO)["left"] == {"not_let_in": 1}
    assert by_id(shop) == before


def test_a_merged_memory_that_was_deleted_stays_deleted(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    report = shop.consolidate(**WHO)
    shop.delete_memory(report["groups"][0]["id"], via="user")
    assert texts(shop) == []
    with pytest.raises(Exception, match="since"):
        shop.undo(report["incident"], **WHO)
    assert not shop.remember(FACT, via="crm").accepted
    assert texts(shop) == []


def test_an_altered_row_is_not_merged(shop: Keep, put: Put, home: Path) -> None:
    from tests.conftest import intruder

    put(FACT)
    altered = put(AGAIN)
    with intruder(home, "shop") as connection, connection:
        connection.execute("UPDATE memories SET body = replace(body, '1180-22', '1180-29') WHERE id = ?", (altered,))
    assert shop.consolidate(**WHO)["groups"] == []


def test_a_merged_memory_does_not_change_a_session_s_snapshot(shop: Keep, put: Put) -> None:
    put(FACT)
    put(AGAIN)
    before = shop.snapshot("s-1")
    shop.consolidate(**WHO)
    after = shop.snapshot("s-1")
    assert (after.text, after.digest, after.stale) == (before.text, before.digest, False)
