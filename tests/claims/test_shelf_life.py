"""Short-lived until proven: what cannot act fades, what comes to act stays, and proof that is gone is gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.conftest import Clock
from truekeep import Keep, Session

CONFIG = """
[channels.crm]
standing = "enrolled"
[channels.billing]
standing = "enrolled"
"""
FACT, AGAIN = "Northwind's account is 1180-22.", "The account of Northwind is 1180-22."
CALL = {"payee": "Northwind", "amount": 300, "account": "1180-22"}


@pytest.fixture
def shop(home: Path, clock: Clock) -> Iterator[Keep]:
    home.mkdir()
    (home / "config.toml").write_text(CONFIG)
    with Keep.open("shop", home=home, clock=clock, policy="inform", background=False) as keep:
        yield keep


def said(keep: Keep, text: str, via: str, **fields: object) -> str:
    memory_id = keep.remember(text, via=via, **fields).memory_id  # type: ignore[arg-type]
    assert memory_id
    return memory_id


def contents(keep: Keep) -> list[str]:
    return [memory["content"] for memory in keep.get_memories()]


def kinds(keep: Keep) -> list[str]:
    return [event.kind for event in keep.audit.events()]


def credited(keep: Keep, session: Session, run: str, outcome: str) -> None:
    ticket = session.check_action("pay", CALL, run=run).ticket
    assert ticket
    if keep.actions.pending():
        keep.actions.confirm(ticket, via="user")
    ticket.redeem("pay", CALL)
    keep.credit(run=run, outcome=outcome, via="outcomes")


def test_hearsay_and_lone_statements_fade_and_the_owners_words_do_not(shop: Keep, clock: Clock) -> None:
    said(shop, "The office closes at five.", "web")
    said(shop, FACT, "crm")
    said(shop, "I like tea.", "user")
    entries = {memory["content"]: memory["fades_at"] for memory in shop.get_memories()}
    assert [entries[text][:10] for text in ("The office closes at five.", FACT)] == ["2026-03-31", "2026-05-30"]
    assert entries["I like tea."] is None
    clock.advance(days=31)
    assert contents(shop) == [FACT, "I like tea."]
    assert shop.recall("office closes").withheld == {"expired": 1}
    clock.advance(days=60)
    assert contents(shop) == ["I like tea."]


def test_a_statement_that_comes_to_act_graduates_and_stays(shop: Keep, clock: Clock) -> None:
    first = said(shop, FACT, "crm")
    clock.advance(days=80)
    second = said(shop, AGAIN, "billing")
    graduated = {event.body["memory"] for event in shop.audit.events(kinds=["memory.graduated"])}
    assert graduated == {first, second}
    clock.advance(days=3_650)
    assert contents(shop) == [FACT, AGAIN]
    assert all(memory["fades_at"] is None and memory["may_act"] for memory in shop.get_memories())


def test_a_graduation_is_taken_back_with_its_proof(shop: Keep, clock: Clock) -> None:
    first = said(shop, FACT, "crm")
    second = said(shop, AGAIN, "billing")
    clock.advance(days=100)
    shop.delete_memory(second, via="user")
    assert [event.body["memory"] for event in shop.audit.events(kinds=["memory.demoted"])] == [first]
    assert contents(shop) == []


def test_a_statement_that_has_faded_is_nobodys_witness(shop: Keep, clock: Clock) -> None:
    said(shop, FACT, "crm")
    clock.advance(days=91)
    said(shop, AGAIN, "billing")
    assert [memory["may_act"] for memory in shop.get_memories()] == [False]


def test_an_expired_statement_is_nobodys_witness(shop: Keep, clock: Clock) -> None:
    said(shop, FACT, "crm", expires_at=clock() + timedelta(days=7))
    said(shop, AGAIN, "billing")
    assert [memory["may_act"] for memory in shop.get_memories()] == [True, True]
    clock.advance(days=8)
    assert [memory["may_act"] for memory in shop.get_memories()] == [False]


def test_a_writers_own_date_of_expiry_stays_and_does_not_lengthen_the_shelf_life(shop: Keep, clock: Clock) -> None:
    said(shop, "The office closes at five.", "web", expires_at=clock() + timedelta(days=3_650))
    said(shop, "I am in Rome.", "user", expires_at=clock() + timedelta(days=7))
    clock.advance(days=8)
    assert contents(shop) == ["The office closes at five."]
    clock.advance(days=30)
    assert contents(shop) == []


def test_hearsay_never_lets_a_truth_expire(shop: Keep, clock: Clock) -> None:
    said(shop, FACT, "crm")
    said(shop, AGAIN, "billing")
    for number in range(20):
        said(shop, FACT, "web", principal=f"https://site{number}.example")
        said(shop, "Northwind's account is 9904-71.", "web", principal=f"https://site{number}.example")
    clock.advance(days=200)
    assert contents(shop) == [FACT, AGAIN]


def test_credit_graduates_and_bad_credit_takes_it_back(shop: Keep, clock: Clock) -> None:
    memory = said(shop, FACT, "crm")
    session = shop.session("s-1", mediated=True)
    session.observe("user", "Please pay Northwind 300 euros")
    credited(shop, session, "run-1", "good")
    assert [event.body["memory"] for event in shop.audit.events(kinds=["memory.graduated"])] == [memory]
    clock.advance(days=100)
    assert contents(shop) == [FACT]
    session.observe("user", "Please pay Northwind 300 euros again")
    credited(shop, session, "run-2", "bad")
    assert [event.body["memory"] for event in shop.audit.events(kinds=["memory.demoted"])] == [memory]
    assert contents(shop) == []


def test_credit_is_for_the_words_that_earned_it(shop: Keep) -> None:
    memory = said(shop, FACT, "crm")
    session = shop.session("s-1", mediated=True)
    session.observe("user", "Please pay Northwind 300 euros")
    credited(shop, session, "run-1", "good")
    assert shop.get_memory(memory)["may_act"]
    assert shop.update_memory(memory, "Northwind's account is 9904-71.", via="crm").accepted
    assert not shop.get_memory(memory)["may_act"], "a proven memory cannot be rewritten and keep its proof"


def test_words_changed_between_the_action_and_its_credit_earn_nothing(shop: Keep, clock: Clock) -> None:
    memory = said(shop, FACT, "crm")
    session = shop.session("s-1", mediated=True)
    session.observe("user", "Please pay Northwind 300 euros")
    ticket = session.check_action("pay", CALL, run="run-1").ticket
    assert ticket
    shop.actions.confirm(ticket, via="user")
    ticket.redeem("pay", CALL)
    clock.advance(minutes=1)
    shop.update_memory(memory, "Northwind's account is 9904-71.", via="crm")
    assert shop.credit(run="run-1", outcome="good", via="outcomes")["memories"] == []
    assert not shop.get_memory(memory)["may_act"]


def test_shelf_lives_are_settings(home: Path, clock: Clock) -> None:
    home.mkdir()
    (home / "config.toml").write_text("hearsay_shelf_days = 0\n")
    with Keep.open("shop", home=home, clock=clock, policy="inform", background=False) as keep:
        said(keep, "The office closes at five.", "web")
        clock.advance(days=3_650)
        assert contents(keep) == ["The office closes at five."]
