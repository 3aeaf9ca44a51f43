"""A faster prefilter is prepared only where it pays, and nobody can tell by the answers."""

from __future__ import annotations

from collections.abc import Collection

from truekeep.rules.warmup import WORTH_PREPARING, WarmingPrefilter


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
    assert warming.wait(10)
    assert (warming.name, made, warming.candidates("abcd")) == ("later", ["later"], [4])


def test_waiting_prepares_at_once() -> None:
    warming = WarmingPrefilter(Counted("now"), lambda: Counted("later"))
    assert warming.wait(10)
    assert warming.name == "later"
