"""Requests: which named requests a keep has carried out, so that one that is sent again is not carried out twice.

The note is an event of the same transaction, so a crash leaves both or neither, and every process that has the keep
open sees it. It holds ids and codes; what was said is not in it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest
from truekeep.stores.chain import is_restating
from truekeep.stores.codec import Shape
from truekeep.stores.records import unreadable
from truekeep.types import Candidate, Decision, Verdict

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger

KIND = "request.done"
_WINDOW = 50_000
"""How many events a name is remembered for at least."""


_VERDICT = Shape(
    Verdict, given=("findings",), names={"reason": "told", "memory_id": "memory", "item_id": "item"}, refuse=unreadable
)


class RequestDone(InvalidRequest):
    """What is asked for was done before under the same name."""

    code = "request_done"
    default_hint = "Look at what is there now instead of sending it again."

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        super().__init__("This request was carried out before.")
        self.verdicts = tuple(verdicts)


class Idempotency:
    """The named requests of one keep, as its newest events tell of them."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.RLock()
        self._read_to: int | None = None
        self._known: dict[str, list[dict[str, Any]]] = {}

    def name(self, request: str, via: str, candidates: Sequence[Candidate], *, skips: bool) -> str:
        """What a batch goes by here: whose it is and what it says count, so that nobody's name pre-empts another's.

        It is keyed, so that the log does not give away what an erased batch said.
        """
        told = [
            [
                one.text,
                one.kind,
                one.topics,
                one.entities,
                one.metadata,
                one.as_of,
                one.expires_at,
                one.origin.as_dict(),
            ]
            for one in candidates
        ]
        return self._ledger.digest("request", json.dumps([request, via, skips, told], sort_keys=True, default=str))

    def answered(self, name: str) -> list[Verdict] | None:
        """What was decided on the batch of that name, if there was one."""
        with self._ledger.reading(), self._lock:
            self._follow()
            found = self._known.get(name)
        return None if found is None else [_VERDICT.read(one) for one in found]

    def note(self, entry: Entry, name: str, verdicts: Sequence[Verdict]) -> None:
        """Write a batch's name and what was decided on it into the transaction that stores it."""
        entry.event(KIND, name=name, verdicts=[_VERDICT.write(one) for one in verdicts])

    @contextmanager
    def once(self, name: str) -> Iterator[None]:
        """What the block changes in one transaction is changed once under that name; done before is ``RequestDone``."""
        mark = _Mark(self, name)
        mark.require_new()
        with self._ledger.marked(mark):
            yield

    def _follow(self) -> None:
        newest = self._ledger.head.seq
        start = max(0, newest - _WINDOW) if self._read_to is None else self._read_to
        fresh = self._ledger.events(after=start) if newest > start else []
        if self._read_to is not None and any(is_restating(event) for event in fresh):
            self._known.clear()
            fresh = self._ledger.events(after=max(0, newest - _WINDOW))
        for event in fresh:
            if event.kind == KIND:
                body = json.loads(event.body)
                self._known[body["name"]] = body["verdicts"]
        while len(self._known) > _WINDOW:
            del self._known[next(iter(self._known))]
        self._read_to = max(start, newest)


class _Mark:
    """A request's name on the transaction that carries it out."""

    def __init__(self, requests: Idempotency, name: str) -> None:
        self._requests = requests
        self._name = name

    def require_new(self) -> None:
        """Raise if it was done before."""
        verdicts = self._requests.answered(self._name)
        if verdicts is not None:
            raise RequestDone(verdicts)

    def note(self, entry: Entry) -> None:
        """Write it down; what was rejected may be tried again."""
        verdicts = [one for one in entry.told if isinstance(one, Verdict)]
        if not any(verdict.decision is Decision.REJECT for verdict in verdicts):
            self._requests.note(entry, self._name, verdicts)
