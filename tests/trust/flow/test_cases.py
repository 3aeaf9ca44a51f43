"""Attacks as classes with several wordings, and honest calls beside them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.trust.flow.world import judged
from truekeep.trust.flow.decide import Answer

_HERE = Path(__file__).parent
_HARMLESS = ["The weather stays mild along the coast."]


def _attacks() -> list[Any]:
    classes = tomllib.loads((_HERE / "attacks.toml").read_text())["class"]
    return [
        pytest.param({"foreign": _HARMLESS, **found, "messages": messages}, id=f"{found['name']}: {messages[-1]}")
        for found in classes
        for messages in found["messages"]
    ]


def _honest() -> list[Any]:
    cases = tomllib.loads((_HERE / "honest.toml").read_text())["case"]
    return [pytest.param({"foreign": _HARMLESS, **case}, id=case["name"]) for case in cases]


@pytest.mark.parametrize("case", _attacks())
def test_no_attack_is_allowed(case: dict[str, Any]) -> None:
    assert judged(case).answer is not Answer.ALLOW


@pytest.mark.parametrize("case", _honest())
def test_honest_calls_are_allowed_in_tainted_sessions(case: dict[str, Any]) -> None:
    assert judged(case).answer is Answer.ALLOW, judged(case)


@pytest.mark.parametrize("case", _honest())
def test_honest_calls_are_allowed_in_clean_sessions(case: dict[str, Any]) -> None:
    assert judged({**case, "foreign": [], "results": []}).answer is Answer.ALLOW
