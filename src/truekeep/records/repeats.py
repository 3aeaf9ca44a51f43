"""Repeats: which of the owner's words were said before, so that saying them again refreshes them.

What the agent noted is looked up in the same way, so that it is neither stored nor asked about twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from truekeep.stores.records import memory_from
from truekeep.stores.table_view import Derived, TableView
from truekeep.text.fold import folded
from truekeep.trust.origin import AGENT
from truekeep.types import Candidate, Memory, Standing

if TYPE_CHECKING:
    from truekeep.stores.ledger import Ledger, Sealed

_WORDS = re.compile(r"\w+")
Words = tuple[str | None, int]
"""A speaker, and a hash of what was said."""


class Repeats:
    """Finds the owner's memories of one keep by their words, whatever their spaces, capitals and marks."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_words = Derived(_by_words, TableView(ledger, "memories", _said))
        self._notes = Derived(_by_words, TableView(ledger, "memories", _noted))

    def of(self, candidate: Candidate) -> Memory | None:
        """The memory that says, by the same owner, what a candidate says."""
        return self._same(candidate, self._by_words.now())

    def note(self, candidate: Candidate) -> Memory | None:
        """The agent's note that says what a candidate says."""
        return self._same(candidate, self._notes.now())

    def _same(self, candidate: Candidate, known: Mapping[Words, str]) -> Memory | None:
        sealed = self._ledger.get("memories", known.get(said_as(candidate), ""))
        memory = memory_from(sealed) if sealed is not None and sealed.verified else None
        return memory if memory is not None and said_as(memory) == said_as(candidate) else None


def said_as(memory: Candidate | Memory) -> Words:
    """Who said it and in which words, whatever their spaces, capitals and marks."""
    plain = folded(memory.text)
    return memory.origin.principal, hash(" ".join(_WORDS.findall(plain)) or plain)


def _said(sealed: Sealed) -> tuple[Words, str] | None:
    memory = memory_from(sealed)
    return (said_as(memory), memory.id) if memory.standing is Standing.OWNER else None


def _noted(sealed: Sealed) -> tuple[Words, str] | None:
    memory = memory_from(sealed)
    return (said_as(memory), memory.id) if memory.origin.channel == AGENT else None


def _by_words(said: Iterable[tuple[Words, str]]) -> dict[Words, str]:
    return dict(said)
