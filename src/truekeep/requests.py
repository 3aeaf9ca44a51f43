"""Requests: which named batches a keep has stored, so that one that is sent again is not stored twice.

The note is an event of the same transaction, so a crash leaves both or neither, and every process that has the keep
open sees it. It holds ids and codes; what was said is not in it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

from truekeep.stores.ledger import Entry, Ledger
from truekeep.types import Decision, Verdict

KIND = "request.done"
_WINDOW = 50_000
"""How many events a name is remembered for at least."""


class Requests:
    """The named batches of one keep, as its newest events tell of them."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.RLock()
        self._read_to: int | None = None
        self._known: dict[str, list[dict[str, Any]]] = {}

    def answered(self, name: str) -> list[Verdict] | None:
        """What was decided on the batch of that name, if there was one."""
        with self._ledger.reading(), self._lock:
            self._follow()
            found = self._known.get(name)
        return None if found is None else [_verdict(one) for one in found]

    def note(self, entry: Entry, name: str, verdicts: Sequence[Verdict]) -> None:
        """Write a batch's name and what was decided on it into the transaction that stores it."""
        entry.event(KIND, name=name, verdicts=[_members(one) for one in verdicts])

    def _follow(self) -> None:
        newest = self._ledger.head.seq
        start = max(0, newest - _WINDOW) if self._read_to is None else self._read_to
        for event in self._ledger.events(after=start) if newest > start else ():
            if event.kind == KIND:
                body = json.loads(event.body)
                self._known[body["name"]] = body["verdicts"]
        self._read_to = max(start, newest)


def _members(verdict: Verdict) -> dict[str, Any]:
    return {
        "decision": verdict.decision.value,
        "code": verdict.code,
        "told": verdict.reason,
        "memory": verdict.memory_id,
        "item": verdict.item_id,
    }


def _verdict(members: dict[str, Any]) -> Verdict:
    return Verdict(
        Decision(members["decision"]),
        members["code"],
        members["told"],
        memory_id=members["memory"],
        item_id=members["item"],
    )
