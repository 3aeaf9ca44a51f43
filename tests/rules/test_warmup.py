"""A faster prefilter is prepared only where it pays, and nobody can tell by the answers."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from tests.rules.sample import load_text, simple
from truekeep.rules import Engine, vectorscan
from truekeep.rules.prefilter import WORTH_PREPARING, WarmingPrefilter


class Counted:
    far = ()

    def __init__(self, name: str) -> None:
        self.name = name

    def candidates(self, text: str) -> Collection[int]:
        return [len(text)]


def test_a_short_command_prepares_nothing() -> None:
    made: list[str] = []
    warming = WarmingPrefilter(Counted("now"), lambda: made.append("later") or Counted("later"))  # type: ignore[func-returns-value]
    for _ in range(WORTH_PREPARING - 1):
        assert warming.candidates("abc") == [3]
    assert (warming.name, made) == ("now", [])


def test_a_long_lived_process_switches_over_once() -> None:
    made: list[str] = []
    warming = WarmingPrefilter(Counted("now"), lambda: made.append("later") or Counted("later"))  # type: ignore[func-returns-value]
    for _ in range(WORTH_PREPARING):
        warming.candidates("abc")
    assert warming.wait(60)
    assert (warming.name, made, warming.candidates("abcd")) == ("later", ["later"], [4])


def test_waiting_prepares_at_once() -> None:
    warming = WarmingPrefilter(Counted("now"), lambda: Counted("later"))
    assert warming.wait(60)
    assert warming.name == "later"


@pytest.mark.skipif(not vectorscan.available(), reason="hyperscan is not installed here")
def test_what_long_texts_need_is_prepared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first long text used to wait a second for the patterns that see all of it to be compiled."""
    patterns = [f"(?s)begin{number}.*end{number}" for number in range(5)] + [f"word{number}" for number in range(5)]
    rules = [
        rule
        for number, pattern in enumerate(patterns)
        for rule in load_text(tmp_path, simple(pattern, rule_id=f"rule_{number}"), f"{number}.yaml").rules
    ]
    Engine(rules, cache_dir=tmp_path / "cache").wait()
    monkeypatch.setattr(vectorscan, "_database", lambda _specs: pytest.fail("compiled while a text waits"))
    long = "begin3 " + "a word of no meaning. " * 2000 + "end3"
    assert Engine(rules, cache_dir=tmp_path / "cache").ids(long) == ("rule_3",)
