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
    assert (judged.code, judged.json["decision"], judged.json["code"]) == (1, "confirm", "unproven_values")
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


def test_a_declined_call_is_gone(run: Run) -> None:
    ticket = run("actions", "check", "pay", CALL, "--session", "s-1", "--format", "json").json["ticket"]
    assert run("actions", "decline", ticket).code == 0
    assert run("actions", "confirm", ticket).code == 2


def test_the_answer_is_readable_and_arguments_must_be_an_object(run: Run) -> None:
    shown = run("actions", "check", "pay", CALL, "--session", "s-1").out
    assert shown.startswith("confirm  unproven_values")
    assert "'amount' was found in nothing you said" in shown
    assert run("actions", "check", "pay", "[1]", "--session", "s-1").code == 2
    assert run("actions", "check", "pay", "{", "--session", "s-1").code == 2
