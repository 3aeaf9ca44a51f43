"""The parts of a served keep: review, audit, waiting calls, channels, working memory and prompts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from truekeep.act.tickets import TicketRecord
from truekeep.client import rebuild
from truekeep.client.answers import Members, malformed
from truekeep.client.calls import KeepCalls
from truekeep.client.exchange import Caller, Steps, new_key
from truekeep.client.memory_calls import moment_text, require_signer
from truekeep.config import PAGE_CAP
from truekeep.errors import InvalidRequest, NotServed, UnknownId
from truekeep.extract.conversation import Message
from truekeep.extract.library import PromptVersion
from truekeep.extract.working import Window, WorkingMemory
from truekeep.trust.candidate import checked_flag
from truekeep.trust.flow.evidence import StandingGrant
from truekeep.trust.origin import session_name
from truekeep.types import AuditEvent, Channel, Item, Verdict, Verification

_MOST_SEEN = 10_000
"""Tags of items that are kept, so that a decision is about what was looked at."""


class ClientPart:
    """A part of a keep, over the keep's own line."""

    def __init__(self, keep: KeepCalls) -> None:
        self.keep = keep
        self.line = keep.line


class ReviewCalls(ClientPart):
    """What waits for a person. A decision is on the version that this client was shown last."""

    def __init__(self, keep: KeepCalls) -> None:
        super().__init__(keep)
        self._seen: OrderedDict[str, str] = OrderedDict()

    def show(self, item_id: str) -> Steps[Item]:
        """One item, for a person's eyes, never for a prompt."""
        reviewer = yield from self._reviewer()
        reply = yield from self.line.ask(reviewer, "GET", "review", item_id)
        return self._item(reply.members)

    def approve(
        self,
        item_id: str,
        *,
        by: str | None = None,
        reason: str,
        until: datetime | None = None,
        inform_only: bool = False,
        purpose: str | None = None,
    ) -> Steps[Verdict]:
        """Let an item in. The approval names who and why, and may be limited in time, purpose or to informing."""
        limits = {
            "until": moment_text("until", until),
            "inform_only": checked_flag("inform_only", inform_only),
            "purpose": purpose,
        }
        members = yield from self._decided(item_id, "approve", by, {"reason": reason} | limits)
        return rebuild.verdict(members)

    def reject(self, item_id: str, *, by: str | None = None, reason: str) -> Steps[None]:
        """Turn an item down. Its claim leaves a tombstone: planting it again is refused without asking twice."""
        yield from self._decided(item_id, "reject", by, {"reason": reason})

    def lift(self, text: str, *, by: str | None = None, reason: str) -> Steps[bool]:
        """Lift the tombstone over a text that was rejected or forgotten; whether there was one."""
        reviewer = yield from self._reviewer()
        require_signer(reviewer.signs_as, by)
        body = {"text": text, "reason": reason}
        reply = yield from self.line.ask(reviewer, "POST", "review", "lift", body=body, key=new_key())
        return Members(reply.members).flag("lifted")

    def list(self, state: str | None = "open") -> Steps[list[Item]]:
        """Items in that state (all for ``None``), oldest first."""
        reviewer = yield from self._reviewer()
        query: dict[str, Any] = {"state": "all" if state is None else state, "limit": PAGE_CAP}
        items: list[Item] = []
        while True:
            reply = yield from self.line.ask(reviewer, "GET", "review", query=query)
            members = Members(reply.members)
            page = members.each("items", self._item)
            items += page
            query["cursor"] = members.maybe_text("next_cursor")
            if query["cursor"] is None or not page:
                return items

    def _decided(self, item_id: str, word: str, by: str | None, body: Mapping[str, Any]) -> Steps[Mapping[str, Any]]:
        reviewer = yield from self._reviewer()
        require_signer(reviewer.signs_as, by)
        if item_id not in self._seen:
            yield from self.show(item_id)
        headers = {"If-Match": f'"{self._seen[item_id]}"'}
        where = ("review", item_id, word)
        reply = yield from self.line.ask(reviewer, "POST", *where, body=body, headers=headers, key=new_key())
        self._seen.pop(item_id, None)  # it is another version now
        return reply.members

    def _reviewer(self) -> Steps[Caller]:
        return (yield from self.line.caller("review", of_channel="review"))

    def _item(self, held: object) -> Item:
        item = rebuild.item(held)
        tag = Members(held).text("etag")
        if not (tag.isascii() and tag.isalnum()):
            raise malformed()
        self._seen[item.id] = tag
        self._seen.move_to_end(item.id)
        while len(self._seen) > _MOST_SEEN:
            self._seen.popitem(last=False)
        return item


