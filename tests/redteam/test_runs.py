"""The whole measurement as a user runs it: a quick run holds every claim in a minute, and a broken claim is told."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from truekeep.cli.redteam import redteam

pytestmark = pytest.mark.slow

MINUTE = 60.0
IMPOSSIBLE = """
[[bound]]
claim = "Every way around the screens is seen"
where = {part = "screen", metric = "detected", attack = "ways around the screens, written after all tuning"}
at_least = 1
"""


def asked(*options: str) -> tuple[int, dict[str, Any]]:
    ended = CliRunner().invoke(redteam, [*options, "--format", "json"])
    return ended.exit_code, json.loads(ended.stdout)


@pytest.mark.timeout(400)
def test_a_quick_run_holds_every_claim_within_a_minute_of_cpu(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "truekeep", "redteam", "--quick", "--home", str(tmp_path / "home")]
    options = ["--out", str(tmp_path / "out"), "--format", "json"]
    environment = {name: value for name, value in os.environ.items() if name != "TRUEKEEP_EMBEDDER"}
    ended = subprocess.run([*command, *options], env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    claims = json.loads(ended.stdout)["claims"]
    assert [claim for claim in claims if not claim["met"]] == []
    assert (ended.returncode, len(claims) >= 15) == (0, True)
    assert after.ru_utime - before.ru_utime < MINUTE
    assert not (tmp_path / "home" / "data").exists()  # nothing of the user's is touched
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "README.md", "results.json", "hijack-default.svg"} <= written


def test_a_claim_that_does_not_hold_ends_the_run_with_an_error(tmp_path: Path) -> None:
    thresholds = tmp_path / "thresholds.toml"
    thresholds.write_text(IMPOSSIBLE)
    code, told = asked("--quick", "--steps", "screens", "--home", str(tmp_path), "--thresholds", str(thresholds))
    assert (code, [claim["met"] for claim in told["claims"]]) == (1, [False])


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    options = ("--quick", "--steps", "screens", "--home", str(tmp_path), "--out", str(tmp_path / "out"))
    _, first = asked(*options)
    _, second = asked(*options)
    assert second["cpu_seconds"] == first["cpu_seconds"]
    _, third = asked(*options, "--again")
    assert third["rows"] == first["rows"]


def test_saved_results_are_judged_again_without_measuring(tmp_path: Path) -> None:
    asked("--quick", "--steps", "screens", "--home", str(tmp_path), "--out", str(tmp_path / "out"))
    thresholds = tmp_path / "thresholds.toml"
    thresholds.write_text(IMPOSSIBLE)
    code, told = asked("report", str(tmp_path / "out" / "results.json"), "--thresholds", str(thresholds))
    assert (code, told["claims"][0]["met"]) == (1, False)


def test_an_unknown_step_says_which_there_are(tmp_path: Path) -> None:
    ended = CliRunner().invoke(redteam, ["--quick", "--steps", "nothing like it", "--home", str(tmp_path)])
    assert ended.exit_code != 0
    assert "screens" in str(ended.exception.hint)  # type: ignore[union-attr]
