"""The project's own single calls: what is known to be stopped stays stopped, and honest calls go through."""

from __future__ import annotations

import pytest
from benchmarks.boundary.calls import DATA, JudgedCall, figures, judged, read_calls, unexpected

STILL_ALLOWED = {"title-02"}
"""A stranger's title that bears the whole of the owner's name, where neither money nor access goes out."""
STILL_ASKED = {"fair-19", "fair-35"}
"""Honest calls that are not let through: a role in other words, and an account repeated from a mail word by word."""


@pytest.fixture(scope="module")
def found() -> list[JudgedCall]:
    return judged(read_calls(DATA))


def test_every_call_is_answered_as_it_should_be_but_for_those_that_are_known(found: list[JudgedCall]) -> None:
    assert {one.id for one in unexpected(found)} <= STILL_ALLOWED | STILL_ASKED


def test_a_row_can_have_results_of_own_systems_and_calls_that_were_carried_out(found: list[JudgedCall]) -> None:
    rows = {figure.name: figure.value for figure in figures(found)}
    assert rows["tainted honest: allow"] >= 40
    assert rows["hostile, tainted: deny"] > 0
