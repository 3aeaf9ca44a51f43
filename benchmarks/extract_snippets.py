"""Measures an extractor against the snippets: one candidate, one fact; the rest is wrong or missed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from truekeep.extract.conversation import Conversation, Message

SETS = ("development", "held_out", "messy", "unseen")
"""Development and messy were tuned on; held_out was written beside the rules; unseen after them, untouched since."""
SENT = datetime(2025, 3, 11, 9, 30, tzinfo=UTC)
_FOLDER = Path(__file__).parent / "snippets"
_WORD = re.compile(r"\d{4}-\d{2}(?:-\d{2})?|[^\W_]+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A short conversation, and for each fact in it the words that a candidate must contain."""

    id: str
    language: str
    conversation: Conversation
    facts: tuple[str, ...]


@dataclass(slots=True)
class Score:
    """Right candidates, candidates and facts, with what was wrong and what was missed."""

    right: int = 0
    candidates: int = 0
    facts: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """How many candidates are facts."""
        return self.right / self.candidates if self.candidates else 1.0

    @property
    def recall(self) -> float:
        """How many facts were found."""
        return self.right / self.facts if self.facts else 1.0

    def add(self, snippet: Snippet, texts: Iterable[str]) -> None:
        """Count one snippet's candidates. A candidate is used for one fact only."""
        left = list(texts)
        self.candidates += len(left)
        self.facts += len(snippet.facts)
        for fact in snippet.facts:
            hit = next((text for text in left if _says(text, fact, snippet)), None)
            if hit is None:
                self.missed.append(f"{snippet.id}: {fact}")
            else:
                left.remove(hit)
                self.right += 1
        self.wrong += [f"{snippet.id}: {text}" for text in left]


def snippets(name: str) -> list[Snippet]:
    """The snippets of one set."""
    loaded: dict[str, Any] = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return [_snippet(row, loaded["speakers"][row["lang"]]) for row in loaded["snippets"]]


def score(extract: Callable[[Conversation], Iterable[str]], chosen: Iterable[Snippet]) -> Score:
    """Run an extractor over snippets and count."""
    total = Score()
    for snippet in chosen:
        total.add(snippet, extract(snippet.conversation))
    return total


def _snippet(row: dict[str, Any], speaker: str) -> Snippet:
    turns = [next(iter(turn.items())) for turn in row["turns"]]
    messages = tuple(Message(f"m{at}", channel, text, SENT) for at, (channel, text) in enumerate(turns))
    conversation = Conversation(messages, speaker=speaker, session=row["id"])
    return Snippet(row["id"], row["lang"], conversation, tuple(row["facts"]))


def _says(text: str, fact: str, snippet: Snippet) -> bool:
    """Whether a candidate has every word of the fact and names the speaker."""
    wanted = f"{snippet.conversation.speaker} {fact}"
    if snippet.language == "zh":
        return all(word in text for word in wanted.split())
    found = _words(text)
    # German writes the possessive onto the name.
    return _words(wanted) <= found | {word.removesuffix("s") for word in found}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("'s", "")))
