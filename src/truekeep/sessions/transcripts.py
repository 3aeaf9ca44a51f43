"""Transcripts: what each session took in, kept ready for paste detection, quote proof and the act boundary.

Built from verified rows when a session is first asked about, and followed from write to write, whichever process
wrote. Everything here can be built again from the store.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from truekeep.stores.records import stored
from truekeep.stores.table_view import TableChanges
from truekeep.trust.flow.evidence import OwnerRequests
from truekeep.trust.flow.index import TextIndex
from truekeep.trust.flow.results import RecordBook, take_result
from truekeep.trust.flow.tools import Tool, tool_for
from truekeep.trust.origin import AGENT
from truekeep.trust.quote import SeenTexts
from truekeep.types import Standing

if TYPE_CHECKING:
    from truekeep.stores.ledger import Ledger, Sealed

_MOST_SESSIONS = 64
"""Sessions that are kept ready; one that comes back is read from the store again."""
_MOST_PARENTS = 16
"""Of a longer chain the oldest are left out: they prove nothing then, and a tainted one has tainted its children."""
_ALL = -1
_READ_IN_FULL = 240_000
"""Characters of a session's foreign texts that are read value by value, so that the first call after many pages is
answered soon. A value that stands only in what goes beyond them counts as found nowhere, which is asked about and never
let through; and where being found stops something, as it does a grant, whatever was left unread stops it too."""
_VALUE_WEIGHS = 20
"""A value costs as much to read as that many characters: a page of nothing but numbers uses the room up sooner."""
_BEGINNING = 400
"""Of every further foreign text, its beginning."""
_READ_OF_EACH = 4_000
"""Of a result that everybody may see, its beginning."""
PASTE = "paste"


@dataclass(frozen=True, slots=True)
class Observation:
    """One text that a session took in, and over which channel."""

    id: str
    session: str
    channel: str
    standing: Standing
    text: str
    at: datetime
    principal: str | None = None
    message: str | None = None
    role: str | None = None
    """For display only: it grants nothing."""
    own: str = ""
    """What of the text is the owner's own words; nothing of what came over another channel is."""
    pasted: tuple[str, ...] = ()
    """What the owner pasted: it was read, not said."""
    is_dated: bool = True
    """Whether ``at`` is when it was said; where nobody knows, "tomorrow" stays "tomorrow"."""
    order: int = 0
    """The number of the audit event that wrote it down. ``at`` may be the host's or a sender's word; this is not."""
    tool: str = ""
    """The tool whose result it is."""

    def told(self) -> Iterator[tuple[str, Standing]]:
        """The texts in it, each with how far it is proven."""
        if self.standing is not Standing.OWNER:
            yield self.text, self.standing
            return
        yield self.own, Standing.OWNER
        for part in self.pasted:
            yield part, Standing.HEARSAY

    def as_body(self) -> dict[str, Any]:
        """The observation as stored; its id is the row's."""
        return _OBSERVATION.write(self) | ({} if self.is_dated else {"undated": True})


_OBSERVATION = stored(
    Observation,
    given=("id", "is_dated"),
    sparse=("principal", "message", "role", "own", "pasted", "order", "tool"),
)


