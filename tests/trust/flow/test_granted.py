"""What a standing permission covers, and what only looks as if it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.trust.flow.world import evidence
from truekeep.trust.flow.decide import Answer, judge
from truekeep.trust.flow.evidence import StandingGrant

_PAGE = ["The weather stays mild along the coast."]


def is_let_through(
    tool: str, where: Mapping[str, str], arguments: Mapping[str, Any], cap: Mapping[str, str] | None = None
) -> bool:
    """Whether one grant carries a call in a session that read something foreign and was asked for nothing."""
    made = evidence(foreign=_PAGE, messages=["what does the page say?"])
    made.grants = (StandingGrant("g1", tool, where, cap or {}),)
    return judge(made, tool, arguments).answer is Answer.ALLOW


@pytest.mark.parametrize(
    ("amount", "is_within"),
    [
        ({"amount": 10}, True),
        ({"amount": "10"}, True),
        ({"amount": {"value": 7, "currency": "EUR"}}, True),
        ({}, False),
        ({"amount": None}, False),
        ({"amount": ""}, False),
        ({"amount": []}, False),
        ({"amount": 11}, False),
        ({"amount": -1}, False),
        ({"amount": "NaN"}, False),
        ({"amount": "-Infinity"}, False),
        ({"amount": "ten"}, False),
        ({"amount": [6, 6]}, False),
        ({"amount": {"value": 7, "extra": "lots"}}, False),
        ({"total": 900}, False),
    ],
)
def test_a_capped_grant_covers_only_a_call_that_gives_the_capped_value_within_the_cap(
    amount: dict[str, Any], is_within: bool
) -> None:
    where = {"account": "1180-*", "amount": "*", "total": "*"}
    assert is_let_through("pay", where, {"account": "1180-22", **amount}, {"amount": "10"}) is is_within
    assert not is_let_through("pay", where, {"account": "1180-22", **amount}, {"amount": "much"})
