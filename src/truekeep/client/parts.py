"""The parts of a keep that stand for themselves: review, the audit log, open tickets and channels."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from truekeep.client import bodies, rebuild, rebuild_reports, rebuild_sessions
from truekeep.client.asking import require_signer
from truekeep.client.calls import KeepCalls
from truekeep.client.exchange import Steps
from truekeep.client.line import Caller, new_key
from truekeep.client.members import Members, malformed
from truekeep.tickets import TicketRecord
from truekeep.types import AuditEvent, Channel, Item, Verdict, Verification

_PAGE = 1_000
_MOST_SEEN = 10_000


class Part:
    """A part of a keep, over the keep's own line."""

    def __init__(self, keep: KeepCalls) -> None:
        self.keep = keep
        self.line = keep.line


class ReviewCalls(Part):
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
        limits = {"until": bodies.moment("until", until), "inform_only": bool(inform_only), "purpose": purpose}
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
        query: dict[str, Any] = {"state": "all" if state is None else state, "limit": _PAGE}
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


class AuditCalls(Part):
    """The audit log, for an administrator."""

    def events(self, *, after: int = 0, limit: int | None = None, kinds: Iterable[str] = ()) -> Steps[list[AuditEvent]]:
        """Events in order, optionally only of some kinds."""
        wanted = frozenset(kinds)
        caller = yield from self.line.caller("admin")
        found: list[AuditEvent] = []
        while limit is None or len(found) < limit:
            size = _PAGE if limit is None else min(_PAGE, limit - len(found))
            query = {"after": found[-1].seq if found else after, "limit": size}
            reply = yield from self.line.ask(caller, "GET", "audit", query=query)
            page = Members(reply.members).each("events", rebuild_reports.event)
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
        return rebuild_reports.verification(reply.members)


class ActionCalls(Part):
    """Tickets that wait for the owner, or for their call."""

    def confirm(self, ticket: object, *, via: str | None = None) -> Steps[None]:
        """The owner confirms a call that waits."""
        return self.keep.confirm(ticket, via=via)

    def decline(self, ticket: object, *, via: str | None = None) -> Steps[None]:
        """The owner turns a call down."""
        return self.keep.decline(ticket, via=via)

    def redeem(self, ticket_id: object, name: str, arguments: Mapping[str, Any]) -> Steps[None]:
        """Use a ticket up for just this call."""
        return self.keep.redeem(ticket_id, name, arguments)

    def pending(self, session: str | None = None, *, via: str | None = None) -> Steps[list[TicketRecord]]:
        """The calls that wait for the owner, oldest first; only a token that could confirm them sees them."""
        caller = yield from self.line.caller("write", via or self.keep.over, of_channel="confirm")
        reply = yield from self.line.ask(caller, "GET", "tickets", query={"session": session})
        return list(Members(reply.members).each("tickets", rebuild_sessions.waiting))


class ChannelCalls(Part):
    """The ways into the keep, for an administrator."""

    def enrol(
        self, name: str, *, by: str | None = None, reason: str, capabilities: Iterable[str] | None = None
    ) -> Steps[Channel]:
        """Let a system write over a channel of its own."""
        caller = yield from self._administrator(by)
        listed = list(capabilities) if capabilities is not None else None
        body = {"name": name, "reason": reason, "capabilities": listed}
        reply = yield from self.line.ask(caller, "POST", "channels", body=body, key=new_key())
        return rebuild_reports.channel(reply.members)

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
