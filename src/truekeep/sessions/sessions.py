"""Sessions: what a conversation took in, and whether what the agent writes in it may stand above hearsay.

A session is mediated when the host declared, at its start, that it reports everything the agent takes in. It is
clean until the first hearsay comes in: by observation, by a paste in a message of the owner's, or by a recall, list or
snapshot that showed some. Neither can be taken back.

What of an owner's message is pasted is decided when it comes in, from what the session had seen until then, and stored
with it: a page that repeats the owner's words later takes nothing away from them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime

from truekeep.errors import InvalidRequest
from truekeep.quote import OwnerMessage, Parts, Proof, prove_quote, split_paste, understood
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import new_id
from truekeep.transcripts import Observation, Transcripts, observations
from truekeep.types import Channel, Standing

_SHOWN = "It was shown hearsay from memory."
_PASTED = "The owner pasted text into a message."
_SHORT_QUOTATION = 60
_ALL = -1
_LET_GO = "let_go"


@dataclass(frozen=True, slots=True)
class SessionState:
    """How far a session's reports can be relied on."""

    is_mediated: bool = False
    taint: str = ""
    member: str | None = None
    """In a shared keep, for whom the session acts."""

    @property
    def is_clean(self) -> bool:
        """Whether what the agent writes here may stand above hearsay."""
        return self.is_mediated and not self.taint


class Sessions:
    """The sessions of one keep."""

    def __init__(
        self,
        ledger: Ledger,
        transcripts: Transcripts,
        note: Callable[[Entry, str, Standing], object],
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._transcripts = transcripts
        self._note = note
        self._clock = clock
        self._heard: list[Callable[[Entry, str], None]] = []

    def on_owner_message(self, heard: Callable[[Entry, str], None]) -> None:
        """Have something written in the transaction that records an owner's message, with the session it is in."""
        self._heard.append(heard)

    def begin(self, name: str, *, mediated: bool, member: str | None = None) -> None:
        """Declare what the host knows of a session. ``mediated`` counts only before anything happened in it."""
        if not (mediated or member):
            return
        with self._ledger.writing() if self._is_undeclared(name) else nullcontext() as entry:
            if entry is not None and self._is_undeclared(name):
                self._declare(entry, name, mediated=mediated, member=member)
        if self.state(name).member != member:
            raise InvalidRequest(
                "This session acts for somebody else.", code="another_member", hint="Begin a session of its own."
            )

    def _is_undeclared(self, name: str) -> bool:
        sealed = self._ledger.get("sessions", name)
        return sealed is None or (sealed.verified and _LET_GO in json.loads(sealed.row.body))

    def _declare(self, entry: Entry, name: str, *, mediated: bool, member: str | None) -> None:
        known = self._ledger.get("sessions", name)
        started = known or any(self._ledger.count(table, name) for table in ("observations", "exposures"))
        taint = "It was declared mediated only after it had begun." if started and mediated else ""
        body = {"v": 1, "mediated": mediated, "taint": taint, "member": member}
        if known is None:
            entry.put("sessions", name, body)
        else:
            entry.replace("sessions", known.row, body)
        entry.event("session.begun", session=name, mediated=mediated, member=member, clean=not taint)

    def let_go(self, entry: Entry, name: str) -> None:
        """Remember of a session that was never declared that it had begun: the agent may know what it read there."""
        if self._ledger.get("sessions", name) is None:
            entry.put("sessions", name, {"v": 1, "mediated": False, "taint": "", "member": None, _LET_GO: True})

    def took_in(self, entry: Entry, name: str, why: str) -> None:
        """Note, inside the caller's transaction, that hearsay came into a session by another way than a message.

        A clean one is tainted; one that nobody declared yet has begun, and can no longer be declared clean.
        """
        self.let_go(entry, name)
        self._taint(entry, name, why)

    def state(self, name: str | None) -> SessionState:
        """What is known of a session; one that was never declared, or whose row was altered, is not mediated."""
        sealed = self._ledger.get("sessions", name) if name else None
        if sealed is None or not sealed.verified:
            return SessionState()
        body = json.loads(sealed.row.body)
        return SessionState(body["mediated"], body["taint"], body["member"])

    def observe(
        self,
        session: str,
        channel: Channel,
        text: str,
        *,
        principal: str | None = None,
        message: str | None = None,
        role: str | None = None,
        relayed: bool = False,
        at: datetime | None = None,
        is_dated: bool = True,
    ) -> Observation:
        """Record what a session took in. Anything but the owner's and enrolled words taints it."""
        standing = Standing.HEARSAY if channel.standing is None or relayed else channel.standing
        is_owners = standing is Standing.OWNER
        parts = split_paste(text, self._transcripts.of(session).seen) if is_owners else Parts("")
        seen = Observation(
            id=new_id("obs"),
            session=session,
            channel=channel.name,
            standing=standing,
            text=text,
            at=at or self._clock(),
            principal=principal,
            message=message,
            role=role,
            own=parts.own,
            pasted=parts.pasted,
            is_dated=is_dated,
        )
        with self._ledger.writing() as entry:
            entry.put("observations", seen.id, replace(seen, order=entry.number).as_body(), tag=session)
            for told, stands in seen.told():
                self._note(entry, told, stands)
            for heard in self._heard if is_owners else ():
                heard(entry, session)
            entry.event("session.observed", session=session, observation=seen.id, channel=channel.name)
            if standing is Standing.HEARSAY:
                self._taint(entry, session, f"It took in text over the channel '{channel.name}'.")
            elif _is_foreign(parts):
                self._taint(entry, session, _PASTED)
        return seen

    def taint(self, name: str, why: str = _SHOWN) -> None:
        """From here on what the agent writes in this session is hearsay. Only mediated sessions need to know."""
        if self.state(name).is_clean:
            with self._ledger.writing() as entry:
                self._taint(entry, name, why)

    def observations(self, session: str) -> list[Observation]:
        """Everything a session took in, in order; altered rows are left out, and cannot prove anything."""
        return observations(self._ledger.tagged("observations", session, _ALL))

    def proof(self, session: str, quote: str, text: str, *, speaker: str | None = None) -> Proof:
        """Whether the quote proves that the owner said, in this session, what the text says."""
        return self.prover(session, speaker=speaker)(quote, text)

    def prover(self, session: str, *, speaker: str | None = None) -> Callable[[str, str], Proof]:
        """Proves quotes against the owner's messages of a session as they are now; each is read only once."""
        owners = tuple(self._transcripts.of(session, self.state(session).member).owners)
        said = [understood(OwnerMessage(one.own, one.at, one.is_dated)) for one in owners]

        def prove(quote: str, text: str) -> Proof:
            proof = prove_quote(quote, text, said, speaker=speaker)
            words = " ".join(quote.split())
            if proof.code == "quote_not_found" and any(words in " ".join(one.text.split()) for one in owners):
                return Proof(False, "quote_is_paste", "The quote stands in something you pasted, not in your words.")
            return proof

        return prove

    def _taint(self, entry: Entry, name: str, why: str) -> None:
        state, sealed = self.state(name), self._ledger.get("sessions", name)
        if state.is_clean and sealed is not None:
            entry.replace("sessions", sealed.row, {"v": 1, "mediated": True, "taint": why, "member": state.member})
            entry.event("session.tainted", session=name, why=why)


def _is_foreign(parts: Parts) -> bool:
    """Whether there is more to the paste than a few words between quotation marks."""
    return parts.signs not in ((), ("quotation",)) or any(len(part) > _SHORT_QUOTATION for part in parts.pasted)
