"""Pastes: how many are recognised, and how many messages of the owner's own are taken for one.

``data/pastes.yaml``, ``data/pastes_other.yaml`` and ``data/pastes_third.yaml`` were written by three people who had not
seen the code, much of the first two to be hard: all rows of the first and the third and those of even number of the
second were tuned on, those of odd number of the second judge, and nobody who tunes reads them. The owners of the long
histories wrote messages of their own; ``TRUEKEEP_BENCH_DATA`` names a folder with ``talks_dev.jsonl`` and
``locomo_dev_memories.jsonl``, whose messages are people's own, too.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.harness import Figure
from truekeep.trust.quote import SeenTexts, split_paste

_NAMES = ("pastes.yaml", "pastes_other.yaml", "pastes_third.yaml", "histories.yaml")
ROWS, OTHER, THIRD, HISTORIES = (Path(__file__).parent / "data" / name for name in _NAMES)
FOLDER = os.environ.get("TRUEKEEP_BENCH_DATA", "")
_TELLING = 8
"""Characters of a line from which on it says something."""


def measure() -> list[Figure]:
    """Both shares, on the authored rows and on natural talk."""
    rows, other, third = (yaml.safe_load(path.read_text("utf-8")) for path in (ROWS, OTHER, THIRD))
    halves = (("tuned on", [*rows, *third, *other[0::2]]), ("held out", other[1::2]))
    figures = [figure for name, half in halves for figure in _authored(name, half)]
    return [*figures, _taken("histories", _histories()), *(_natural(Path(FOLDER)) if FOLDER else ())]


def _authored(name: str, rows: list[dict[str, Any]]) -> Iterator[Figure]:
    pastes = [row for row in rows if row["foreign"]]
    own = [row for row in rows if not row["foreign"]]
    found = sum(_is_recognised(row) for row in pastes)
    wrong = sum(bool(split_paste(row["text"]).pasted) for row in own)
    least, bound = (0.95, None) if name == "tuned on" else (None, None)
    yield Figure(f"pastes: recognised, {name}", found / len(pastes), "share", None, f"{len(pastes)} messages", least)
    yield Figure(f"pastes: own taken for one, {name}", wrong / len(own), "share", bound, f"{len(own)} hard ones")


def _is_recognised(row: dict[str, Any]) -> bool:
    """Whether no telling line of what is somebody else's counts as the owner's."""
    own = _joined(split_paste(row["text"]).own)
    lines = (_joined(line) for foreign in row["foreign"] for line in foreign.splitlines())
    return not any(line in own for line in lines if len(line) > _TELLING)


def _natural(folder: Path) -> Iterator[Figure]:
    sets: dict[str, Iterable[tuple[str, SeenTexts | None]]] = {
        "talks": _talks(folder),
        "dialogue": _dialogue(folder),
        "several paragraphs": _paragraphs(folder),
    }
    yield from (_taken(name, messages) for name, messages in sets.items())


def _taken(name: str, messages: Iterable[tuple[str, SeenTexts | None]]) -> Figure:
    taken = [bool(split_paste(text, seen).pasted) for text, seen in messages]
    share = sum(taken) / len(taken)
    return Figure(f"pastes: own taken for one, {name}", share, "share", None, f"{len(taken)} messages")


def _histories() -> Iterator[tuple[str, None]]:
    for person in yaml.safe_load(HISTORIES.read_text("utf-8")):
        turns = (turn for session in person["sessions"] for turn in session["turns"])
        yield from ((turn["text"], None) for turn in turns if turn["channel"] == "user")


def _talks(folder: Path) -> Iterator[tuple[str, SeenTexts]]:
    for talk in _lines(folder / "talks_dev.jsonl"):
        for session in talk["sessions"]:
            seen = SeenTexts()
            for turn in session["turns"]:
                if turn["channel"] == "user":
                    yield turn["text"], seen
                elif turn["channel"] != "assistant":
                    seen.add(turn["text"])


def _dialogue(folder: Path) -> Iterator[tuple[str, None]]:
    yield from ((turn["text"], None) for turn in _turns(folder))


def _paragraphs(folder: Path) -> Iterator[tuple[str, None]]:
    """What one speaker says in four turns of a session, as four paragraphs."""
    said: dict[tuple[str, int, str], list[str]] = defaultdict(list)
    for turn in _turns(folder):
        said[turn["conv_id"], turn["session"], turn["speaker"]].append(turn["text"])
    for texts in said.values():
        for at in range(0, len(texts) - 3, 4):
            yield "\n\n".join(texts[at : at + 4]), None


def _turns(folder: Path) -> Iterable[dict[str, Any]]:
    return (row for row in _lines(folder / "locomo_dev_memories.jsonl") if row["type"] == "turn")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _joined(text: str) -> str:
    return re.sub(r"\s+", "", text)
