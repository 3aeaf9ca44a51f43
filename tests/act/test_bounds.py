"""Bounded work, however hostile the shape of a message, a page, a call or an answer."""

from __future__ import annotations

import time

import pytest

from tests.yardstick import allowed
from truekeep import Session

pytestmark = pytest.mark.slow

SHAPES = {
    "requests without end": "please pay Eva 1. " * 430,
    "expanding letters": "\u337f" * 7_900,
    "numbers": ",1" * 3_950,
    "addresses": "a@b." * 1_970,
    "paths": "/a" * 3_950,
    "negations": "not " * 1_970,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_of_a_message_or_a_call_costs_more_than_its_size(session: Session, shape: str) -> None:
    text = SHAPES[shape][:7_900]
    session.observe("web", "The weather is fine.")
    before = time.process_time()
    session.observe("user", text)
    session.check_action("pay", {"to": text[:4_000], "note": text})
    assert time.process_time() - before < allowed(3)


LISTS = {"lines": "a\n" * 3_950, "clauses": "a," * 3_950, "bullets": "- a\n" * 1_975, "addresses": "http://a.b/ " * 658}


@pytest.mark.parametrize("shape", LISTS)
def test_no_shape_of_what_is_to_be_forgotten_costs_more_than_its_size(session: Session, shape: str) -> None:
    before = time.process_time()
    session.observe("user", LISTS[shape])
    session._keep.forget(LISTS[shape], via="user")
    assert time.process_time() - before < allowed(2)


@pytest.mark.parametrize("answer", ["http://a.example/ " * 5_000, "http://a.b/" * 9_000, "[" * 99_000])
def test_many_long_pages_and_an_answer_full_of_links_cost_a_bounded_time(session: Session, answer: str) -> None:
    for number in range(40):
        session.observe("web", f"Page {number}: lorem 12-{number} ipsum https://a{number}.example/x " * 1_500)
    before = time.process_time()
    session.check_action("pay", {"to": "12-3"})
    session.check_reply(answer)
    assert time.process_time() - before < allowed(4)