class AuditCalls(ClientPart):
    """The audit log, for an administrator."""

    def events(self, *, after: int = 0, limit: int | None = None, kinds: Iterable[str] = ()) -> Steps[list[AuditEvent]]:
        """Events in order, optionally only of some kinds."""
        wanted = frozenset(kinds)
        caller = yield from self.line.caller("admin read")
        found: list[AuditEvent] = []
        while limit is None or len(found) < limit:
            size = PAGE_CAP if limit is None else min(PAGE_CAP, limit - len(found))
            query = {"after": found[-1].seq if found else after, "limit": size}
            reply = yield from self.line.ask(caller, "GET", "audit", query=query)
            page = Members(reply.members).each("events", rebuild.event)
            if any(event.seq <= query["after"] for event in page):
                raise malformed()  # a log that does not move on would be read for ever
            found += page
            if len(page) < size:
                break
        return [event for event in found if not wanted or event.kind in wanted]

    def verify(self) -> Steps[Verification]:
        """Check every row and every event again, from the beginning."""
        caller = yield from self.line.caller("admin")
        reply = yield from self.line.ask(caller, "GET", "audit", "verify")
        return rebuild.verification(reply.members)


class ActionCalls(ClientPart):
    """Tickets that wait for the owner, or for their call."""

    def confirm(self, ticket: object, *, via: str | None = None) -> Steps[None]:
        """The owner confirms a call that waits."""
        return self.keep.confirm(ticket, via=via)

    def decline(self, ticket: object, *, via: str | None = None) -> Steps[None]:
        """The owner turns a call down."""
        return self.keep.decline(ticket, via=via)

    def redeem(
        self, ticket_id: object, name: str, arguments: Mapping[str, Any], session: str | None = None
    ) -> Steps[None]:
        """Use a ticket up for just this call."""
        return self.keep.redeem(ticket_id, name, arguments, session=session)

    def why(self, ticket_id: object, *, via: str | None = None) -> Steps[dict[str, Any]]:
        """How an answer came about; only a token that could confirm the call sees it."""
        caller = yield from self.line.caller("write", via or self.keep.over, of_channel="confirm")
        reply = yield from self.line.ask(caller, "GET", "tickets", str(ticket_id))
        return dict(reply.members)

    def pending(self, session: str | None = None, *, via: str | None = None) -> Steps[list[TicketRecord]]:
        """The calls that wait for the owner, oldest first; only a token that could confirm them sees them."""
        caller = yield from self.line.caller("write", via or self.keep.over, of_channel="confirm")
        reply = yield from self.line.ask(caller, "GET", "tickets", query={"session": session})
        return list(Members(reply.members).each("tickets", rebuild.waiting))


class GrantCalls(ClientPart):
    """The owner's standing permissions, for the owner's token."""

    def add(
        self,
        *,
        tool: str,
        where: Mapping[str, str],
        cap: Mapping[str, str] | None = None,
        until: datetime | None = None,
        by: str | None = None,
        via: str | None = None,
    ) -> Steps[StandingGrant]:
        """Permit calls of a tool whose targets fit the patterns, until a moment or for good."""
        caller = yield from self._owner(via, by)
        limits = {name: str(most) for name, most in (cap or {}).items()}
        body = {"tool": tool, "where": dict(where), "cap": limits, "until": moment_text("until", until)}
        reply = yield from self.line.ask(caller, "POST", "grants", body=body, key=new_key())
        return rebuild.grant(reply.members)

    def list(self, *, via: str | None = None) -> Steps[list[StandingGrant]]:
        """The grants that the token could give, oldest first, also those that have ended."""
        caller = yield from self._owner(via, None)
        reply = yield from self.line.ask(caller, "GET", "grants")
        return list(Members(reply.members).each("grants", rebuild.grant))

    def remove(self, grant_id: str, *, by: str | None = None, via: str | None = None) -> Steps[None]:
        """Take a grant back."""
        caller = yield from self._owner(via, by)
        yield from self.line.ask(caller, "DELETE", "grants", grant_id, key=new_key())

    def _owner(self, via: str | None, by: str | None) -> Steps[Caller]:
        caller = yield from self.line.caller("write", via or self.keep.over, of_channel="confirm")
        require_signer(caller.signs_as, by)
        return caller


class ChannelCalls(ClientPart):
    """The ways into the keep, for an administrator."""

    def enrol(
        self, name: str, *, by: str | None = None, reason: str, capabilities: Iterable[str] | None = None
    ) -> Steps[Channel]:
        """Let a system write over a channel of its own."""
        caller = yield from self._administrator(by)
        listed = list(capabilities) if capabilities is not None else None
        body = {"name": name, "reason": reason, "capabilities": listed}
        reply = yield from self.line.ask(caller, "POST", "channels", body=body, key=new_key())
        return rebuild.channel(reply.members)

    def retire(self, name: str, *, by: str | None = None, reason: str) -> Steps[None]:
        """Close a way in. What came over it stays as it is."""
        caller = yield from self._administrator(by)
        yield from self.line.ask(caller, "POST", "channels", name, "retire", body={"reason": reason}, key=new_key())

    def list(self) -> Steps[list[dict[str, Any]]]:
        """Every channel with its standing and what it may do."""
        caller = yield from self._administrator(None)
        reply = yield from self.line.ask(caller, "GET", "channels")
        return [Members(one).everything() for one in Members(reply.members).each("channels", _as_it_is)]

    def _administrator(self, by: str | None) -> Steps[Caller]:
        caller = yield from self.line.caller("admin")
        require_signer(caller.signs_as, by)
        return caller