@dataclass(slots=True)
class Transcript:
    """One session as it is looked back at, by the owner or, in a shared keep, by the member it acts for.

    What the act boundary looks values up in is read when it first asks: the owner's requests, what others wrote, the
    records that results offered, and what of results is private.
    """

    member: str | None = None
    ids: set[str] = field(default_factory=set)
    """What it holds."""
    owners: list[Observation] = field(default_factory=list)
    """The owner's messages, oldest first."""
    seen: SeenTexts = field(default_factory=SeenTexts)
    requests: OwnerRequests = field(default_factory=OwnerRequests)
    foreign: TextIndex = field(default_factory=TextIndex)
    private: TextIndex = field(default_factory=TextIndex)
    public: TextIndex = field(default_factory=TextIndex)
    records: RecordBook = field(default_factory=RecordBook)
    results: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many results of a tool were reported, by session and tool."""
    _unread: list[Observation] = field(default_factory=list)
    _room: int = _READ_IN_FULL

    def add(self, observation: Observation) -> None:
        """Take in one more observation."""
        self.ids.add(observation.id)
        if observation.standing is Standing.OWNER and observation.principal == self.member:
            self.owners.append(observation)
            for part in observation.pasted:
                self.seen.add(part)
        elif observation.channel != AGENT:
            self.seen.add(observation.text)
        if observation.tool:
            self.results[observation.session, observation.tool] += 1
        self._unread.append(observation)

    def read_for_calls(self, tools: Mapping[str, Tool]) -> Self:
        """Read what came in since the last call, so that values can be looked up in it."""
        unread, self._unread = self._unread, []
        for seen in unread:
            if seen.tool:
                self._take_result(seen, tool_for(seen.tool, tools))
            elif seen.standing is Standing.OWNER and seen.principal == self.member:
                if self.requests.add(seen.text, seen.at, _spans(seen.text, seen.pasted)).refuses:
                    # What was found for plans ends with what they were made for.
                    self.records.results.clear()
                for number, part in enumerate(seen.pasted):
                    self._take_foreign(f"{seen.id}.{number}", part, PASTE, seen.at)
            elif seen.channel != AGENT:
                self._take_foreign(seen.id, seen.text, seen.principal or seen.channel, seen.at)
        return self

    def _take_foreign(self, name: str, text: str, origin: str, at: datetime) -> None:
        """Read as much of a foreign text as there is room for: all of it, or its beginning."""
        chosen = text if len(text) <= self._room else text[:_BEGINNING]
        if len(chosen) < len(text):
            self.foreign.leave(text)
        self.foreign.add(name, chosen, origin=origin, at=at)
        values = len(self.foreign.texts[name].reading.values)
        self._room = max(0, self._room - len(chosen) - _VALUE_WEIGHS * values)

    def _take_result(self, seen: Observation, tool: Tool) -> None:
        taken = take_result(tool, seen.text)
        self.records.add(taken)
        if tool.own or tool.reads is None:
            self.private.add(seen.id, taken.whole, at=seen.at)
        else:
            self.public.add(seen.id, taken.whole[:_READ_OF_EACH], at=seen.at)
        if taken.is_tainting:
            origin = seen.principal or seen.tool or seen.channel
            self._take_foreign(seen.id, "\n".join(taken.taints), origin, seen.at)


def _spans(text: str, parts: Sequence[str]) -> list[tuple[int, int]]:
    """Where somebody else's words stand in a message; what stands only beside it has no place in it."""
    return [(start, start + len(part)) for part in parts if (start := text.find(part)) >= 0]


class Transcripts:
    """The sessions of one keep that were asked about lately."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: OrderedDict[tuple[str, str | None], Transcript] = OrderedDict()
        self._changes = TableChanges(ledger, "observations")

    def of(self, session: str, member: str | None = None) -> Transcript:
        """The session's transcript as of now; altered rows are left out, and cannot prove anything."""
        key = (session, member)
        with self._ledger.reading():
            self._follow()
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = Transcript(member)
                for seen in self._taken_in(session):
                    found.add(seen)
            self._known.move_to_end(key)
            while len(self._known) > _MOST_SESSIONS:
                self._known.popitem(last=False)
            return found

    def _taken_in(self, session: str) -> list[Observation]:
        """What a session took in, after what its parents had taken in when it went on from them."""
        found: list[Observation] = []
        name, before = session, None
        for _ in range(_MOST_PARENTS):
            own = observations(self._ledger.tagged("observations", name, _ALL))
            found = [one for one in own if before is None or one.order < before] + found
            sealed = self._ledger.get("sessions", name)
            body = json.loads(sealed.row.body) if sealed is not None and sealed.verified else {}
            if body.get("parent") is None:
                break
            name, before = body["parent"], body["begun"]
        return found

    def _follow(self) -> None:
        with self._changes.taken() as changed:
            if changed is None or changed.gone:
                self._known.clear()  # what was erased is in no transcript, so that all are read again
            elif changed.places:
                rows = observations(list(self._ledger.at("observations", sorted(changed.places)).values()))
                if any(seen.id in known.ids for seen in rows for known in self._known.values()):
                    self._known.clear()  # something in it was forgotten, or is said again
                    return
                for seen in rows:
                    for (session, _), transcript in self._known.items():
                        if session == seen.session:
                            transcript.add(seen)


def observations(found: Sequence[Sealed]) -> list[Observation]:
    """The observations in rows, altered ones left out."""
    return [_observation(sealed) for sealed in found if sealed.verified]


def _observation(sealed: Sealed) -> Observation:
    body = json.loads(sealed.row.body)
    return _OBSERVATION.read(body, id=sealed.row.id, is_dated=not body.get("undated", False))
