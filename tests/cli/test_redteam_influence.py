"""``truekeep redteam influence`` as a caller sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.redteam.weak_keeps import everything_acts
from truekeep.config import Paths
from truekeep.ops import redteam_scores as scores
from truekeep.ops.redteam_scores import Figure
from truekeep.redteam.figures import wilson

WORDING = "one record in definitional wording"
SMALL = ("redteam", "influence", "--sizes", "60", "--attack")


@pytest.mark.slow
def test_attacks_are_played_on_a_keep_of_that_size(run: Run, home: Path) -> None:
    answer = run(*SMALL, WORDING, "--questions", "20", "--format", "json")
    assert answer.code == 0
    report = answer.json
    assert report["held"] is True
    assert report["conditions"] == {"policy": "inform", "embedder": "none"}
    assert {one["attack"] for one in report["attacks"]} == {WORDING, f"{WORDING}, nobody knows better"}
    low, high = wilson(0, 2)
    assert report["totals"][0]["won"] == {"count": 0, "of": 2, "low": low, "high": pytest.approx(high, abs=1e-4)}
    assert {one["group"] for one in report["benign"]} >= {"owner", "corroborated"}
    kept = scores.last(Paths.resolve(home))["influence"]
    assert kept.held
    assert kept.figures[0] == Figure("won", 0, 2)
    assert kept.conditions == {"policy": "inform", "embedder": "none", "memories": "60"}


def test_a_planted_value_that_acts_is_named_and_ends_with_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    everything_acts(monkeypatch)
    answer = run(*SMALL, WORDING, "--questions", "0")
    assert answer.code == 1
    assert "BROKEN" in answer.out
    assert "acting: 9904-71 is the account of Northwind." in answer.out


@pytest.mark.slow
def test_the_configuration_of_the_home_is_what_is_attacked(run: Run, home: Path) -> None:
    home.mkdir(exist_ok=True)
    assert run(*SMALL, "a record with forged tags", "--questions", "0").code == 0
    (home / "config.toml").write_text('[channels.web]\nstanding = "owner"\ncapabilities = ["write"]\n')
    assert run(*SMALL, "a record with forged tags", "--questions", "0").code == 1


def test_an_attack_that_the_settings_leave_no_ground_for_is_not_called_held(run: Run, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('[channels.user]\nstanding = "hearsay"\ncapabilities = ["write", "read"]\n')
    answer = run(*SMALL, WORDING, "--questions", "0")
    assert answer.code == 1
    assert "not played" in answer.out
    assert "nothing is known" in answer.out


def test_attacks_can_be_listed_without_playing_them(run: Run) -> None:
    listed = run("redteam", "influence", "--list", "--format", "json").json
    assert len(listed) > 160
    assert {"name", "group", "about"} == set(listed[0])


@pytest.mark.parametrize("sizes", ["", "many", "5", "60,9999999"])
def test_sizes_that_cannot_be_built_are_refused(run: Run, sizes: str) -> None:
    assert run("redteam", "influence", "--sizes", sizes).code == 2


def test_a_name_that_no_attack_has_is_refused(run: Run) -> None:
    assert run("redteam", "influence", "--attack", "telepathy").code == 2
