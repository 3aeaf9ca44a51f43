"""Conversations with questions and their evidence, read from two JSON-lines files, and their vectors."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truekeep.embed import Embedder, Kind

_MOMENT = re.compile(r"(\d{1,2}):(\d\d) ([ap]m) on (\d{1,2}) (\w+), (\d{4})")


@dataclass(frozen=True)
class Turn:
    """One memory: who said what in which conversation and session, and when."""

    id: str
    conversation: str
    session: str
    speaker: str
    text: str
    moment: datetime

    @property
    def line(self) -> str:
        """The turn as a chat log shows it."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True)
class Question:
    """A question, the conversation it is put to, and the turns that hold its answer."""

    id: str
    conversation: str
    text: str
    category: str
    evidence: frozenset[str]


def turns(path: Path, kind: str = "turn") -> list[Turn]:
    """The dialogue turns of the memories file, in order (or its distilled facts: ``kind="observation"``)."""
    return [
        Turn(
            id=row["mem_id"],
            conversation=row["conv_id"],
            session=f"{row['conv_id']}/{row['session']}",
            speaker=row["speaker"],
            text=row["text"],
            moment=_moment(row["date"]),
        )
        for row in _rows(path)
        if row["type"] == kind
    ]


def questions(path: Path) -> list[Question]:
    """The answerable questions: those with evidence that are not adversarial."""
    return [
        Question(row["qa_id"], row["conv_id"], row["question"], row["category"], frozenset(row["evidence_ids"]))
        for row in _rows(path)
        if row["category"] != "adversarial" and row["evidence_ids"]
    ]


def recall_at(found: Iterable[str], question: Question, k: int = 10) -> float:
    """Which share of the evidence is among the first k."""
    return len(question.evidence & set(list(found)[:k])) / len(question.evidence)


def vectors(embedder: Embedder, texts: list[str], kind: Kind, cache: Path | None) -> NDArray[np.float32]:
    """The vectors of the texts, kept in the cache directory between runs."""
    if cache is None:
        return embedder.embed(texts, kind)
    digest = hashlib.sha256(json.dumps([embedder.model_id, kind, texts]).encode()).hexdigest()[:32]
    stored = cache / f"{digest}.npy"
    if not stored.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(stored, embedder.embed(texts, kind))
    loaded: NDArray[np.float32] = np.load(stored, allow_pickle=False)
    return loaded


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _moment(text: str) -> datetime:
    match = _MOMENT.search(text)
    if match is None:
        raise ValueError(f"not a moment: {text!r}")
    hour, minute, half, day, month, year = match.groups()
    number = datetime.strptime(month, "%B").replace(tzinfo=UTC).month
    return datetime(int(year), number, int(day), int(hour) % 12 + 12 * (half == "pm"), int(minute), tzinfo=UTC)


TODAY = date(2026, 1, 1)
"""The day the questions are asked; the conversations are years old, so no relative date in a question hits one."""
