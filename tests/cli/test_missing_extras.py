"""Without an extra a command exits with the same code and says both ways to install it, whichever it is."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from truekeep import cli
from truekeep.cli import options
from truekeep.cli.failure import REFUSED, USAGE
from truekeep.cli.redteam import conclude
from truekeep.redteam.report import compose
from truekeep.redteam.results import Bound, Results, judge

Run = Callable[[list[str]], int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in an installation that has no extra."""
    monkeypatch.setenv("TRUEKEEP_HOME", str(tmp_path))
    monkeypatch.setenv("TRUEKEEP_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TRUEKEEP_LLM_MODEL", "any")
    there = importlib.util.find_spec
    extras = ("fastapi", "mcp", "httpx", "uvicorn", "jinja2", "langgraph", "psycopg")
    monkeypatch.setattr(options, "find_spec", lambda name: None if name.startswith(extras) else there(name))

    def called(words: list[str]) -> int:
        with pytest.raises(SystemExit) as stop:
            cli.main(words)
        return int(stop.value.code or 0)

    return called


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["serve"], "serve"),
        (["mcp"], "serve"),
        (["demo", "--serve"], "serve"),
        (["extract", "--llm", "talk.jsonl"], "llm"),
    ],
)
def test_a_missing_extra_exits_with_two_and_names_both_ways_to_get_it(
    words: list[str],
    extra: str,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.jsonl").write_text('{"role": "user", "content": "I live in Nitra."}\n')
    assert run(words) == USAGE
    told = capsys.readouterr().err
    assert f"pip install 'truekeep[{extra}]'" in told
    assert f"pip install '.[{extra}]'" in told


CLAIM = Bound(claim="Nothing acts", where={"part": "agent"}, at_most=0)


def test_a_claim_that_could_not_be_measured_is_no_refuted_claim(capsys: pytest.CaptureFixture[str]) -> None:
    results = Results()
    results.leave_out("agent", "needs an extra")
    with pytest.raises(SystemExit) as stop:
        conclude(results, judge(results, "quick", (CLAIM,)), None, "text", compose)
    told = capsys.readouterr().out
    assert stop.value.code == USAGE
    assert stop.value.code != REFUSED
    assert "not measured" in told
    assert "NOT HOLD" not in told
