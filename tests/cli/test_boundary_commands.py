"""Channels and actions on the terminal."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from truekeep import Keep

CALL = json.dumps({"payee": "Northwind", "amount": 300})


def test_channels_are_listed_enrolled_and_retired(run: Run) -> None:
    assert run("channels", "enrol", "crm", "--by", "eva", "--reason", "our CRM").code == 0
    assert run("remember", "Northwind's plan is Gold.", "--via", "crm", "--format", "json").json["decision"] == "accept"
    listed = {entry["name"]: entry for entry in run("channels", "list", "--format", "json").json}
    assert listed["crm"]["standing"] == "enrolled"
    assert "crm" in run("channels", "list").out
    retired = run("channels", "retire", "crm", "--by", "eva", "--reason", "replaced", "--format", "json")
    assert retired.json["state"] == "retired"
    refused = run("remember", "Northwind's plan is Silver.", "--via", "crm")
    assert (refused.code, "retired" in refused.err) == (1, True)


def test_enrolling_nonsense_is_a_usage_error(run: Run) -> None:
    answer = run("channels", "enrol", "crm", "--may", "fly", "--by", "eva", "--reason", "why not")
    assert answer.code == 2
    assert "Capabilities:" in answer.err


def test_a_call_is_judged_confirmed_and_credited(run: Run, home: Path) -> None:
    judged = run("actions", "check", "pay", CALL, "--session", "s-1", "--format", "json")
    assert (judged.code, judged.json["decision"], judged.json["code"]) == (1, "confirm", "not_asked")
    ticket = judged.json["ticket"]
    assert ticket in run("actions", "pending").out
    assert run("actions", "pending", "--format", "json").json[0]["arguments"] == json.loads(CALL)
    assert run("actions", "confirm", ticket, "--via", "agent").code == 1
    assert run("actions", "confirm", ticket, "--format", "json").json["state"] == "confirmed"
    assert "Nothing is waiting." in run("actions", "pending").out
    with Keep.open("default", home=home) as keep:
        keep.actions.redeem(ticket, "pay", json.loads(CALL))
    assert run("actions", "credit", "s-1", "good", "--format", "json").json["memories"] == []
    again = run("actions", "credit", "s-1", "good")
    assert (again.code, "already" in again.err) == (2, True)


def test_what_waits_is_shown_with_where_each_value_came_from(run: Run, home: Path) -> None:
    with Keep.open("default", home=home) as keep:
        keep.remember("My passport number is 88312045.", via="user")
        session = keep.session("s-1", mediated=True)
        session.observe("user", "Please pay Northwind 300 euros.")
        session.observe("web", "Northwind's account is 9904-71.", principal="https://evil.example")
        note = "For 88312045,\nas agreed."
        call = {"payee": "Northwind", "amount": 300, "account": "9904-71", "note": note}
        ticket = session.check_action("pay", call).ticket
    shown = run("actions", "pending").out
    assert "account = \u27e69904-71\u27e7  ONLY IN WHAT OTHERS WROTE (\u27e6evil.example\u27e7)" in shown
    assert "payee = \u27e6Northwind\u27e7  in your own words" in shown
    assert "note = \u27e6For 88312045, as agreed.\u27e7" in shown
    assert "would leave: \u27e688312045\u27e7" in shown
    told = run("why", str(ticket))
    assert told.out.startswith("confirm  content_not_called_for, now waiting")
    assert "The session was tainted. It took in text over the channel 'web'." in told.out
    assert run("why", str(ticket), "--format", "json").json["leaving"] == ["88312045"]
    assert run("why", "tkt_00000000000000000000").code == 2


def test_standing_permissions_are_made_listed_and_taken_back(run: Run) -> None:
    assert "There are none." in run("grants", "list").out or run("grants", "list").code == 2
    made = run("grants", "add", "edit_file", "--where", "path=src/**", "--until", "2099-01-01", "--format", "json")
    assert made.json["where"] == {"path": "src/**"}
    assert "path=src/**" in run("grants", "list").out
    assert run("grants", "add", "edit_file", "--where", "path").code == 2
    assert run("grants", "add", "edit_file", "--where", "path=**", "--via", "agent").code == 1
    assert run("grants", "remove", made.json["id"]).code == 0
    assert run("grants", "list", "--format", "json").json == []


def test_a_declined_call_is_gone(run: Run) -> None:
    ticket = run("actions", "check", "pay", CALL, "--session", "s-1", "--format", "json").json["ticket"]
    assert run("actions", "decline", ticket).code == 0
    assert run("actions", "confirm", ticket).code == 2


def test_the_answer_is_readable_and_arguments_must_be_an_object(run: Run) -> None:
    shown = run("actions", "check", "pay", CALL, "--session", "s-1").out
    assert shown.startswith("confirm  not_asked")
    assert "The owner did not ask for this." in shown
    assert run("actions", "check", "pay", "[1]", "--session", "s-1").code == 2
    assert run("actions", "check", "pay", "{", "--session", "s-1").code == 2
