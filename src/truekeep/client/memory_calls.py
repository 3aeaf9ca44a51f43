"""What a host asks every day, as steps: writing, reading and acting.

What a caller passes is checked as an embedded keep does and put into the form that is sent. Caps are the service's; it
says so when something is over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Unpack

from truekeep.act.boundary import ActionAnswer
from truekeep.client import rebuild
from truekeep.client.answers import Members, malformed
from truekeep.client.exchange import Caller, ServiceLine, Steps, new_key
from truekeep.config import LISTING_CAP, PAGE_CAP, Settings
from truekeep.errors import InvalidRequest, NotAllowed, NotServed, UnknownId, told_names
from truekeep.incident.records import Forgotten
from truekeep.read.recall import Filters, Recall
from truekeep.trust.candidate import (
    KINDS,
    checked_flag,
    checked_json,
    checked_limit,
    checked_moment,
    checked_text,
    checked_words,
)
from truekeep.trust.origin import session_name
from truekeep.types import Snapshot, Verdict, utc_text
from truekeep.write.intake import Fields

NOT_GIVEN = "not given"
"""Why something was taken back, where the caller does not say."""
_ANY = 1 << 40
_UNCAPPED = Settings(fields_cap=_ANY, field_cap=_ANY)
_NAMES = tuple(Fields.__annotations__)
_STARTS = 3


RedeemIn = Callable[[str, str, str, Mapping[str, Any]], None]
"""Redeems a ticket at once: the session, the ticket, the call's name and its arguments."""


class CallAsking:
    """Asks the service over a line."""

    def __init__(self, line: ServiceLine, redeem: RedeemIn, over: str | None = None) -> None:
        self.line = line
        self.redeem_now = redeem
        self.over = over
        """The one channel whose token may be used; any, if it is nothing."""

    def _reader(self) -> Steps[Caller]:
        return (yield from self.line.caller("read", self.over, of_channel="read"))

    def _administrator(self, by: str | None = None, wanted: str = "admin read") -> Steps[Caller]:
        """An administrator's token. What is told of memories is told to those who may read as well."""
        caller = yield from self.line.caller(wanted, self.over)
        require_signer(caller.signs_as, by)
        return caller


def require_signer(signs_as: str, by: str | None) -> None:
    """Over a service whoever holds the token signs; a name that is passed can only be theirs."""
    if by is not None and by != signs_as:
        raise NotAllowed(
            "Decisions over this token are signed with its holder's name.",
            code="signer_fixed",
            hint="Leave by= out, or make a token with 'truekeep tokens add --subject NAME'.",
        )


