"""Sessions: what a conversation took in, and whether what the agent writes in it may stand above hearsay.

A session is mediated when the host declared, at its start, that it reports everything the agent takes in. It is
clean until the first hearsay comes in: by observation, or by a recall, list or snapshot that showed some. Neither can
be taken back.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from truekeep.stores.ledger import Entry, Ledger
from truekeep.stores.records import new_id
from truekeep.types import Channel, Standing, utc_moment, utc_text

_SHOWN = "It was shown hearsay from memory."


@dataclass(frozen=True, slots=True)
class SessionState:
    """How far a session's reports can be relied on."""

    is_mediated: bool = False
    taint: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether what the agent writes here may stand above hearsay."""
        return self.is_mediated and not self.taint


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


class Sessions:
    """The sessions of one keep."""

    def __init__(
        self, ledger: Ledger, note: Callable[[Entry, str, Standing], None], clock: Callable[[], datetime]
    ) -> None:
        self._ledger = ledger
        self._note = note
        self._clock = clock

    def declare_mediated(self, name: str) -> None:
        """The host reports everything in this session. Counts only before anything happened in it."""
        if self._ledger.get("sessions", name) is not None:
            return
        with self._ledger.writing() as entry:
            if self._ledger.get("sessions", name) is None:
                started = self._ledger.count("observations", name) > 0
                taint = "It was declared mediated only after it had begun." if started else ""
                entry.put("sessions", name, {"v": 1, "mediated": True, "taint": taint})
                entry.event("session.mediated", session=name, clean=not taint)

    def state(self, name: str | None) -> SessionState:
        """What is known of a session; one that was never declared, or whose row was altered, is not mediated."""
        sealed = self._ledger.get("sessions", name) if name else None
        if sealed is None or not sealed.verified:
            return SessionState()
        body = json.loads(sealed.row.body)
        return SessionState(body["mediated"], body["taint"])

    def observe(
        self,
        session: str,
        channel: Channel,
        text: str,
        *,
        principal: str | None = None,
        message: str | None = None,
        role: str | None = None,
    ) -> Observation:
        """Record what a session took in. Anything but the owner's and enrolled words taints it."""
        standing = Standing.HEARSAY if channel.standing is None else channel.standing
        seen = Observation(
            new_id("obs"), session, channel.name, standing, text, self._clock(), principal, message, role
        )
        with self._ledger.writing() as entry:
            entry.put("observations", seen.id, _body(seen), tag=session)
            self._note(entry, text, standing)
            entry.event("session.observed", session=session, observation=seen.id, channel=channel.name)
        if standing is Standing.HEARSAY:
            self.taint(session, f"It took in text over the channel '{channel.name}'.")
        return seen

    def taint(self, name: str, why: str = _SHOWN) -> None:
        """From here on what the agent writes in this session is hearsay. Only mediated sessions need to know."""
        if not self.state(name).is_clean:
            return
        with self._ledger.writing() as entry:
            sealed = self._ledger.get("sessions", name)
            if sealed is not None:
                entry.replace("sessions", sealed.row, {"v": 1, "mediated": True, "taint": why})
                entry.event("session.tainted", session=name, why=why)

    def observations(self, session: str) -> list[Observation]:
        """Everything a session took in, in order; altered rows are left out, and cannot prove anything."""
        found = self._ledger.tagged("observations", session, limit=-1)
        return [_observation(sealed.row.id, str(sealed.row.body)) for sealed in found if sealed.verified]


def _body(seen: Observation) -> dict[str, str | int | None]:
    return {
        "v": 1,
        "session": seen.session,
        "channel": seen.channel,
        "standing": seen.standing.label,
        "text": seen.text,
        "at": utc_text(seen.at),
        "principal": seen.principal,
        "message": seen.message,
        "role": seen.role,
    }


def _observation(row_id: str, text: str) -> Observation:
    body = json.loads(text)
    return Observation(
        id=row_id,
        session=body["session"],
        channel=body["channel"],
        standing=Standing[body["standing"].upper()],
        text=body["text"],
        at=utc_moment(body["at"]),
        principal=body["principal"],
        message=body["message"],
        role=body["role"],
    )
