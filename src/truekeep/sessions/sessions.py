"""Sessions: what a conversation took in, and whether what the agent writes in it may stand above hearsay.

A session is mediated when the host declared, at its start, that it reports everything the agent takes in. A mediated
session is clean while nothing foreign is in its context: whoever has read nothing foreign cannot have been steered by
it. A page, a mail, a tool's result, a paste in the owner's message or a memory that only informs taints it for good,
and so does a parent that was not clean when the session went on from it. An unknown session is not clean.

What of an owner's message is pasted is decided when it comes in, from what the session had seen until then, and stored
with it: a page that repeats the owner's words later takes nothing away from them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from truekeep.errors import InvalidRequest
from truekeep.sessions.tools import as_table
from truekeep.sessions.transcripts import Observation, Transcript, Transcripts, observations
from truekeep.stores.records import new_id
from truekeep.trust.flow.evidence import PlanEntry
from truekeep.trust.flow.results import take_result
from truekeep.trust.flow.tools import Tool
from truekeep.trust.origin import AGENT
from truekeep.trust.quote import Parts, SeenTexts, split_paste
from truekeep.types import Channel, Standing

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger

_SHOWN = "It was shown hearsay from memory."
_PASTED = "The owner pasted text into a message."
_LATE = "It was declared mediated only after it had begun."
_CHANGED_TOOL = "The definition of one of its tools was changed."
_INHERITED = "It goes on from a session that was not clean."
_LATE_PARENT = "It was said to go on from another session only after it had begun."
_ALL = -1
_LET_GO = "let_go"
_UNDECLARED: dict[str, object] = {"v": 1, "mediated": False, "taint": "", "member": None}


@dataclass(frozen=True, slots=True)
class SessionState:
    """How far a session's reports can be relied on."""

    is_mediated: bool = False
    taint: str = ""
    member: str | None = None
    """In a shared keep, for whom the session acts."""
    tainted_at: int = 0
    """The number of the audit event that tainted it; what came before that was said or read while it was clean."""
    parent: str | None = None
    """The session whose context it goes on with."""
    may_learn: bool = True
    """Whether what the owner says in it is remembered."""
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """What the host declared about its tools."""
    plan: tuple[PlanEntry, ...] = ()
    """The calls a model intended for the owner's last message, before it had seen anything foreign."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing foreign is in its context, as far as anybody can know."""
        return self.is_mediated and not self.taint

    def was_clean_at(self, order: int) -> bool:
        """Whether it was clean when the audit event of that number was written."""
        return self.is_clean or (self.is_mediated and 0 < order < self.tainted_at)


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
        self._heard: list[Callable[[Entry, Observation], None]] = []

    def on_owner_message(self, heard: Callable[[Entry, Observation], None]) -> None:
        """Have something written in the transaction that records an owner's message."""
        self._heard.append(heard)

    def begin(
        self,
        name: str,
        *,
        mediated: bool,
        member: str | None = None,
        parent: str | None = None,
        learn: bool = True,
        tools: Sequence[Tool] = (),
    ) -> None:
        """Declare what the host knows of a session. ``mediated`` counts only before anything happened in it.

        ``parent`` is the session whose context this one goes on with: resumed, summed up, forked or spawned.
        """
        if not (mediated or member or parent or tools) and learn:
            return
        if parent is not None and member is not None:
            self.require_member(parent, member)
        with self._ledger.writing() if self._is_undeclared(name) else nullcontext() as entry:
            if entry is not None and self._is_undeclared(name):
                self._declare(entry, name, mediated=mediated, member=member, parent=parent, learn=learn)
        if tools:
            self._declare_tools(name, tools)
        if parent is not None and self.state(name).parent != parent:
            # It was known before under no or another parent; whatever that one had read may be in it now.
            self.taint(name, _LATE_PARENT)
        if self.state(name).member != member:
            raise InvalidRequest(
                "This session acts for somebody else.", code="another_member", hint="Begin a session of its own."
            )

    def require_member(self, name: str, member: str) -> None:
        """Refuse a session that acts for another member; one that acts for nobody yet is fine."""
        if self.state(name).member not in (None, member):
            raise InvalidRequest(
                "This session acts for somebody else.", code="another_member", hint="Begin a session of its own."
            )

    def _is_undeclared(self, name: str) -> bool:
        sealed = self._ledger.get("sessions", name)
        return sealed is None or (sealed.verified and _LET_GO in json.loads(sealed.row.body))

    def _declare(
        self, entry: Entry, name: str, *, mediated: bool, member: str | None, parent: str | None, learn: bool
    ) -> None:
        known = self._ledger.get("sessions", name)
        started = known or any(self._ledger.count(table, name) for table in ("observations", "exposures"))
        # An exposure that was altered may have been this session's.
        started = started or self._ledger.has_altered("exposures")
        taint = _LATE if started and mediated else ""
        if parent is not None and not taint and not self.state(parent).is_clean:
            taint = _INHERITED
        body: dict[str, object] = {"v": 1, "mediated": mediated, "taint": taint, "member": member}
        body |= {"tainted_at": entry.number} if taint else {}
        body |= {"parent": parent, "begun": entry.number} if parent is not None else {}
        body |= {} if learn else {"learn": False}
        entry.set("sessions", name, body)
        entry.event("session.begun", session=name, mediated=mediated, member=member, clean=not taint)

    def _declare_tools(self, name: str, tools: Sequence[Tool]) -> None:
        """Keep what the host says of its tools. A definition that changes under a session is text nobody pinned."""
        known = self.state(name).tools
        fresh = {tool.name: tool for tool in tools if known.get(tool.name) != tool}
        if not fresh:
            return
        with self._ledger.writing() as entry:
            self._change(entry, name, {"tools": [as_table(tool) for tool in (dict(known) | fresh).values()]})
            entry.event("session.tools_declared", session=name, tools=sorted(fresh))
            if any(one in known and known[one].digest != fresh[one].digest for one in fresh):
                self._taint(entry, name, _CHANGED_TOOL)

    def intend(self, name: str, plan: Sequence[PlanEntry]) -> None:
        """Keep the plan for the owner's last message, in the place of the one before."""
        with self._ledger.writing() as entry:
            self._change(entry, name, {"plan": [asdict(one) for one in plan]})
            entry.event("session.planned", session=name, calls=len(plan))

    def segment(self, name: str) -> None:
        """The host has dropped the session's context: what stays is the owner's messages, what may act, and the plan.

        What was read before is still known as somebody else's.
        """
        if not self.state(name).is_mediated:
            raise InvalidRequest("Only a mediated session can start a fresh context.", code="not_mediated")
        with self._ledger.writing() as entry:
            self._change(entry, name, {"taint": "", "tainted_at": 0})
            entry.event("session.segmented", session=name)

    def _change(self, entry: Entry, name: str, members: dict[str, object]) -> None:
        sealed = self._ledger.get("sessions", name)
        body = json.loads(sealed.row.body) if sealed is not None and sealed.verified else dict(_UNDECLARED)
        entry.set("sessions", name, body | members)

    def observe_result(
        self, name: str, tool: Tool, channel: Channel, text: str, *, called: str, principal: str | None = None
    ) -> None:
        """Record a tool's result. What of it taints follows from the tool's declaration."""
        taken = take_result(tool, text)
        seen = Observation(
            new_id("obs"), name, channel.name, Standing.HEARSAY, text, self._clock(), principal=principal, tool=called
        )
        with self._ledger.writing() as entry:
            entry.put("observations", seen.id, replace(seen, order=entry.number).as_body(), tag=name)
            if taken.is_tainting:
                self._note(entry, "\n".join(taken.taints), Standing.HEARSAY)
            entry.event("session.observed", session=name, observation=seen.id, channel=channel.name, tool=called)
            if taken.is_tainting:
                self._taint(entry, name, f"It took in a result of the tool '{called}'.")

    def transcript(self, name: str) -> Transcript:
        """What a session took in, with what the sessions before it had taken in."""
        return self._transcripts.of(name, self.state(name).member)

    def let_go(self, entry: Entry, name: str) -> None:
        """Remember of a session that was never declared that it had begun: the agent may know what it read there."""
        if self._ledger.get("sessions", name) is None:
            entry.put("sessions", name, _UNDECLARED | {_LET_GO: True})

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
        return _state(sealed.row.body)

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
        attached: Sequence[str] = (),
        by_agent: bool = False,
    ) -> Observation:
        """Record what a session took in. Anything but the owner's own words and the agent's taints it.

        ``attached`` is what the host knows to be somebody else's in or beside a message of the owner's. The agent's own
        output does not taint when the host reports it; what the agent reports ``by_agent`` does.
        """
        standing = Standing.HEARSAY if channel.standing is None or relayed else channel.standing
        is_owners = standing is Standing.OWNER
        parts = self._parts(session, text, attached) if is_owners else Parts("")
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
            if is_owners and self.state(session).plan:
                self._change(entry, session, {"plan": []})  # a plan is for one message of the owner's
            for heard in self._heard if is_owners and parts.own.strip() else ():
                heard(entry, seen)
            entry.event("session.observed", session=session, observation=seen.id, channel=channel.name)
            is_anothers = is_owners and principal != self.state(session).member
            if is_anothers or (not is_owners and (by_agent or channel.name != AGENT)):
                self._taint(entry, session, f"It took in text over the channel '{channel.name}'.")
            elif attached or parts.pasted:
                self._taint(entry, session, _PASTED)
        return seen

    def _parts(self, session: str, text: str, attached: Sequence[str]) -> Parts:
        """An owner's message taken apart. What is attached and not in the text was read beside it all the same."""
        rest, known = text, SeenTexts()
        for foreign in filter(str.strip, attached):
            rest = rest.replace(foreign, "\n")
            known.add(foreign)  # a host may hand over another spelling of it than the one in the message
        parts = split_paste(rest, self._transcripts.of(session, self.state(session).member).seen, known)
        if not attached:
            return parts
        return Parts(parts.own, (*attached, *parts.pasted), (*parts.signs, "attached"))

    def taint(self, name: str, why: str = _SHOWN) -> None:
        """From here on what the agent writes in this session is hearsay. Only mediated sessions need to know."""
        if self.state(name).is_clean:
            with self._ledger.writing() as entry:
                self._taint(entry, name, why)

    def owners(self, session: str) -> list[Observation]:
        """The messages in a session of whom it acts for, oldest first, with those of the sessions it goes on from."""
        return self._transcripts.of(session, self.state(session).member).owners

    def owned(self, session: str, principal: str | None) -> list[Observation]:
        """The owner's messages in one session, oldest first, also those of the transaction that is open."""
        found = self.observations(session)
        return [one for one in found if one.standing is Standing.OWNER and one.principal == principal]

    def observations(self, session: str) -> list[Observation]:
        """Everything a session took in, in order; altered rows are left out, and cannot prove anything."""
        return observations(self._ledger.tagged("observations", session, _ALL))

    def _taint(self, entry: Entry, name: str, why: str) -> None:
        state, sealed = self.state(name), self._ledger.get("sessions", name)
        if state.is_clean and sealed is not None:
            body = json.loads(sealed.row.body) | {"taint": why, "tainted_at": entry.number}
            entry.replace("sessions", sealed.row, body)
            entry.event("session.tainted", session=name, why=why)


@lru_cache(maxsize=256)
def _state(text: str) -> SessionState:
    """What a row says, which was verified for this very read. Each call of a session reads it several times."""
    body = json.loads(text)
    return SessionState(
        is_mediated=body["mediated"],
        taint=body["taint"],
        member=body["member"],
        tainted_at=body.get("tainted_at", 0),
        parent=body.get("parent"),
        may_learn=body.get("learn", True),
        tools=MappingProxyType({one["name"]: Tool(**one) for one in body.get("tools", ())}),
        plan=tuple(PlanEntry(**one) for one in body.get("plan", ())),
    )
