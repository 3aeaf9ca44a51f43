"""Forgetting: how many requests to forget or correct are honoured, and how many other memories they touch.

``data/forget.yaml``, ``data/forget_other.yaml`` and ``data/forget_third.yaml`` were written by three people who had not
seen the code: what a person said, and a message that asks to forget some of it, corrects some of it, or only looks like
it. All rows of the first and the third and those of even number of the second were tuned on; those of odd number of the
second judge, unread by whoever tunes. Each is played through a whole keep. A request is honoured if just what is meant
is gone, or, where two things may be meant, nothing is gone and both wait in review, where the owner sees them. A
correction is also honoured if what it corrects stands beside other facts, stays and is marked as older. What an earlier
sentence of the same person had ended before counts neither way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from benchmarks.harness import Figure
from truekeep import Keep
from truekeep.config import Settings

_NAMES = ("forget.yaml", "forget_other.yaml", "forget_third.yaml")
ROWS, OTHER, THIRD = (Path(__file__).parent / "data" / name for name in _NAMES)
LEAST = 0.9


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one row."""

    number: int
    row: dict[str, Any]
    before: frozenset[int]
    """What was over before the message came."""
    gone: frozenset[int]
    shown: frozenset[int]

    @property
    def is_honoured(self) -> bool:
        if self.row["ambiguous"]:
            return not self.gone - self.before and self.shown >= set(self.row["candidates"])
        wanted = frozenset(self.row["expect_gone"])
        return self.gone >= wanted and not self.touched

    @property
    def touched(self) -> frozenset[int]:
        """What should have stayed."""
        return self.gone - self.before - frozenset(self.row["expect_gone"])


def measure() -> list[Figure]:
    """Both figures, on the rows that were tuned on and on those held out."""
    played, other, third = (list(play(yaml.safe_load(rows.read_text("utf-8")))) for rows in (ROWS, OTHER, THIRD))
    halves = (("tuned on", [*played, *third, *other[0::2]]), ("held out", other[1::2]))
    return [figure for name, half in halves for figure in _figures(name, half)]


def _figures(name: str, played: list[Played]) -> Iterator[Figure]:
    for kind in ("forget", "correct"):
        asked = [one for one in played if one.row["kind"] == kind]
        share = sum(one.is_honoured for one in asked) / len(asked)
        yield Figure(f"forget: {kind} honoured, {name}", share, "share", None, f"{len(asked)} messages", LEAST)
    wrong = sum(len(one.touched) for one in played)
    yield Figure(f"forget: wrong memories touched, {name}", wrong, "memories", 0, f"{len(played)} messages")


def play(rows: list[dict[str, Any]]) -> Iterator[Played]:
    """Every row in a keep of its own."""
    with TemporaryDirectory() as home:
        for number, row in enumerate(rows):
            yield _played(Path(home), number, row)


def _played(home: Path, number: int, row: dict[str, Any]) -> Played:
    with Keep.open(f"p{number}", home=home, settings=Settings(embedder="none"), background=False) as keep:
        with keep.session("s-1", mediated=True) as session:
            for said in row["said"]:
                session.observe("user", said)
            keep.extraction.ended("s-1")
            before = _gone(keep, row["said"])
            session.observe("user", row["message"])
        asked = [item.memory.text for item in keep.review.list()]
        shown = frozenset(place for place, said in enumerate(row["said"]) if said in asked)
        return Played(number, row, before, _gone(keep, row["said"]), shown)


def _gone(keep: Keep, said: list[str]) -> frozenset[int]:
    """What of the sentences is neither remembered nor held, or is marked as older."""
    lines = keep.snapshot("later", refresh=True).text.splitlines()
    older = " ".join(line for line in lines if line.partition("]")[0].endswith("| older"))
    kept = [memory["content"] for memory in keep.get_memories() if memory["content"] not in older]
    kept += [item.memory.text for item in keep.review.list() if item.kind != "deletion"]
    return frozenset(place for place, sentence in enumerate(said) if not any(sentence in text for text in kept))


if __name__ == "__main__":
    for one in [
        *play(yaml.safe_load(ROWS.read_text("utf-8"))),
        *play(yaml.safe_load(THIRD.read_text("utf-8"))),
        *list(play(yaml.safe_load(OTHER.read_text("utf-8"))))[0::2],
    ]:
        if not one.is_honoured or one.touched:
            print(one.number, one.row["lang"], one.row["kind"], sorted(one.gone), sorted(one.shown), one.row["message"])
