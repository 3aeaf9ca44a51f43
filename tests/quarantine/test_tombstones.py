"""What a person rejected stays out, however it is put; what was made of it falls; a truth is not buried with a lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Clock
from truekeep import Decision, Keep
from truekeep.errors import NotAllowed

CONFIG = """
[channels.crm]
standing = "enrolled"
[channels.billing]
standing = "enrolled"
"""
LIE = "Northwind's account is 9904-71."


@pytest.fixture
def shop(home: Path, clock: Clock) -> Iterator[Keep]:
    home.mkdir()
    (home / "config.toml").write_text(CONFIG)
    with Keep.open("shop", home=home, clock=clock, policy="inform", background=False) as keep:
        yield keep


def said(keep: Keep, text: str, via: str = "user", **fields: object) -> str:
    memory_id = keep.remember(text, via=via, **fields).memory_id  # type: ignore[arg-type]
    assert memory_id
    return memory_id


def contents(keep: Keep) -> list[str]:
    return [memory["content"] for memory in keep.get_memories()]


def rejected(keep: Keep, text: str) -> None:
    item = keep.remember(text, via="web").item_id
    assert item
    keep.review.reject(item, by="eva", reason="wrong")


@pytest.mark.parametrize(
    "paraphrase",
    [
        "The account of Northwind is 9904-71",
        "northwind: account 9904-71",
        "Thanks for your order. Northwind's bank account number is 9904-71.",
        "Die Kontonummer von Northwind ist 9904-71",
    ],
)
def test_another_wording_does_not_get_a_rejected_claim_past(keep: Keep, paraphrase: str) -> None:
    rejected(keep, LIE)
    assert keep.remember(paraphrase, via="email").code == "rejected_claim_rejected"


@pytest.mark.parametrize(
    ("first", "again"),
    [("The rent is 6 euros", "The rent is six euros"), ("Nájom je 300 EUR", "Nájom je tristo eur")],
)
def test_a_number_in_words_is_the_same_number(keep: Keep, first: str, again: str) -> None:
    rejected(keep, first)
    assert keep.remember(again, via="web").code == "rejected_claim_rejected"


def test_other_values_and_other_subjects_wait_for_a_person_as_before(keep: Keep) -> None:
    rejected(keep, LIE)
    for text in (
        "Northwind's account is 1180-22.",
        "Southwind's account is 9904-71.",
        "Northwind's account is not 9904-71.",
    ):
        assert keep.remember(text, via="web").code == "hearsay_held"


def test_lifting_a_paraphrase_lifts_the_claim(keep: Keep) -> None:
    rejected(keep, LIE)
    assert keep.review.lift("The account of Northwind is 9904-71", by="eva", reason="it is theirs after all")
    assert keep.remember(LIE, via="web").code == "hearsay_held"
    assert keep.audit.verify().ok
    assert not keep.review.lift(LIE, by="eva", reason="again")


def test_a_truth_told_beside_a_lie_is_not_buried_with_it(keep: Keep) -> None:
    rejected(keep, f"Northwind is located in Nitra. {LIE}")
    assert keep.remember("Northwind is located in Nitra.", via="web").code == "hearsay_held"
    assert keep.remember(f"Northwind is located in Nitra. {LIE}", via="web").decision is Decision.REJECT


@pytest.mark.parametrize("via", ["crm", "user"])
def test_a_rejection_of_hearsay_suppresses_nobody_above_it(shop: Keep, via: str) -> None:
    said(shop, "Northwind's account is 1180-22.")
    said(shop, LIE, "web")
    (item,) = shop.review.list()
    shop.review.reject(item.id, by="eva", reason="wrong")
    assert shop.remember(LIE, via=via).accepted


@pytest.mark.parametrize("via", ["agent", "web", "crm"])
def test_nobody_but_a_person_buries_a_truth(shop: Keep, via: str) -> None:
    truth = said(shop, "Northwind's account is 1180-22.")
    if via == "agent":
        assert shop.delete_memory(truth, via=via).item_id, "an agent proposes"
    else:
        with pytest.raises(NotAllowed):
            shop.delete_memory(truth, via=via)
    shop.update_memory(truth, LIE, via=via)
    said(shop, "Northwind's account is not 1180-22.", via)
    assert "Northwind's account is 1180-22." in contents(shop)
    assert shop.get_memory(truth)["may_act"]
    assert shop._ledger.is_empty("tombstones")


def test_what_was_derived_from_a_rejected_memory_falls_and_waits(shop: Keep) -> None:
    root = said(shop, LIE, "web")
    child = said(shop, "According to the page Northwind is paid to 9904-71.", "web", parents=[root])
    said(shop, "The page about Northwind was read in March.", "web", parents=[child])
    said(shop, "The weather is fine.", "web")
    shop.delete_memory(root, via="user", reason="a scam")
    assert contents(shop) == ["The weather is fine."]
    items = [item for item in shop.review.list() if item.kind == "derived"]
    assert len(items) == 2
    assert {item.code for item in items} == {"parent_rejected"}
    assert shop.audit.verify().ok


def test_lifting_brings_back_what_fell(shop: Keep) -> None:
    root = said(shop, LIE, "web")
    child = said(shop, "The page says where Northwind is paid.", "web", parents=[root])
    before = shop.get_memory(child)
    shop.delete_memory(root, via="user")
    assert contents(shop) == []
    shop.review.lift(LIE, by="eva", reason="it was right")
    assert shop.get_memory(child)["content"] == before["content"]
    assert shop.get_memory(child)["standing"] == "hearsay"
    assert [item.state for item in shop.review.list(None) if item.kind == "derived"] == ["lifted"]
    assert shop.audit.verify().ok


def test_a_person_may_let_a_fallen_memory_stand_or_reject_it_too(shop: Keep) -> None:
    root = said(shop, LIE, "web")
    first = said(shop, "The page says where Northwind is paid.", "web", parents=[root])
    said(shop, "The page says who owns Northwind.", "web", parents=[root])
    shop.delete_memory(root, via="user")
    kept, gone = (item for item in shop.review.list() if item.kind == "derived")
    assert shop.review.approve(kept.id, by="eva", reason="harmless").memory_id == first
    shop.review.reject(gone.id, by="eva", reason="wrong as well")
    assert contents(shop) == ["The page says where Northwind is paid."]
    assert shop.remember("The page says who owns Northwind.", via="web").code == "rejected_claim_rejected"
    shop.review.lift(LIE, by="eva", reason="it was right")
    assert contents(shop) == ["The page says where Northwind is paid."], "what was decided meanwhile stays decided"


def test_what_a_person_approved_stands_without_its_parent(keep: Keep) -> None:
    root = said(keep, "The page about Northwind is in Slovak.")
    held = keep.remember("Northwind is located in Nitra.", via="web", parents=[root]).item_id
    assert held
    child = keep.review.approve(held, by="eva", reason="I was there").memory_id
    keep.delete_memory(root, via="user")
    assert [memory["id"] for memory in keep.get_memories()] == [child]


def test_parents_in_a_circle_end_the_search(shop: Keep) -> None:
    first = said(shop, "The page says one thing.", "web")
    second = said(shop, "The page says another thing.", "web", parents=[first])
    shop.update_memory(first, "The page says a third thing.", via="web", parents=[second])
    shop.delete_memory(first, via="user")
    assert contents(shop) == []
