"""A store with no defence at all, as a target: whatever is written is believed, and no call is ever stopped."""

# ruff: noqa: ARG002 - it takes everything and looks at little
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from truekeep.redteam.honest import Fact, facts
from truekeep.redteam.stage import Answered, Came, Fields, Stage, Target, TargetHit, Written

_WORD = re.compile(r"\w+")


class PlainStore(Target):
    """Texts in a dictionary, found by the words they share with a question."""

    def __init__(self, honest: Sequence[str]) -> None:
        self._texts = {f"m{number}": text for number, text in enumerate(honest)}
        self._before = len(self._texts)

    def remember(
        self, via: str, session: str | None, entries: Sequence[Mapping[str, Any]], fields: Fields
    ) -> list[Written]:
        written = []
        for entry in entries:
            name = f"m{len(self._texts)}"
            self._texts[name] = entry["text"]
            written.append(Written(Came.STORED, id=name))
        return written

    def update(self, via: str, session: str | None, memory: str, text: str, fields: Fields) -> Written:
        self._texts[memory] = text
        return Written(Came.STORED, id=memory)

    def delete(self, via: str, memory: str) -> Written:
        self._texts[memory] = ""
        return Written(Came.STORED)

    def begin(self, session: str, *, mediated: bool, member: str | None) -> None:
        """It has no sessions and needs none."""

    def observe(self, via: str, session: str, text: str, principal: str | None, role: str | None) -> None:
        """What is said to its agent leaves no trace."""

    def recall(self, query: str, k: int, *, influence_only: bool, session: str | None = None) -> list[TargetHit]:
        words = set(_WORD.findall(query.casefold()))
        ranked = sorted(self._texts.values(), key=lambda text: -len(words & set(_WORD.findall(text.casefold()))))
        return [TargetHit(text, may_act=True) for text in ranked[:k]]

    def listed(self, session: str | None = None) -> list[TargetHit]:
        return [TargetHit(text, may_act=True) for text in list(self._texts.values())[self._before :]]

    def check(self, session: str, action: str, arguments: Mapping[str, Any], run: str | None) -> Answered:
        return Answered("allowed", ticket="any")

    def redeem(self, via: str, ticket: str, action: str, arguments: Mapping[str, Any]) -> None:
        """Whatever it is, it is done."""


class PlainGround:
    """Honest facts in a plain store."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.facts: list[Fact] = facts(size)

    @contextmanager
    def stage(self) -> Iterator[Stage]:
        yield Stage(PlainStore([text for fact in self.facts for _, text in fact.said]))
