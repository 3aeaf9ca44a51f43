"""The desk: what a person looks at who has to decide on a call, and how they take a decision back.

It reads what sessions and the boundary wrote: what came into a session and which of it tainted it, how its calls were
judged, what the owner had asked before a call, and where in foreign text a value of it stands. Nothing here permits
anything; a decision that is taken back makes the call wait again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from truekeep.act.question import question_about
from truekeep.act.tickets import DECLINED, OPEN, WAITING, TicketRecord, Tickets
from truekeep.errors import TicketRefused, UnknownId
from truekeep.sessions.transcripts import Observation, observations
from truekeep.stores.table_view import TableView
from truekeep.trust.origin import AGENT, own_principal, require, session_name
from truekeep.types import Standing, utc_moment

if TYPE_CHECKING:
    from truekeep.sessions.channels import Channels
    from truekeep.sessions.sessions import Sessions, SessionState
    from truekeep.stores.ledger import Ledger, Sealed

Span = tuple[int, int]
_AROUND = 120
"""Characters of a foreign text on each side of a value: enough to see in what sentence it stood."""
_MOST_QUOTES = 6
"""A person reads no more before they decide."""
_TOGETHER = 20
"""Events that lie between a foreign text and the taint it brings, at most; both are of one transaction."""
_SHORTEST = 3
"""A value of fewer characters stands by accident in every text."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session in a list: how it stands, and how much came in and was asked in it."""

    name: str
    state: SessionState
    last: datetime
    entered: int
    foreign: int
    answers: Counter[str]
    """How many calls were allowed, had to be confirmed and were denied."""


@dataclass(frozen=True, slots=True)
class SessionMoment:
    """Something that happened in a session: a text that came in, a call that was judged, or its taint."""

    at: datetime
    kind: str
    """``entered``, ``call`` or ``tainted``."""
    observation: Observation | None = None
    ticket: TicketRecord | None = None
    is_tainting: bool = False
    """Whether just this tainted the session."""


@dataclass(frozen=True, slots=True)
class SessionStory:
    """A session from its beginning: the picture that explains why a call was asked about."""

    line: SessionLine
    moments: tuple[SessionMoment, ...]
    left_out: int
    """Older moments that are not told."""


@dataclass(frozen=True, slots=True)
class ForeignQuote:
    """Where a value of a call stands in text that is not the owner's."""

    path: str
    source: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class CallContext:
    """What stands beside a question: the owner's last request, what of the call is in it, and foreign text, quoted."""

    request: str
    asked_at: datetime | None
    in_request: tuple[Span, ...]
    """Where values of the call stand in the request."""
    not_in_request: tuple[str, ...]
    """Places of the call whose value the request does not have: the difference from what was asked."""
    quotes: tuple[ForeignQuote, ...]


