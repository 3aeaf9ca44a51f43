"""Transcripts: what each session took in, kept ready for paste detection, quote proof and the act boundary.

Built from verified rows when a session is first asked about, and followed from write to write, whichever process
wrote. Everything here can be built again from the store.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.quote import SeenTexts
from truekeep.stores.audit import Touched
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.types import Standing, utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.action import ValueIndex

_MOST_SESSIONS = 64
_ALL = -1
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
        members = {
            "v": 1,
            "session": self.session,
            "channel": self.channel,
            "standing": self.standing.label,
            "text": self.text,
            "at": utc_text(self.at),
            "principal": self.principal,
            "message": self.message,
            "role": self.role,
            "own": self.own,
            "pasted": list(self.pasted),
            "undated": None if self.is_dated else True,
            "order": self.order or None,
        }
        return {name: value for name, value in members.items() if value not in (None, "", [])}


@dataclass(slots=True)
class Transcript:
    """One session as it is looked back at, by the owner or, in a shared keep, by the member it acts for."""

    member: str | None = None
    owners: list[Observation] = field(default_factory=list)
    """The owner's messages, oldest first."""
    seen: SeenTexts = field(default_factory=SeenTexts)
    _unindexed: list[Observation] = field(default_factory=list)
    _owner: ValueIndex | None = None
    _observed: ValueIndex | None = None
    _pasted: ValueIndex | None = None

    def add(self, observation: Observation) -> None:
        """Take in one more observation."""
        if observation.standing is not Standing.OWNER:
            self.seen.add(observation.text)
        elif observation.principal == self.member:
            self.owners.append(observation)
        self._unindexed.append(observation)

    def indexes(self) -> tuple[ValueIndex, ValueIndex, ValueIndex]:
        """The values in the owner's own words, in what was merely read or pasted, and in messages with a paste."""
        from truekeep.action import ValueIndex  # noqa: PLC0415 - only the act boundary needs it

        if self._owner is None or self._observed is None or self._pasted is None:
            self._owner, self._observed = ValueIndex(is_owners=True), ValueIndex(is_loose=True)
            self._pasted = ValueIndex(is_owners=True)
        waiting, self._unindexed = self._unindexed, []
        for seen in waiting:
            if seen.pasted and seen.principal == self.member:
                self._pasted.add(seen.id, seen.text, at=seen.at, channel=seen.channel, principal=seen.principal)
            for number, (text, standing) in enumerate(seen.told()):
                if standing is Standing.OWNER and seen.principal == self.member:
                    self._owner.add(seen.id, text, at=seen.at, channel=seen.channel, principal=seen.principal)
                elif standing is Standing.HEARSAY:
                    channel = PASTE if seen.standing is Standing.OWNER else seen.channel
                    place = f"{seen.id}.{number}"
                    self._observed.add(place, text, at=seen.at, channel=channel, principal=seen.principal)
        return self._owner, self._observed, self._pasted


class Transcripts:
    """The sessions of one keep that were asked about lately."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.RLock()
        self._known: OrderedDict[tuple[str, str | None], Transcript] = OrderedDict()
        self._fresh: set[int] = set()
        self._erased = False
        ledger.watch(self._note)

    def of(self, session: str, member: str | None = None) -> Transcript:
        """The session's transcript as of now; altered rows are left out, and cannot prove anything."""
        key = (session, member)
        with self._ledger.reading(), self._lock:
            self._follow()
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = Transcript(member)
                for seen in observations(self._ledger.tagged("observations", session, _ALL)):
                    found.add(seen)
            self._known.move_to_end(key)
            while len(self._known) > _MOST_SESSIONS:
                self._known.popitem(last=False)
            return found

    def _follow(self) -> None:
        fresh, self._fresh = sorted(self._fresh), set()
        if self._erased:
            # What remains is read again; an erased row's place may have been given to another by now.
            self._known.clear()
            self._erased = False
            return
        rows = self._ledger.at("observations", fresh) if fresh else {}
        for seen in observations([rows[seq] for seq in fresh if seq in rows]):
            for (session, _), transcript in self._known.items():
                if session == seen.session:
                    transcript.add(seen)

    def _note(self, changed: Sequence[Touched]) -> None:
        with self._lock:
            touched = [(seq, mac) for table, seq, mac in changed if table == "observations"]
            self._fresh |= {seq for seq, _ in touched}
            self._erased = self._erased or any(mac is None for _, mac in touched)


def observations(found: Sequence[Sealed]) -> list[Observation]:
    """The observations in rows, altered ones left out."""
    return [_observation(sealed.row.id, str(sealed.row.body)) for sealed in found if sealed.verified]


def _observation(row_id: str, text: str) -> Observation:
    body = json.loads(text)
    return Observation(
        id=row_id,
        session=body["session"],
        channel=body["channel"],
        standing=Standing[body["standing"].upper()],
        text=body["text"],
        at=utc_moment(body["at"]),
        principal=body.get("principal"),
        message=body.get("message"),
        role=body.get("role"),
        own=body.get("own", ""),
        pasted=tuple(body.get("pasted", ())),
        is_dated=not body.get("undated", False),
        order=body.get("order", 0),
    )
