"""AgentDojo's documents are fetched, or left out with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.yardsticks import agentdojo
from benchmarks.yardsticks.agentdojo import NAME, measure_agentdojo

from truekeep.redteam.figures import CannotRun

pytestmark = pytest.mark.slow


def test_a_yardstick_that_cannot_be_fetched_is_left_out_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreachable(*_: Any) -> Path:
        raise CannotRun("there is no index")

    monkeypatch.setattr(agentdojo, "interpreter", unreachable)
    (left_out,) = measure_agentdojo(tmp_path, 1)
    assert (left_out.attack, left_out.total) == (NAME, 0)
    assert left_out.note == "left out: there is no index"
