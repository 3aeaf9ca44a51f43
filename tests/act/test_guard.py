"""Guarded tools run only with a ticket, once, and only for the call that was judged."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

from truekeep import ActionRefused, ConfirmationNeeded, Keep, Session, TicketRefused, guard
from truekeep.errors import InvalidRequest


class Bank:
    """A bank that writes down what it was told to do."""

    def __init__(self) -> None:
        self.paid: list[tuple[str, int, str]] = []

    def pay(self, payee: str, amount: int, account: str = "1180-22") -> str:
        """Pay somebody."""
        self.paid.append((payee, amount, account))
        return "paid"

    async def transfer(self, payee: str, amount: int) -> str:
        """Transfer money."""
        await asyncio.sleep(0)
        self.paid.append((payee, amount, "async"))
        return "transferred"

    def send_all(self, *to: str, **options: Any) -> str:
        """Send something to several people."""
        self.paid.append(("sent", len(to), str(options)))
        return "sent"


@pytest.fixture
def bank() -> Bank:
    return Bank()


def test_a_guarded_tool_runs_what_the_owner_asked_for(session: Session, bank: Bank) -> None:
    session.observe("user", "Please pay Northwind 300 euros to account 1180-22")
    pay = guard(bank.pay, session=session)
    assert pay("Northwind", amount=300, account="1180-22") == "paid"
    assert pay.__doc__ == "Pay somebody."
    with pytest.raises(ConfirmationNeeded):
        pay("Northwind", amount=300, account="1180-22")
    assert bank.paid == [("Northwind", 300, "1180-22")]


def test_a_denied_call_never_reaches_the_tool(session: Session, bank: Bank) -> None:
    session.observe("user", "What is the weather like?")
    session.observe("web", "Northwind's account is 9904-71", principal="evil.example")
    with pytest.raises(ActionRefused) as refused:
        guard(bank.pay, session=session)("Northwind", 300, "9904-71")
    assert (refused.value.code, refused.value.answer.code) == ("action_denied", "hearsay_target")
    assert "9904-71" not in str(refused.value)
    assert bank.paid == []


def test_a_confirmed_call_runs_with_its_ticket(shop: Keep, session: Session, bank: Bank) -> None:
    session.observe("web", "The weather is fine.", principal="https://news.example")
    pay = guard(bank.pay, session=shop.bind("agent", session="s-1"))
    with pytest.raises(ConfirmationNeeded) as asked:
        pay("Northwind", 300)
    ticket = asked.value.answer.ticket
    with pytest.raises(TicketRefused):
        pay("Northwind", 300, ticket=ticket)
    shop.bind("user", session="s-1").confirm(ticket)
    with pytest.raises(TicketRefused):
        pay("Mallory", 300, ticket=ticket)
    assert pay("Northwind", 300, ticket=str(ticket)) == "paid"
    with pytest.raises(TicketRefused):
        pay("Northwind", 300, ticket=ticket)
    assert len(bank.paid) == 1


def test_without_a_session_a_tool_asks_for_the_ticket_of_a_check(session: Session, bank: Bank) -> None:
    session.observe("user", "Please pay Northwind 300 euros")
    pay = guard(bank.pay)
    with pytest.raises(TicketRefused) as refused:
        pay(payee="Northwind", amount=300)
    assert refused.value.code == "no_ticket"
    with pytest.raises(TicketRefused):
        pay(payee="Northwind", amount=300, ticket="tkt_00000000000000000000")
    answer = session.check_action("pay", {"payee": "Northwind", "amount": 300})
    assert pay(payee="Northwind", amount=300, ticket=answer.ticket) == "paid"


def test_coroutine_functions_are_guarded_too(session: Session, bank: Bank) -> None:
    session.observe("user", "Please transfer 300 euros to Northwind")
    transfer = guard(bank.transfer, session=session)

    async def run() -> str:
        first = await transfer(payee="Northwind", amount=300)
        with pytest.raises(ConfirmationNeeded):
            await transfer(payee="Northwind", amount=300)
        return first

    assert asyncio.run(run()) == "transferred"
    assert len(bank.paid) == 1


def test_a_callable_object_with_an_async_call_is_guarded(session: Session) -> None:
    class Refund:
        async def __call__(self, amount: int) -> int:
            return amount

    session.observe("user", "Refund 30 euros")
    assert asyncio.run(guard(Refund(), session=session, name="refund")(amount=30)) == 30


def test_positional_and_extra_arguments_are_judged_by_name(session: Session, bank: Bank) -> None:
    session.observe("web", "The weather is fine.", principal="https://news.example")
    session.observe("user", "Please send it to eva@example.com")
    with pytest.raises(ConfirmationNeeded) as refused:
        guard(bank.send_all, session=session, name="send")("eva@example.com", "mallory@evil.example", bcc="x@y.example")
    assert {traced.path for traced in refused.value.answer.traced} == {"to[0]", "to[1]", "bcc"}
    assert bank.paid == []


def test_a_tool_that_fails_has_used_its_ticket_up(session: Session) -> None:
    calls = []

    def pay(payee: str, amount: int) -> None:
        calls.append(payee)
        raise RuntimeError("the bank is down")

    session.observe("user", "Please pay Northwind 300 euros")
    answer = session.check_action("pay", {"payee": "Northwind", "amount": 300})
    with pytest.raises(RuntimeError):
        guard(pay)(payee="Northwind", amount=300, ticket=answer.ticket)
    with pytest.raises(TicketRefused):
        guard(pay)(payee="Northwind", amount=300, ticket=answer.ticket)
    assert calls == ["Northwind"]


def test_a_tool_that_takes_a_ticket_of_its_own_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        guard(lambda ticket: ticket)


def test_bad_arguments_are_the_tools_own_error(session: Session, bank: Bank) -> None:
    with pytest.raises(TypeError):
        guard(bank.pay, session=session)(nobody="knows")
    assert bank.paid == []


def test_an_argument_cannot_be_given_twice_so_that_one_is_judged_and_the_other_used(session: Session) -> None:
    def delete(path: str, /, **options: Any) -> str:
        return path

    session.observe("user", "Delete draft")
    guarded = guard(delete, session=session)
    assert guarded("draft") == "draft"
    session.observe("user", "Delete draft")
    with pytest.raises(InvalidRequest) as refused:
        guarded("everything", path="draft")
    assert refused.value.code == "argument_twice"


def test_a_partial_a_method_and_a_tool_object_are_judged_under_their_real_name(session: Session, bank: Bank) -> None:
    class PayTool:
        name = "pay"

        def __call__(self, payee: str, amount: int) -> str:
            return bank.pay(payee, amount)

    session.observe("web", "The weather is fine.", principal="https://news.example")
    for tool in (functools.partial(bank.pay, account="1180-22"), bank.pay, PayTool()):
        with pytest.raises(ConfirmationNeeded) as asked:
            guard(tool, session=session)("Northwind", 300)
        assert "'pay'" in str(asked.value)
    with pytest.raises(InvalidRequest) as refused:
        guard(lambda payee: payee, session=session)
    assert refused.value.code == "tool_without_name"
    assert bank.paid == []


def test_a_ticket_is_no_good_in_another_session(shop: Keep, session: Session, bank: Bank) -> None:
    session.observe("user", "Please pay Northwind 300 euros")
    ticket = session.check_action("pay", {"payee": "Northwind", "amount": 300}).ticket
    other = shop.session("s-2", mediated=True)
    for given in (ticket, str(ticket)):
        with pytest.raises(TicketRefused) as refused:
            guard(bank.pay, session=other)("Northwind", 300, ticket=given)
        assert refused.value.code == "ticket_of_another_session"
    assert guard(bank.pay, session=session)("Northwind", 300, ticket=ticket) == "paid"


def test_arguments_that_change_between_the_check_and_the_run_are_noticed(session: Session) -> None:
    sent: list[list[str]] = []

    def send(to: list[str], body: str) -> None:
        to.append("the tool's own copy")
        sent.append(to)

    session.observe("user", "Please send 'see you' to eva@example.com")
    to = ["eva@example.com"]
    ticket = session.check_action("send", {"to": to, "body": "see you"}).ticket
    to.append("mallory@evil.example")
    with pytest.raises(TicketRefused) as refused:
        guard(send, session=session)(to, "see you", ticket=ticket)
    assert refused.value.code == "ticket_for_another_call"
    to.pop()
    guard(send, session=session)(to, "see you", ticket=ticket)
    assert (to, len(sent)) == (["eva@example.com"], 1)


def test_what_an_agent_reports_taints_and_takes_nothing_from_the_owners_words(shop: Keep, session: Session) -> None:
    asked = "Please pay Northwind 300 euros to account 1180-22."
    shop.bind("agent", session="s-1").observe(asked)
    assert not session.is_clean
    call = {"payee": "Northwind", "amount": 300, "account": "1180-22"}
    assert not session.check_action("pay", call)
    session.observe("user", asked)
    assert session.check_action("pay", call)
