"""A memory in a list, as a target that believes its owner and nobody else: the ground weak defences are dug into."""

# ruff: noqa: ARG002 - the protocol passes more than a simple memory looks at
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from truekeep.redteam.stage import Answered, Came, Fields, Refused, Target, TargetHit, Unsupported, Written

OWNER = "user"
_WORD = re.compile(r"\w+")
_HARMLESS = "look_up"


@lru_cache(maxsize=10_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


@dataclass(slots=True)
class Record:
    """One remembered text, with everything its writer said about it."""

    id: str
    text: str
    via: str
    session: str | None
    fields: Mapping[str, Any]
    is_gone: bool = False
    is_credited: bool = False


class SimpleMemory(Target):
    """Stores what anybody writes, and lets only the owner's words act. Weak defences override one thing of it."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.said: dict[str, list[str]] = {}
        """What the owner said, by session."""
        self.runs: dict[str, list[str]] = {}
        """The values of the calls that were made, by run."""
        self._tickets: dict[str, tuple[str, str, Mapping[str, Any]]] = {}

    def believes(self, record: Record) -> bool:
        """Whether a record may act."""
        return record.via == OWNER

    def admits(self, record: Record) -> bool:
        """Whether a record is stored at all."""
        return True

    def took(self, record: Record) -> None:
        """A record has been stored."""

    def remember(
        self, via: str, session: str | None, entries: Sequence[Mapping[str, Any]], fields: Fields
    ) -> list[Written]:
        """One record for each entry."""
        return [self._store(via, session, {**fields, **entry}) for entry in entries]

    def update(self, via: str, session: str | None, memory: str, text: str, fields: Fields) -> Written:
        """By the owner only."""
        if via != OWNER:
            return Written(Came.HELD, "waits")
        return self.replaced(memory, text)

    def delete(self, via: str, memory: str) -> Written:
        """By the owner only."""
        if via != OWNER:
            return Written(Came.HELD, "waits")
        return self.dropped(memory)

    def import_file(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Over a channel of its own."""
        self.remember("import", None, lines, {})

    def begin(self, session: str, *, mediated: bool, member: str | None) -> None:
        """It knows one person."""
        if member:
            raise Unsupported("member")

    def enrol(self, channel: str) -> None:
        """Systems write over the channel of their name; nobody shares it."""
        if channel.startswith("member:"):
            raise Unsupported("member")

    def observe(self, via: str, session: str, text: str, principal: str | None, role: str | None) -> None:
        """Only the owner's words are kept."""
        if via == OWNER:
            self.said.setdefault(session, []).append(text)

    def recall(self, query: str, k: int, *, influence_only: bool, session: str | None = None) -> list[TargetHit]:
        """By the words in common."""
        words = _words(query)
        hits = [hit for hit in self.listed() if hit.may_act or not influence_only]
        ranked = sorted(hits, key=lambda hit: -len(words & _words(hit.text)))
        return ranked[:k]

    def listed(self, session: str | None = None) -> list[TargetHit]:
        """Everything there is."""
        acting = [(record, self.believes(record)) for record in self.records if not record.is_gone]
        return [TargetHit(record.text, acts, "believed" if acts else "unproven") for record, acts in acting]

    def snapshot(self, session: str, *, refresh: bool) -> None:
        """It has none."""

    def check(self, session: str, action: str, arguments: Mapping[str, Any], run: str | None) -> Answered:
        """A look is free; anything else needs values that the owner said or that an acting record has."""
        known = [*self.said.get(session, ()), *(hit.text for hit in self.listed() if hit.may_act)]
        if action != _HARMLESS and not all(any(str(value) in text for text in known) for value in arguments.values()):
            return Answered("unproven")
        ticket = f"ticket-{len(self._tickets)}"
        self._tickets[ticket] = (run or "", action, dict(arguments))
        return Answered("allowed", ticket)

    def confirm(self, via: str, session: str | None, ticket: str) -> None:
        """By the owner only."""
        if via != OWNER or ticket not in self._tickets:
            raise Refused("not_yours")

    def redeem(self, via: str, ticket: str, action: str, arguments: Mapping[str, Any]) -> None:
        """Once, and for the call that it was given for."""
        run, *call = self._tickets.get(ticket, ("", "", {}))
        if call != [action, dict(arguments)]:
            raise Refused("no_such_ticket")
        del self._tickets[ticket]
        self.runs.setdefault(run, []).extend(map(str, arguments.values()))

    def credit(self, via: str, run: str, outcome: str) -> None:
        """By nobody."""
        raise Refused("not_allowed")

    def replaced(self, memory: str, text: str) -> Written:
        """Put another text in a record's place."""
        for record in self.records:
            if record.id == memory:
                record.text = text
                return Written(Came.STORED, id=memory)
        return Written(Came.REFUSED, "not_found")

    def dropped(self, memory: str) -> Written:
        """Take a record out."""
        for record in self.records:
            if record.id == memory:
                record.is_gone = True
                return Written(Came.STORED, id=memory)
        return Written(Came.REFUSED, "not_found")

    def _store(self, via: str, session: str | None, fields: Mapping[str, Any]) -> Written:
        record = Record(f"m{len(self.records)}", fields["text"], via, session, fields)
        if not self.admits(record):
            return Written(Came.REFUSED, "not_admitted")
        self.records.append(record)
        self.took(record)
        return Written(Came.STORED, id=record.id)
