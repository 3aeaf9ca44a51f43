"""What a session offers as evidence for a call: plain values that the integrator fills as things happen.

Everything here is added to incrementally. ``SessionEvidence`` refers to the keep's indexes of acting memories and of
remembered hearsay, which all sessions share, and holds what belongs to the session alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest
from truekeep.trust.flow.index import TextIndex, stands_whole
from truekeep.trust.flow.requests import PROVING, ClauseSort, OwnerSaid, said
from truekeep.trust.flow.results import RecordBook

if TYPE_CHECKING:
    from truekeep.trust.flow.reading import TextReading
    from truekeep.trust.flow.tools import Tool


class ValueOrigin(StrEnum):
    """Where a value of a call comes from, from the best to the worst."""

    NEITHER = "neither"
    PLAN = "plan"
    GRANT = "grant"
    REQUEST = "request"
    CONFIRMED = "confirmed"
    MEMORY = "memory"
    RECORD = "record"
    COMPOSED = "composed"
    MENTION = "mention"
    NOTE = "note"
    NOWHERE = "nowhere"
    PRIVATE = "private"
    POINTED = "pointed"
    HEARSAY = "hearsay"


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One call that a model intended while it had seen nothing foreign; single use.

    An argument is ``{"literal": value}``, ``{"result": [tool, field]}`` or ``{"content": True}``.
    """

    id: str
    tool: str
    arguments: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StandingGrant:
    """The owner's standing permission: a tool, patterns for targets, a cap on a number, an end."""

    id: str
    tool: str
    where: Mapping[str, str]
    cap: Mapping[str, str] = field(default_factory=dict)
    until: datetime | None = None

    def __post_init__(self) -> None:
        if not self.where:
            raise InvalidRequest("A grant names at least one target.", hint="Give where={argument: pattern}.")

    def as_dict(self) -> dict[str, Any]:
        """The grant as JSON members."""
        until = self.until.isoformat() if self.until is not None else None
        return {"id": self.id, "tool": self.tool, "where": dict(self.where), "cap": dict(self.cap), "until": until}

    def holds(self, tool: str, now: datetime) -> bool:
        """Whether it speaks of this tool and has not ended."""
        return fnmatchcase(tool, self.tool) and (self.until is None or now < self.until)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """One request that is open: a clause of one of the owner's messages, or several that one call carries out."""

    message: int
    clause: int
    others: tuple[int, ...] = ()
    """The clauses after it that the same call takes up."""

    @property
    def clauses(self) -> tuple[int, ...]:
        """All of its clauses."""
        return (self.clause, *self.others)

    @property
    def ids(self) -> tuple[str, ...]:
        """Names for its clauses that stay the same for the session."""
        return tuple(f"{self.message}.{clause}" for clause in self.clauses)


def _is_aside(message: OwnerSaid) -> bool:
    """Whether a message asks for nothing, gives no value and is more than a few words: then it may take something back.

    "Hang on, Petra still has work on it" after "delete the branch" is such a one; "the blue one" is an answer.
    """
    asks = any((one.acts or one.polite or one.sort in _ASKING) and not one.hesitates for one in message.clauses)
    gives = any(_GIVES.search(message.reading.flat, v.start, v.end) for v in message.reading.values)
    # "Toch liever niet" only denies, whatever it may deny.
    is_denial = not asks and any(clause.denies for clause in message.clauses)
    return is_denial or (not asks and not gives and len(message.reading.words) > _SHORT_ANSWER)


_ASKING = frozenset({ClauseSort.READING, ClauseSort.QUESTION})
_GIVES = re.compile(r"\d|[^\W\d_]\W+[^\W\d_]")
"""What tells a value that answers something from a word: "tonight" and "one more time" answer nothing."""
_SHORT_ANSWER = 5
"""Words of an answer to a question of the agent's."""
_MOST_OPEN = 24
"""Requests that a call is compared with; each costs time, and one beyond them is asked about."""
_MOST_JOINED = 4
"""Clauses of one message that are tried together."""


@dataclass(slots=True)
class OwnerRequests:
    """The owner's messages of a session in order, and which requests in them are open. Fill it with ``add``.

    A later refusal withdraws every earlier request, whatever else it names. A message in no language with tables
    suspends them, and so does one that asks for nothing, answers nothing and is more than a few words; second thoughts
    in the same message take back what was asked before them.
    """

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

    @property
    def joined(self) -> tuple[OpenRequest, ...]:
        """Neighbours among the open requests of a message: one call may move a ticket and assign it."""
        found = []
        for number in dict.fromkeys(request.message for request in self.open):
            row = [request.clause for request in self.open if request.message == number][:_MOST_JOINED]
            for first, last in combinations(range(len(row)), 2):
                between = self.messages[number].clauses[row[first] : row[last]]
                if all(clause.sort in PROVING for clause in between):
                    found.append(OpenRequest(number, row[first], tuple(row[first + 1 : last + 1])))
        return tuple(found)

    def name(self, value: TextReading) -> bool:
        """Whether a value stands whole in any message, whatever is said of it there."""
        return any(stands_whole(message.reading, value) for message in self.messages)


@dataclass(slots=True)
class SessionEvidence:
    """One session's evidence. ``spent`` maps what redeemed tickets used (requests, plan entries) to the values."""

    now: datetime
    clean: bool
    memories: TextIndex = field(default_factory=TextIndex)
    """Passages that may act."""
    hearsay: TextIndex = field(default_factory=TextIndex)
    """What is remembered and only informs."""
    notes: TextIndex = field(default_factory=TextIndex)
    """What stands above hearsay and may not act: the agent's notes, a lone system's word, another member's."""
    foreign: TextIndex = field(default_factory=TextIndex)
    """What this session took in from others, with foreign spans of the owner's messages."""
    private: TextIndex = field(default_factory=TextIndex)
    """Results of the owner's own systems, as text: what must not leave."""
    public: TextIndex = field(default_factory=TextIndex)
    """Results of other people's systems and pages, which anybody can read."""
    requests: OwnerRequests = field(default_factory=OwnerRequests)
    records: RecordBook = field(default_factory=RecordBook)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    plan: tuple[PlanEntry, ...] = ()
    grants: tuple[StandingGrant, ...] = ()
    confirmed: tuple[frozenset[str], ...] = ()
    """For each call the owner confirmed in this session, its values in their normal form."""
    spent: dict[str, frozenset[str]] = field(default_factory=dict)
    is_bare_note: Callable[[str], bool] = lambda _: False
    """Whether remembered hearsay is only a note of the agent's, from a session that reports to nobody."""

    def is_confirmed(self, form: str) -> bool:
        """Whether the owner confirmed a call with this value."""
        return any(form in values for values in self.confirmed)

    def spend(self, uses: Mapping[str, frozenset[str]]) -> None:
        """Note what a redeemed ticket used up."""
        for name, values in uses.items():
            self.spent[name] = self.spent.get(name, frozenset()) | values