def entry_body(text: object, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A text with its fields, as the service takes it."""
    if unknown := set(fields) - set(_NAMES):
        raise InvalidRequest(f"Unknown fields: {told_names(unknown)}.", hint=f"Fields: {', '.join(_NAMES)}.")
    kind = fields.get("kind", "semantic")
    if kind not in KINDS:
        raise InvalidRequest("No such kind of memory.", hint=f"Kinds: {', '.join(KINDS)}.", code="unknown_kind")
    members = {
        "text": checked_text(text, _ANY),
        "kind": kind,
        "principal": fields.get("principal"),
        "session": fields.get("session"),
        "topics": list(checked_words("topics", fields.get("topics", ()), _UNCAPPED)),
        "entities": list(checked_words("entities", fields.get("entities", ()), _UNCAPPED)),
        "metadata": checked_json("metadata", fields.get("metadata") or {}, _ANY),
        "as_of": moment_text("as_of", fields.get("as_of")),
        "expires_at": moment_text("expires_at", fields.get("expires_at")),
        "quote": fields.get("quote"),
        "parents": list(fields.get("parents", ())),
    }
    return {name: value for name, value in members.items() if value not in (None, [], {})}


def entry_bodies(given: Iterable[str | Mapping[str, Any]], shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A batch: texts, or fields that count before the shared ones."""
    singles = [{"text": one} if isinstance(one, str) else dict(one) for one in given]
    merged = [{"text": None, **shared, **single} for single in singles]
    return [entry_body(one.pop("text"), {name: one[name] for name in one if name != "via"}) for one in merged]


def filters_body(limits: Filters | None) -> dict[str, Any] | None:
    """The limits of a recall; a rule that is a function cannot travel."""
    if limits is None:
        return None
    if limits.where is not None:
        raise NotServed(
            "A filter that is a function works in an embedded keep only.", hint="Use the other filters over a service."
        )
    return {
        "kinds": sorted(limits.kinds),
        "topics": sorted(limits.topics),
        "entities": sorted(limits.entities),
        "channels": sorted(limits.channels),
        "since": moment_text("since", limits.since),
        "until": moment_text("until", limits.until),
        "metadata": dict(limits.metadata),
    }


def moment_text(name: str, given: object) -> str | None:
    """A moment as text; without a time zone nobody knows which one it is."""
    checked = checked_moment(name, given)
    return utc_text(checked) if checked is not None else None


class Writing(CallAsking):
    """Every way in. A rejection is a verdict, never an error."""

    def remember(self, text: str, *, via: str | None = None, **fields: Unpack[Fields]) -> Steps[Verdict]:
        """Put a text through the gate. A refusal is an answer: the verdict says what was decided and why."""
        (verdict,) = yield from self._remember([entry_body(text, fields)], via)
        return verdict

    def remember_many(
        self,
        entries: Iterable[str | Mapping[str, Any]],
        *,
        via: str | None = None,
        skip_rejected: bool = False,
        request: str | None = None,
        **shared: Unpack[Fields],
    ) -> Steps[list[Verdict]]:
        """Put a batch through the gate in one transaction; one rejection, and nothing of it is stored.

        ``skip_rejected`` stores the rest instead. ``request`` names the batch: what was stored under that name before
        is answered as it was and not stored again.
        """
        batch = entry_bodies(entries, shared)
        if not batch:
            return []
        return (yield from self._remember(batch, via, skip_rejected=skip_rejected, key=new_key(request)))

    def update_memory(
        self, memory_id: str, text: str, *, via: str | None = None, **fields: Unpack[Fields]
    ) -> Steps[Verdict]:
        """Give a memory new content; whatever is not accepted leaves the old entry as it was."""
        body = entry_body(text, fields)
        caller = yield from self.line.writer(via or self.over)
        reply = yield from self.line.ask(caller, "PUT", "memories", memory_id, body=body, key=new_key())
        return rebuild.verdict(reply.members)

    def delete_memory(self, memory_id: str, *, via: str | None = None, reason: str = "") -> Steps[Verdict]:
        """Forget a memory. People delete; what an agent wants deleted waits for a person."""
        over = via or self.over
        known = yield from self.line.callers()
        may_delete = any(one.may("delete") for one in known if over in (None, one.channel))
        caller = yield from self.line.writer(over, "delete" if may_delete else "write")
        query = {"reason": reason or None}
        reply = yield from self.line.ask(caller, "DELETE", "memories", memory_id, query=query, key=new_key())
        return rebuild.verdict(reply.members)

    def forget(self, what: str | Sequence[str], *, via: str | None = None, dry_run: bool = False) -> Steps[Forgotten]:
        """Forget what the owner said about something, or some ids; what an agent wants forgotten waits."""
        over = via or self.over
        known = yield from self.line.callers()
        may_delete = any(one.may("delete") for one in known if over in (None, one.channel))
        caller = yield from self.line.writer(over, "delete" if may_delete else "write")
        named = {"about": what} if isinstance(what, str) else {"ids": list(what)}
        body = named | {"dry_run": checked_flag("dry_run", dry_run)}
        reply = yield from self.line.ask(caller, "POST", "forget", body=body, key=new_key())
        return rebuild.forgotten(reply.members)

    def unforget(self, incident: str, *, via: str | None = None) -> Steps[None]:
        """Bring back what was forgotten, or the older word that a correction ended."""
        caller = yield from self.line.writer(via or self.over, "delete")
        yield from self.line.ask(caller, "POST", "forget", incident, "undo", key=new_key())

    def restore(self, memory_id: str, *, via: str | None = None, version: int | None = None) -> Steps[Verdict]:
        """Make a memory the newest word again: one that was replaced, an earlier version, or one that was deleted."""
        if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
            raise InvalidRequest("A version is a whole number.", code="invalid_version")
        caller = yield from self.line.writer(via or self.over, "delete")
        body = {"version": version}
        reply = yield from self.line.ask(caller, "POST", "memories", memory_id, "restore", body=body, key=new_key())
        return rebuild.verdict(reply.members)

    def pin(self, memory_id: str, *, via: str | None = None) -> Steps[Verdict]:
        """Put a memory first in every prompt from the next snapshot on; only who may confirm does."""
        return (yield from self._pin("PUT", memory_id, via))

    def unpin(self, memory_id: str, *, via: str | None = None) -> Steps[Verdict]:
        """Take a memory's pin away again."""
        return (yield from self._pin("DELETE", memory_id, via))

    def _pin(self, method: str, memory_id: str, via: str | None) -> Steps[Verdict]:
        caller = yield from self.line.writer(via or self.over)
        reply = yield from self.line.ask(caller, method, "memories", memory_id, "pin", key=new_key())
        return rebuild.verdict(reply.members)

    def observe(
        self,
        session: str,
        channel: str | None,
        text: str,
        *,
        principal: str | None = None,
        message: str | None = None,
        role: str | None = None,
        at: datetime | None = None,
        attached: Iterable[str] = (),
    ) -> Steps[None]:
        """Report what a session took in. Only the owner's token makes owner messages; ``role`` is for display."""
        body: dict[str, Any] = {"text": text, "principal": principal, "message": message, "role": role}
        body["at"] = moment_text("at", at)
        if listed := list(attached):
            body["attached"] = listed
        caller = yield from self.line.writer(channel or self.over)
        where = ("sessions", session_name(session), "observe")
        yield from self.line.ask(caller, "POST", *where, body=body, key=new_key())

    def _remember(
        self, batch: list[dict[str, Any]], via: str | None, *, skip_rejected: bool = False, key: str | None = None
    ) -> Steps[list[Verdict]]:
        caller = yield from self.line.writer(via or self.over)
        body = {"memories": batch, "skip_rejected": checked_flag("skip_rejected", skip_rejected)}
        reply = yield from self.line.ask(caller, "POST", "memories", body=body, key=key or new_key())
        verdicts = list(Members(reply.members).each("memories", rebuild.verdict))
        if len(verdicts) != len(batch):
            raise malformed()
        return verdicts


class Reading(CallAsking):
    """Every way out."""

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        influence_only: bool = False,
        min_score: float | None = None,
        half_life_days: float | None = None,
        as_of: datetime | None = None,
        filters: Filters | None = None,
        explain: bool = False,
        session: str | None = None,
        background: bool | None = None,
        max_chars: int | None = None,
    ) -> Steps[Recall]:
        """The memories that answer a query; with ``influence_only`` just those that may drive an action.

        ``background`` adds what only informs, marked: the default outside a session; inside one it taints.
        ``max_chars`` is a budget for the texts.
        """
        if not isinstance(query, str):
            raise InvalidRequest("The query must be a string.")
        if isinstance(k, bool) or not isinstance(k, int):
            raise InvalidRequest("k must be a whole number.", code="invalid_k")
        body = {
            "query": query,
            "k": k,
            "influence_only": checked_flag("influence_only", influence_only),
            "min_score": min_score,
            "half_life_days": half_life_days,
            "as_of": moment_text("as_of", as_of),
            "filters": filters_body(filters),
            "explain": checked_flag("explain", explain),
            "session": session,
            "background": None if background is None else checked_flag("background", background),
            "max_chars": checked_limit(max_chars),
        }
        caller = yield from self._reader()
        reply = yield from self.line.ask(caller, "POST", "memories", "recall", body=body)
        return rebuild.recall(reply.members)

    def get_memories(
        self,
        *,
        after: str | None = None,
        limit: int | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Steps[list[dict[str, Any]]]:
        """Memories as dictionaries, in the order in which they were stored; blocked ones as placeholders."""
        query = {"session": session, "as_of": moment_text("as_of", as_of)}
        if as_of is not None:  # versions of that time have no place of their own to go on from
            return (yield from self._page(query | {"after": after, "limit": limit or LISTING_CAP}))
        for start in range(_STARTS):
            try:
                return (yield from self._pages(query, after, limit))
            except _Moved:
                if start == _STARTS - 1:
                    raise
        raise AssertionError  # pragma: no cover - the loop returns or raises

    def get_memory(self, memory_id: str, *, session: str | None = None) -> Steps[dict[str, Any]]:
        """One memory as a dictionary."""
        caller = yield from self._reader()
        if session is None:
            reply = yield from self.line.ask(caller, "GET", "memories", memory_id)
        else:  # what a session is shown is noted, so it is no GET
            body = {"session": session}
            reply = yield from self.line.ask(caller, "POST", "memories", memory_id, "show", body=body)
        return rebuild.shown(reply.members)

    def history(self, memory_id: str) -> Steps[list[dict[str, Any]]]:
        """The versions of one memory, oldest first, the present one last; what was deleted has only earlier ones."""
        caller = yield from self._administrator()
        reply = yield from self.line.ask(caller, "GET", "memories", memory_id, "history")
        return list(Members(reply.members).each("memories", rebuild.shown))

    def proposed_pins(self, most: int = 20) -> Steps[list[dict[str, Any]]]:
        """The owner's words that seem to say what must not be missed: allergies, names, how to be addressed."""
        caller = yield from self._reader()
        query = {"most": checked_limit(most)}
        reply = yield from self.line.ask(caller, "GET", "memories", "pins", "proposed", query=query)
        return list(Members(reply.members).each("memories", rebuild.shown))

    def snapshot(self, session: str, *, refresh: bool = False) -> Steps[Snapshot]:
        """The frozen, fenced text for that session's prompt."""
        caller = yield from self._reader()
        body = {"refresh": checked_flag("refresh", refresh)}
        reply = yield from self.line.ask(caller, "POST", "snapshot", session_name(session), body=body)
        return rebuild.snapshot(reply.members)

    def _page(self, query: Mapping[str, Any]) -> Steps[list[dict[str, Any]]]:
        caller = yield from self._reader()
        if query["session"] is None:
            reply = yield from self.line.ask(caller, "GET", "memories", query=query)
        else:  # what a session is shown is noted, so it is no GET
            reply = yield from self.line.ask(caller, "POST", "memories", "list", body=query)
        return list(Members(reply.members).each("memories", rebuild.shown))

    def _pages(self, query: Mapping[str, Any], after: str | None, limit: int | None) -> Steps[list[dict[str, Any]]]:
        listed: list[dict[str, Any]] = []
        while limit is None or len(listed) < limit:
            size = PAGE_CAP if limit is None else min(PAGE_CAP, limit - len(listed))
            last = listed[-1]["id"] if listed else after
            try:
                page = yield from self._page({**query, "after": last, "limit": size})
            except UnknownId as error:
                raise (_Moved(str(error), code=error.code, hint=error.hint) if listed else error) from None
            listed += page
            if len(page) < size:
                break
        return listed


class _Moved(UnknownId):
    """The memory that a page ended with was deleted before the next page was read."""


class ActCalls(CallAsking):
    """The act boundary."""

    def check_action(
        self, session: str, name: str, arguments: Mapping[str, Any], *, run: str | None = None
    ) -> Steps[ActionAnswer]:
        """May the agent make this call? Allow, confirm or deny, by where each value in it came from."""
        body = {"session": session_name(session), "name": name, "arguments": dict(arguments), "run": run}
        caller = yield from self._reader()
        reply = yield from self.line.ask(caller, "POST", "check-action", body=body, key=new_key())
        return rebuild.action_answer(reply.members, partial(self.redeem_now, session_name(session)))

    def redeem(
        self, ticket: object, name: str, arguments: Mapping[str, Any], *, session: str | None = None
    ) -> Steps[None]:
        """Use a ticket up for just this call; what the owner has to confirm is refused until then."""
        body = {"name": name, "arguments": dict(arguments), "session": session}
        caller = yield from self._reader()
        yield from self.line.ask(caller, "POST", "tickets", str(ticket), "redeem", body=body, key=new_key())

    def confirm(self, ticket: object, *, via: str | None = None) -> Steps[None]:
        """The owner confirms a call that waits, over a channel that may."""
        caller = yield from self.line.writer(via or self.over)
        yield from self.line.ask(caller, "POST", "tickets", str(ticket), "confirm", key=new_key())

    def decline(self, ticket: object, *, via: str | None = None) -> Steps[None]:
        """The owner turns a call down."""
        caller = yield from self.line.writer(via or self.over)
        yield from self.line.ask(caller, "POST", "tickets", str(ticket), "decline", key=new_key())

    def credit(self, run: str, outcome: str, *, via: str | None = None) -> Steps[dict[str, Any]]:
        """Say how a run ended. It counts for the memories whose values are in the run's redeemed tickets."""
        if outcome not in ("good", "bad"):
            raise InvalidRequest("An outcome is good or bad.", code="unknown_outcome")
        caller = yield from self.line.writer(via or self.over, "credit")
        body = {"run": run, "outcome": outcome}
        reply = yield from self.line.ask(caller, "POST", "credit", body=body, key=new_key())
        return dict(reply.members)
