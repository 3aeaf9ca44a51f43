"""Frameworks' own tests: what failed for a named reason is told apart from what failed."""

from __future__ import annotations

import pytest
from benchmarks.framework_tests import SUITES, figures


def test_a_failure_without_a_reason_breaks_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = {"test_a": True, "test_b[file]": False, "test_c": False}
    passed, known, failed = figures("a.py", outcomes, {"test_b": "looks into a file of its own"})
    assert (passed.value, known.value, failed.value) == (1, 1, 1)
    assert not failed.ok
    assert "test_c: FAILED" in capsys.readouterr().err


def test_every_reason_is_a_sentence() -> None:
    reasons = [why for suite in SUITES.values() for cannot in suite["files"].values() for why in cannot.values()]
    assert reasons
    assert all(len(why.split()) > 3 for why in reasons)
