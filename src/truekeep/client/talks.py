"""Sessions' working memory and the library of prompts, as parts of a served keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Any

from truekeep.client import bodies, rebuild_sessions
from truekeep.client.asking import require_signer
from truekeep.client.exchange import Steps
from truekeep.client.line import Caller, new_key
from truekeep.client.members import Members
from truekeep.client.parts import Part
from truekeep.errors import InvalidRequest, NotServed, UnknownId
from truekeep.extract.conversation import Message
from truekeep.extract.library import PromptVersion
from truekeep.extract.working import Window, WorkingMemory
from truekeep.origin import session_name

_PAGE = 1_000


class WorkingCalls(Part):
    """The sessions' working memory."""

    def put(
        self,
        session: str,
        *,
        via: str | None = None,
        data: Mapping[str, Any] | None = None,
        context: str | None = None,
        speaker: str | None = None,
        ttl: timedelta | None = None,
        token_budget: int | None = None,
    ) -> Steps[WorkingMemory]:
        """Set what is given and leave the rest as it is. Data and context are screened like any text."""
        if ttl is not None and not isinstance(ttl, timedelta):
            raise InvalidRequest("The life span must be a timedelta of up to ten years.", code="invalid_ttl")
        seconds = ttl.total_seconds() if ttl is not None else None
        body = {"data": data, "context": context, "speaker": speaker, "ttl_seconds": seconds}
        caller = yield from self.line.writer(via or self.keep.over)
        where = ("sessions", session_name(session), "memory")
        body |= {"token_budget": token_budget}
        reply = yield from self.line.ask(caller, "PUT", *where, body=body, key=new_key())
        return rebuild_sessions.working(reply.members)

    def append(self, session: str, *messages: Message) -> Steps[WorkingMemory]:
        """Add messages, each with the token of its own channel. One that is there already is not added again."""
        where, after = ("sessions", session_name(session), "messages"), None
        for channel, said in _runs(messages):
            caller = yield from self.line.writer(channel)
            body = {"messages": [_said(one) for one in said]}
            reply = yield from self.line.ask(caller, "POST", *where, body=body, key=new_key())
            after = rebuild_sessions.working(reply.members)
        if after is None:
            raise InvalidRequest("No message was given.", code="no_message")
        return after

    def get(self, session: str) -> Steps[WorkingMemory | None]:
        """The session with all its messages; nothing if it was never heard of or its time is over."""
        caller = yield from self.line.caller("read", self.keep.over, of_channel="read")
        try:
            reply = yield from self.line.ask(caller, "GET", "sessions", session_name(session), "memory")
        except UnknownId:
            return None
        return rebuild_sessions.working(reply.members)

    def window(self, session: str, summarise: object = None) -> Steps[Window]:
        """What of the session fits its token budget; the overflow is summed up by the owner's own words."""
        if summarise is not None:
            raise NotServed("A summary of the caller's works in an embedded keep only.")
        caller = yield from self.line.caller("read", self.keep.over, of_channel="read")
        reply = yield from self.line.ask(caller, "GET", "sessions", session_name(session), "window")
        return rebuild_sessions.window(reply.members)

    def list(self) -> Steps[list[str]]:
        """The names of the sessions that were put or appended to, in the order in which they began."""
        caller = yield from self.line.caller("read", self.keep.over, of_channel="read")
        names: list[str] = []
        while True:
            query = {"limit": _PAGE, "offset": len(names)}
            reply = yield from self.line.ask(caller, "GET", "sessions", query=query)
            page = Members(reply.members).texts("sessions")
            names += page
            if len(page) < _PAGE:
                return names

    def delete(self, session: str) -> Steps[bool]:
        """Let a session go with everything that was said and read in it; whether there was anything."""
        caller = yield from self.line.caller("delete", self.keep.over, of_channel="delete")
        where = ("sessions", session_name(session), "memory")
        reply = yield from self.line.ask(caller, "DELETE", *where, key=new_key())
        return Members(reply.members).text("status") == "ok"


class PromptCalls(Part):
    """The library of custom extraction prompts; who proposes one does not approve it."""

    def add(self, name: str, text: str, *, by: str | None = None) -> Steps[PromptVersion]:
        """Propose a prompt. A bad one is refused now, not later in the background."""
        caller = yield from self.line.caller("custom-prompts", self.keep.over, of_channel="custom-prompts")
        require_signer(caller.signs_as, by)
        body = {"name": name, "text": str(text)}
        reply = yield from self.line.ask(caller, "POST", "prompts", body=body, key=new_key())
        return rebuild_sessions.prompt(reply.members)

    def approve(
        self, name: str, version: int | None = None, *, by: str | None = None, reason: str = ""
    ) -> Steps[PromptVersion]:
        """Approve a proposed version, the newest unless one is named. Nobody approves a prompt of their own."""
        return (yield from self._decided(name, "approve", version, by, reason))

    def disable(
        self, name: str, version: int | None = None, *, by: str | None = None, reason: str
    ) -> Steps[PromptVersion]:
        """Take a text out of use, under whatever name and version."""
        return (yield from self._decided(name, "disable", version, by, reason))

    def usable(self, name: str) -> Steps[PromptVersion]:
        """The newest approved version, validated with today's patterns."""
        reply = yield from self.line.ask((yield from self._reader()), "GET", "prompts", name)
        return rebuild_sessions.prompt(reply.members)

    def all(self) -> Steps[Sequence[PromptVersion]]:
        """Every version of every prompt."""
        reply = yield from self.line.ask((yield from self._reader()), "GET", "prompts")
        return list(Members(reply.members).each("prompts", rebuild_sessions.prompt))

    def _decided(self, name: str, word: str, version: int | None, by: str | None, reason: str) -> Steps[PromptVersion]:
        reviewer = yield from self.line.caller("review", self.keep.over, of_channel="review")
        require_signer(reviewer.signs_as, by)
        body = {"version": version, "reason": reason}
        reply = yield from self.line.ask(reviewer, "POST", "prompts", name, word, body=body, key=new_key())
        return rebuild_sessions.prompt(reply.members)

    def _reader(self) -> Steps[Caller]:
        known = yield from self.line.callers()
        for capability in ("custom-prompts", "review"):
            if any(one.may(capability) for one in known):
                return (yield from self.line.caller(capability, self.keep.over))
        return (yield from self.line.caller("admin", self.keep.over))


def _runs(messages: Sequence[Message]) -> Iterator[tuple[str, list[Message]]]:
    """Messages in their order, as many at a time as came over one channel."""
    for channel, said in groupby(messages, key=lambda one: one.channel):
        listed = list(said)
        yield from ((channel, listed[start : start + _PAGE]) for start in range(0, len(listed), _PAGE))


def _said(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "text": message.text,
        "at": bodies.moment("at", message.at),
        "role": message.role,
        "principal": message.principal,
        "is_dated": message.is_dated,
    }
