"""Which of the owner's requests are open: a later refusal withdraws every earlier one, whatever else it names.

A message in no language with tables suspends them, and so does one that asks for nothing, answers nothing and is more
than a few words; second thoughts in the same message take back what was asked before them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from truekeep.trust.flow.requests import ClauseSort, OwnerClause, OwnerSaid, said


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """One request that is open: a clause of one of the owner's messages."""

    message: int
    clause: int

    @property
    def id(self) -> str:
        """A name for it that stays the same for the session."""
        return f"{self.message}.{self.clause}"


def _is_aside(message: OwnerSaid) -> bool:
    """Whether a message asks for nothing, gives no value and is more than a few words: then it may take something back.

    "Hang on, Petra still has work on it" after "delete the branch" is such a one; "the blue one" is an answer.
    """
    asks = any(clause.acts or clause.sort in _ASKING for clause in message.clauses)
    return not asks and not message.reading.values and len(message.reading.words) > _SHORT_ANSWER


_ASKING = frozenset({ClauseSort.READING, ClauseSort.QUESTION})
_SHORT_ANSWER = 5
"""Words of an answer to a question of the agent's."""
_MOST_OPEN = 24
"""Requests that a call is compared with; each costs time, and one beyond them is asked about."""


@dataclass(slots=True)
class OwnerRequests:
    """The owner's messages of a session in order, and which requests in them are open. Fill it with ``add``."""

    messages: list[OwnerSaid] = field(default_factory=list)
    _open: list[OpenRequest] = field(default_factory=list)

    def add(self, text: str, at: datetime | None = None, foreign: Iterable[tuple[int, int]] = ()) -> OwnerSaid:
        """Take in the next message; earlier requests end if it refuses, and are suspended if it is not understood."""
        spans = tuple(foreign)
        found = said(text, at, spans)
        # A refusal counts wherever it stands: a page that had said "do not pay" first must not make the owner's own
        # "do not pay" a copy that refuses nothing.
        if (
            found.refuses
            or _is_aside(found)
            or (spans and any(clause.refuses for clause in said(text, at, ()).clauses))
        ):
            self._open.clear()
        number = len(self.messages)
        self.messages.append(found)
        for place, clause in enumerate(found.clauses):
            # "and then leave it" goes on with what was asked; a refusal of its own takes it back.
            if (clause.sort is ClauseSort.REFUSAL and not clause.goes_on) or clause.hesitates:
                self._open = [request for request in self._open if request.message != number]
            if clause.sort is ClauseSort.REQUEST:
                self._open.append(OpenRequest(number, place))
        return found

    @property
    def open(self) -> tuple[OpenRequest, ...]:
        """Open requests, those of the newest message first, in the order they were said; of very many the newest."""
        return tuple(sorted(self._open[-_MOST_OPEN:], key=lambda one: (-one.message, one.clause)))

    def clause(self, request: OpenRequest) -> OwnerClause:
        """The clause of a request."""
        return self.messages[request.message].clauses[request.clause]
