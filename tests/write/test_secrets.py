"""Passwords, keys and codes: held until the owner confirms, and redacted wherever a text comes out."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run, run  # noqa: F401 - a fixture
from truekeep import Decision, Keep

SECRETS = {
    "The Wi-Fi password is hunter2-Blue-88.": "hunter2-Blue-88",
    "Remember this code: 774411.": "774411",
    "My AWS key is AKIAIOSFODNN7EXAMPLE.": "AKIAIOSFODNN7EXAMPLE",
}


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_comes_out_nowhere(keep: Keep, text: str) -> None:
    secret = SECRETS[text]
    verdict = keep.remember(text, via="user")
    assert verdict.decision is Decision.QUARANTINE
    assert verdict.item_id
    assert secret not in json.dumps(verdict.as_dict())
    stored = keep.review.approve(verdict.item_id, by="eva", reason="it is mine").memory_id
    assert stored
    outputs = [
        str(keep.get_memories()),
        str(keep.get_memory(stored)),
        str(keep.recall("password code key")),
        keep.snapshot("s-1").text,
        str(keep.trace(stored).as_dict()) + keep.trace(stored).html(),
        str([event.body for event in keep.audit.events()]),
    ]
    assert [output for output in outputs if secret in output] == []
    assert "[redacted]" in keep.get_memory(stored)["content"]
    assert keep.get_memory(stored)["may_act"]


def test_a_reviewer_sees_it_only_on_request(run: Run) -> None:  # noqa: F811 - a fixture
    held = run("remember", "The Wi-Fi password is hunter2-Blue-88.", "--format", "json").json["review_id"]
    assert "hunter2" not in run("review", "list").out + run("review", "list", "--format", "json").out
    assert "hunter2" not in run("review", "show", held).out + run("review", "show", held, "--format", "json").out
    assert "hunter2-Blue-88" in run("review", "show", held, "--reveal").out


def test_a_plain_fact_with_a_number_is_no_secret(keep: Keep) -> None:
    for text in ("Northwind's account number is 1180-22.", "My son is called Timmy.", "The meeting is at 7744."):
        stored = keep.remember(text, via="user").memory_id
        assert stored
        assert keep.get_memory(stored)["content"] == text