class CallDesk:
    """Sessions and calls of one keep, for a person's eyes."""

    def __init__(
        self,
        ledger: Ledger,
        channels: Channels,
        sessions: Sessions,
        tickets: Tickets,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._channels = channels
        self._sessions = sessions
        self._tickets = tickets
        self._clock = clock
        self._begun = TableView(ledger, "sessions", lambda sealed: sealed.row.id)
        self._entered = TableView(ledger, "observations", _glimpse)

    def sessions(self, most: int) -> list[SessionLine]:
        """The sessions in which something happened, the latest first."""
        with self._ledger.reading():
            entered: dict[str, list[tuple[datetime, bool]]] = {}
            for name, at, is_foreign in self._entered.now().values():
                entered.setdefault(name, []).append((at, is_foreign))
            calls: dict[str, list[TicketRecord]] = {}
            for record in self._tickets.all():
                calls.setdefault(record.session, []).append(record)
            last = {
                name: max((*(at for at, _ in entered.get(name, ())), *(one.at for one in calls.get(name, ()))))
                for name in entered.keys() | calls.keys()
            }
            names = sorted(last, key=lambda name: (last[name], name), reverse=True)[:most]
            return [self._line(name, last[name], entered.get(name, ()), calls.get(name, ())) for name in names]

    def session(self, name: str, most: int = 200) -> SessionStory:
        """What happened in one session, oldest first; of a long one the latest."""
        name = session_name(name)
        with self._ledger.reading():
            seen = self._sessions.observations(name)
            calls = [record for record in self._tickets.all() if record.session == name]
            if not seen and not calls and name not in self._begun.now().values():
                raise UnknownId("No such session.", code="unknown_session", hint="The sessions page lists them.")
            state = self._sessions.state(name)
            by = self._tainting(seen, state)
            entering = (SessionMoment(one.at, "entered", one, is_tainting=one.id == by) for one in seen)
            moments = sorted((*entering, *_asked(calls)), key=lambda one: one.at)
            if state.tainted_at and not any(one.is_tainting for one in moments):
                moments = sorted((*moments, *self._tainted(state)), key=lambda one: one.at)
            last = moments[-1].at if moments else self._clock()
            line = self._line(name, last, [(one.at, _is_foreign(one)) for one in seen], calls)
        return SessionStory(line, tuple(moments[-most:]), max(0, len(moments) - most))

    def context(self, record: TicketRecord) -> CallContext:
        """What the owner had asked before a call, and where in foreign text its values stand."""
        seen = [one for one in self._sessions.observations(record.session) if one.at <= record.at]
        question = question_about(record)
        values = [(one.path, one.text) for one in question.values if len(one.text) >= _SHORTEST]
        asked = next((one for one in reversed(seen) if one.standing is Standing.OWNER and one.own.strip()), None)
        request = asked.own if asked is not None else ""
        found = {path: _places(request, text) for path, text in values}
        return CallContext(
            request,
            asked.at if asked is not None else None,
            tuple(span for spans in found.values() for span in spans),
            tuple(path for path, spans in found.items() if not spans),
            tuple(_quotes(seen, [(one.path, one.text) for one in question.values if one.is_doubtful])),
        )

    def take_back(self, ticket: str, *, via: str) -> None:
        """Take back the yes or no that was given over the same channel, while the call is not carried out.

        It waits again; what was confirmed with it is no longer the owner's word in that session.
        """
        channel = self._channels.get(via)
        require(channel, "confirm")
        with self._ledger.writing() as entry:
            found = self._tickets.get(ticket)
            if found is None or found[1].decided_by != channel.name or found[1].state not in (OPEN, DECLINED):
                raise UnknownId("There is no decision on such a call to take back.", code="nothing_to_undo")
            sealed, record = found
            if record.expires_at <= self._clock():
                raise TicketRefused("The question has expired.", code="ticket_expired", hint="Check the action again.")
            if own_principal(channel) != self._sessions.state(record.session).member:
                raise TicketRefused("Another member's session asked.", code="another_member")
            self._tickets.replace(entry, sealed, replace(record, state=WAITING, decided_by=None))
            entry.event("action.reconsidered", ticket=record.id, action=record.action, by=channel.name)

    def answers_by_day(self) -> Counter[tuple[date, str]]:
        """How many calls were allowed, had to be confirmed and were denied on each day."""
        with self._ledger.reading():
            return Counter((record.at.date(), record.decision) for record in self._tickets.all())

    def _line(
        self, name: str, last: datetime, entered: Sequence[tuple[datetime, bool]], calls: Iterable[TicketRecord]
    ) -> SessionLine:
        answers = Counter(record.decision for record in calls)
        state = self._sessions.state(name)
        return SessionLine(name, state, last, len(entered), sum(foreign for _, foreign in entered), answers)

    def _tainting(self, seen: Sequence[Observation], state: SessionState) -> str:
        """The text that tainted a session: the last foreign one before its taint, unless a fresh context came after.

        Nothing where it was tainted by another way than a text.
        """
        before = [one for one in seen if state.taint and one.order < state.tainted_at and _is_foreign(one)]
        if not before or state.tainted_at - before[-1].order > _TOGETHER:
            return ""
        between = self._ledger.events(after=before[-1].order, limit=state.tainted_at - before[-1].order)
        return "" if any(event.kind == "session.segmented" for event in between) else before[-1].id

    def _tainted(self, state: SessionState) -> Iterator[SessionMoment]:
        """The taint by itself, where it came by another way than a text: a memory that was shown, or a parent."""
        for event in self._ledger.events(after=state.tainted_at - 1, limit=1):
            yield SessionMoment(utc_moment(event.at), "tainted", is_tainting=True)


def _glimpse(sealed: Sealed) -> tuple[str, datetime, bool]:
    """What a list needs of a text that came in."""
    (seen,) = observations([sealed])
    return seen.session, seen.at, _is_foreign(seen)


def _is_foreign(seen: Observation) -> bool:
    if seen.standing is Standing.OWNER:
        return bool(seen.pasted)
    return seen.channel != AGENT


def _asked(calls: Iterable[TicketRecord]) -> Iterator[SessionMoment]:
    return (SessionMoment(record.at, "call", ticket=record) for record in calls)


def _places(text: str, value: str) -> list[Span]:
    """Where a value stands in a text as a whole, not inside a longer word or number."""
    folded, wanted, found, start = text.casefold(), value.casefold(), list[Span](), 0
    while wanted and (place := folded.find(wanted, start)) >= 0:
        start = place + len(wanted)
        around = folded[max(0, place - 1) : place] + folded[start : start + 1]
        if len(folded) == len(text) and not any(char.isalnum() for char in around):
            found.append((place, start))
    return found


def _quotes(seen: Iterable[Observation], values: Sequence[tuple[str, str]]) -> Iterator[ForeignQuote]:
    """The newest foreign texts that a doubtful value stands in, a few of them."""
    told = 0
    for one in reversed([one for one in seen if _is_foreign(one)]):
        text = "\n".join(one.pasted) if one.standing is Standing.OWNER else one.text
        for path, value in values:
            for start, end in _places(text, value)[:1]:
                first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
                yield ForeignQuote(path, one.principal or one.channel, text[first:last], (start - first, end - first))
                told += 1
                if told == _MOST_QUOTES:
                    return