def _as_it_is(held: object) -> object:
    return held


class WorkingCalls(ClientPart):
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
        return rebuild.working(reply.members)

    def append(self, session: str, *messages: Message) -> Steps[WorkingMemory]:
        """Add messages, each with the token of its own channel. One that is there already is not added again."""
        where, after = ("sessions", session_name(session), "messages"), None
        for channel, said in _runs(messages):
            caller = yield from self.line.writer(channel)
            body = {"messages": [_said(one) for one in said]}
            reply = yield from self.line.ask(caller, "POST", *where, body=body, key=new_key())
            after = rebuild.working(reply.members)
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
        return rebuild.working(reply.members)

    def window(self, session: str, summarise: object = None) -> Steps[Window]:
        """What of the session fits its token budget; the overflow is summed up by the owner's own words."""
        if summarise is not None:
            raise NotServed("A summary of the caller's works in an embedded keep only.")
        caller = yield from self.line.caller("read", self.keep.over, of_channel="read")
        reply = yield from self.line.ask(caller, "GET", "sessions", session_name(session), "window")
        return rebuild.window(reply.members)

    def list(self) -> Steps[list[str]]:
        """The names of the sessions that were put or appended to, in the order in which they began."""
        caller = yield from self.line.caller("read", self.keep.over, of_channel="read")
        names: list[str] = []
        while True:
            query = {"limit": PAGE_CAP, "offset": len(names)}
            reply = yield from self.line.ask(caller, "GET", "sessions", query=query)
            page = Members(reply.members).texts("sessions")
            names += page
            if len(page) < PAGE_CAP:
                return names

    def delete(self, session: str) -> Steps[bool]:
        """Let a session go with everything that was said and read in it; whether there was anything."""
        caller = yield from self.line.caller("delete", self.keep.over, of_channel="delete")
        where = ("sessions", session_name(session), "memory")
        reply = yield from self.line.ask(caller, "DELETE", *where, key=new_key())
        return Members(reply.members).text("status") == "ok"


class PromptCalls(ClientPart):
    """The library of custom extraction prompts; who proposes one does not approve it."""

    def add(self, name: str, text: str, *, by: str | None = None) -> Steps[PromptVersion]:
        """Propose a prompt. A bad one is refused now, not later in the background."""
        caller = yield from self.line.caller("custom-prompts", self.keep.over, of_channel="custom-prompts")
        require_signer(caller.signs_as, by)
        body = {"name": name, "text": str(text)}
        reply = yield from self.line.ask(caller, "POST", "prompts", body=body, key=new_key())
        return rebuild.prompt(reply.members)

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
        return rebuild.prompt(reply.members)

    def all(self) -> Steps[Sequence[PromptVersion]]:
        """Every version of every prompt."""
        reply = yield from self.line.ask((yield from self._reader()), "GET", "prompts")
        return list(Members(reply.members).each("prompts", rebuild.prompt))

    def _decided(self, name: str, word: str, version: int | None, by: str | None, reason: str) -> Steps[PromptVersion]:
        reviewer = yield from self.line.caller("review", self.keep.over, of_channel="review")
        require_signer(reviewer.signs_as, by)
        body = {"version": version, "reason": reason}
        reply = yield from self.line.ask(reviewer, "POST", "prompts", name, word, body=body, key=new_key())
        return rebuild.prompt(reply.members)

    def _reader(self) -> Steps[Caller]:
        known = yield from self.line.callers()
        for capability in ("custom-prompts", "review"):
            if any(one.may(capability) for one in known):
                return (yield from self.line.caller(capability, self.keep.over))
        return (yield from self.line.caller("admin read", self.keep.over))


def _runs(messages: Sequence[Message]) -> Iterator[tuple[str, list[Message]]]:
    """Messages in their order, as many at a time as came over one channel."""
    for channel, said in groupby(messages, key=lambda one: one.channel):
        listed = list(said)
        yield from ((channel, listed[start : start + PAGE_CAP]) for start in range(0, len(listed), PAGE_CAP))


def _said(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "text": message.text,
        "at": moment_text("at", message.at),
        "role": message.role,
        "principal": message.principal,
        "is_dated": message.is_dated,
    }
