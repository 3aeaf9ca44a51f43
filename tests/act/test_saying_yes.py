"""However the owner says yes to a call that waits, it is their word for that call's values in that session only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.serve.conftest import running
from tests.serve.console.conftest import ALL, Browserless
from tests.serve.mcp.client import Person
from tests.serve.mcp.client import call as over_mcp
from truekeep import Keep, Session, Tool
from truekeep.adapters.calls import AgentCall, ContextEntry, EntryKind
from truekeep.adapters.mediator import Mediator
from truekeep.serve.console.visits import Visits
from truekeep.serve.mcp.binding import Binding

CALL = {"payee": "Northwind", "amount": 300, "account": "1180-22"}
ASKED = "Please pay Northwind 300 euros."
ASKED_AGAIN = "Now please pay Northwind 40 euros."
NEWS = "The weather is fine."
Way = Callable[[Path], None]


def _opened(home: Path) -> Keep:
    return Keep.open("shop", home=home, policy="inform", background=False)


def _reading(keep: Keep, name: str = "s-1") -> Session:
    """A session that read something foreign, and whose owner asked for a payment without naming an account."""
    session = keep.session(name, mediated=True)
    session.observe("web", NEWS, principal="https://news.example")
    return session


def _waiting(home: Path) -> str:
    with _opened(home) as keep:
        session = _reading(keep)
        session.observe("user", ASKED)
        answer = session.check_action("pay", CALL)
        assert answer.decision == "confirm"
        return str(answer.ticket)


def _redeem(home: Path, ticket: str) -> None:
    with _opened(home) as keep:
        keep.actions.redeem(ticket, "pay", CALL, session="s-1")


def over_elicitation(era: str) -> Way:
    """A client that follows MCP asks, and the person accepts."""

    def say_yes(home: Path) -> None:
        person = Person("accept")
        with _opened(home) as keep:
            _reading(keep).observe("user", ASKED)
        binding = Binding(lambda: _opened(home), "agent", "s-1", "user", "stdio")
        answer = over_mcp(binding, "check_action", person, era, name="pay", arguments=CALL).structured_content
        assert (answer["code"], len(person.read)) == ("confirmed_by_owner", 1)
        _redeem(home, answer["ticket"])

    return say_yes


def in_the_console(home: Path) -> None:
    """A button, with its tick."""
    ticket = _waiting(home)
    with running(home) as served:
        person = Browserless(served)
        try:
            person.post("/console/sign-in", once=Visits(home / "keys").link("*", "eva", ALL))
            assert ticket in person.get("/console/k/shop/calls").text
            done = person.post("/console/k/shop/calls/confirm", ticket=ticket, sure="yes")
            assert done.status_code == 303
        finally:
            person.close()
    _redeem(home, ticket)


def over_rest(home: Path) -> None:
    """A request with the owner's token."""
    ticket = _waiting(home)
    with running(home) as served:
        assert served.client("owner", "shop").post(f"/v1/tickets/{ticket}/confirm").status_code == 200
    _redeem(home, ticket)


def on_the_command_line(home: Path) -> None:
    """A command in a process of its own, whose question is answered."""
    ticket = _waiting(home)
    command = [sys.executable, "-m", "truekeep", "actions", "confirm", ticket, "--home", str(home), "--keep", "shop"]
    subprocess.run(command, input="y\n", text=True, capture_output=True, check=True)
    _redeem(home, ticket)


def by_an_adapters_callback(home: Path) -> None:
    """The answer that a framework hands to its adapter."""
    with _opened(home) as keep:
        talk = Mediator(keep, tools=[Tool("read_page", reads=True)]).conversation("s-1")
        talk.context([ContextEntry(EntryKind.OWNER, ASKED)], starts=True)
        page = AgentCall("call-0", "read_page", {"url": "https://news.example/"})
        talk.ran(page, NEWS)
        pays = AgentCall("call-1", "pay", CALL)
        assert talk.judge(pays).waits
        assert talk.decided(pays, yes=True).is_allowed
        talk.ran(pays, "paid")


WAYS: dict[str, Way] = {
    "MCP elicitation": over_elicitation("legacy"),
    "MCP elicitation, the newer protocol": over_elicitation("2026-07-28"),
    "the console": in_the_console,
    "REST": over_rest,
    "the command line": on_the_command_line,
    "an adapter's callback": by_an_adapters_callback,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_yes_is_the_owners_word_for_that_calls_values_in_that_session_and_for_no_others(
    shop: Keep, home: Path, way: str
) -> None:
    shop.close()
    WAYS[way](home)
    with _opened(home) as keep:
        session, other = keep.session("s-1", mediated=True), _reading(keep, "s-2")
        assert not session.is_clean
        for one in (session, other):
            one.observe("user", ASKED_AGAIN)
        again = CALL | {"amount": 40}
        assert other.check_action("pay", again).decision == "confirm"
        for changed in ({"account": "9904-71"}, {"payee": "Castell"}, {"amount": 41}):
            assert session.check_action("pay", again | changed).decision == "confirm", changed
        assert session.check_action("pay", again).decision == "allow"


def test_without_the_yes_the_same_call_is_asked_about_again(shop: Keep) -> None:
    session = _reading(shop)
    session.observe("user", ASKED)
    assert session.check_action("pay", CALL).decision == "confirm"
    session.observe("user", ASKED_AGAIN)
    assert session.check_action("pay", CALL | {"amount": 40}).decision == "confirm"


def test_one_yes_to_a_call_chooses_its_record_for_the_rest_of_the_session(shop: Keep) -> None:
    tools = [Tool("list_tickets", reads=True, own=True)]
    rows = [{"ticket_id": number, "title": "Printer jam"} for number in (7, 8)]
    sessions = [shop.session(name, mediated=True, tools=tools) for name in ("s-1", "s-2")]
    for session in sessions:
        session.observe("web", NEWS, principal="https://news.example")
        session.observe("user", "Please assign the printer jam ticket to Ada.")
        session.observe_result("list_tickets", rows)
    chosen, call = sessions[0], {"ticket_id": 8, "assignee": "Ada"}
    ticket = chosen.check_action("assign_ticket", call).ticket
    shop.actions.confirm(str(ticket), via="user")
    chosen.redeem(str(ticket), "assign_ticket", call)
    for session in sessions:
        session.observe("user", "Now close the printer jam ticket.")
    answers = [chosen.check_action("close_ticket", {"ticket_id": number}).decision for number in (8, 7)]
    assert answers == ["allow", "confirm"]
    assert sessions[1].check_action("close_ticket", {"ticket_id": 8}).decision == "confirm"
