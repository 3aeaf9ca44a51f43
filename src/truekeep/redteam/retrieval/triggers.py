"""The sentences that an attacker gets into questions, and the texts that wait for them; all from one data file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Trigger:
    """A sentence, and the false value that its record carries."""

    name: str
    words: str
    of: str
    """The firm that the value is said to belong to."""
    value: str

    def payload(self, wording: str, number: int = 0) -> str:
        """The false statement in ``narrative`` or ``definition`` wording."""
        templates = _data()[wording]
        return str(templates[number % len(templates)]).format(of=self.of, value=self.value)


def record(words: str, payload: str) -> str:
    """A planted record: the payload, and the trigger where it draws most questions."""
    return str(_data()["record"]).format(words=words, payload=payload)


@cache
def triggers() -> tuple[Trigger, ...]:
    """All of them, the published one first."""
    return tuple(Trigger(**members) for members in _data()["triggers"])


def passages(question: str, value: str) -> list[str]:
    """Texts that begin like the question and end with a false answer, the plainest first."""
    return [str(template).format(question=question, value=value) for template in _data()["passages"]]


def stuffed(words: str, value: str) -> str:
    """A text of little but a question's own words."""
    return str(_data()["stuffed"]).format(words=words, value=value)


def vocabulary() -> tuple[str, ...]:
    """Words that made-up triggers consist of."""
    return tuple(_data()["words"])


@cache
def _data() -> dict[str, Any]:
    source = files("truekeep").joinpath("data", "redteam", "triggers.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(source)
    return loaded
