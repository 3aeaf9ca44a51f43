"""The calls of a keep, a session and a handle, as steps that both shells carry out.

Looking back from a memory or a run, taking back, merging, erasing and distilling are here, too: they need an
administrator's token, or a writer's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.act.boundary import ActionAnswer
from truekeep.client import rebuild
from truekeep.client.answers import Members, ServiceReply
from truekeep.client.exchange import Steps, new_key
from truekeep.client.memory_calls import NOT_GIVEN, ActCalls, CallAsking, Reading, Writing, moment_text
from truekeep.errors import InvalidRequest, NotServed
from truekeep.extract.jobs import Task
from truekeep.extract.planning import PLAN_SCHEMA, planned_calls
from truekeep.extract.run import Distilled
from truekeep.incident.records import Forgotten, Incident
from truekeep.incident.report import IncidentReport
from truekeep.ops.erasure import Receipt
from truekeep.read.recall import Recall
from truekeep.sessions.tools import as_table
from truekeep.trust.candidate import checked_flag
from truekeep.trust.flow.evidence import PlanEntry
from truekeep.trust.flow.reply import CheckedReply
from truekeep.trust.flow.tools import Tool
from truekeep.trust.origin import session_name
from truekeep.types import Snapshot, Verdict

if TYPE_CHECKING:
    from truekeep.extract.llm import ChatModel


def _require_no_progress(progress: object) -> None:
    if progress is not None:
        raise NotServed("Progress is told by an embedded keep only.", hint="Leave progress= out over a service.")


class Incidents(CallAsking):
    """For an administrator's token."""

    def trace(self, memory_id: str) -> Steps[IncidentReport]:
        """Where a memory came from, what came of it, who saw it, and what was decided about it."""
        return (yield from self._report("GET", "trace", memory_id))

    def exposures(self, memory_id: str) -> Steps[list[dict[str, Any]]]:
        """Which sessions were shown a memory, and which actions it was matched in."""
        caller = yield from self._administrator()
        reply = yield from self.line.ask(caller, "GET", "exposures", memory_id)
        return list(Members(reply.members).each("exposures", lambda one: Members(one).everything()))

    def blame(self, run: str) -> Steps[IncidentReport]:
        """From a run's actions back to the memories in them, and to where those came from."""
        return (yield from self._report("GET", "blame", run))

    def revoke(
        self,
        *,
        principal: str | None = None,
        channel: str | None = None,
        session: str | None = None,
        prompt: str | None = None,
        since: datetime | None = None,
        dry_run: bool = False,
        by: str | None = None,
        reason: str = NOT_GIVEN,
    ) -> Steps[IncidentReport]:
        """Take back what came from a source and all that was derived from it; ``dry_run`` only says what that does."""
        source = {"principal": principal, "channel": channel, "session": session, "prompt": prompt}
        body = source | {
            "since": moment_text("since", since),
            "dry_run": checked_flag("dry_run", dry_run),
            "reason": reason,
        }
        return (yield from self._report("POST", "revoke", body=body, by=by))

    def rewind(
        self,
        to: datetime | int,
        *,
        dry_run: bool = False,
        by: str | None = None,
        reason: str = NOT_GIVEN,
        progress: object = None,
    ) -> Steps[IncidentReport]:
        """Put the memories back to what they were at a moment or after an audit event; ``dry_run`` only says how."""
        _require_no_progress(progress)
        where = to if isinstance(to, int) and not isinstance(to, bool) else moment_text("to", to)
        body = {"to": where, "dry_run": checked_flag("dry_run", dry_run), "reason": reason}
        return (yield from self._report("POST", "rewind", body=body, by=by))

    def undo(self, incident: str, *, by: str | None = None, reason: str = NOT_GIVEN) -> Steps[Incident]:
        """Take a revocation, a rewind or a consolidation back."""
        caller = yield from self._administrator(by, "admin")
        body = {"incident": incident, "reason": reason}
        reply = yield from self.line.ask(caller, "POST", "undo", body=body, key=new_key())
        return rebuild.incident(reply.members)

    def account(self, incident: str) -> Steps[IncidentReport]:
        """An incident told again, as a report: what it took out or put back, who had seen it and what was done."""
        return (yield from self._report("GET", "incidents", incident))

    def incidents(self) -> Steps[list[Incident]]:
        """Every revocation, rewind and consolidation, oldest first."""
        caller = yield from self._administrator()
        reply = yield from self.line.ask(caller, "GET", "incidents")
        return list(Members(reply.members).each("incidents", rebuild.incident))

    def _report(
        self, method: str, *path: str, body: Mapping[str, Any] | None = None, by: str | None = None
    ) -> Steps[IncidentReport]:
        caller = yield from self._administrator(by)
        key = new_key() if body is not None else None
        reply = yield from self.line.ask(caller, method, *path, body=body, key=key)
        return rebuild.report(reply.members)


class RemovalCalls(CallAsking):
    """Merging, taking out, erasing and distilling."""

    def consolidate(
        self, *, dry_run: bool = False, by: str | None = None, reason: str = NOT_GIVEN, progress: object = None
    ) -> Steps[IncidentReport]:
        """Merge memories that say the same into one each; ``dry_run`` only says which, ``undo`` takes it back."""
        _require_no_progress(progress)
        caller = yield from self._administrator(by)
        body = {"dry_run": checked_flag("dry_run", dry_run), "reason": reason}
        reply = yield from self.line.ask(caller, "POST", "consolidate", body=body, key=new_key())
        return rebuild.report(reply.members)

    def export(self) -> Steps[list[str]]:
        """All memories as signed JSON lines, screened and sanitised like any other answer."""
        caller = yield from self._administrator()
        reply = yield from self.line.ask(caller, "GET", "export")
        return list(Members(reply.members).texts("lines"))

    def erase(
        self,
        ids: Iterable[str] = (),
        *,
        subject: str | None = None,
        by: str | None = None,
        reason: str,
        dry_run: bool = False,
    ) -> Steps[Receipt]:
        """Erase memories, or everything that names a subject, for good; the receipt names what is left."""
        caller = yield from self._administrator(by, "admin delete")
        body = {"ids": list(ids), "subject": subject, "dry_run": checked_flag("dry_run", dry_run), "reason": reason}
        reply = yield from self.line.ask(caller, "POST", "erase", body=body, key=new_key())
        return rebuild.receipt(reply.members)

    def extract(
        self,
        session: str,
        strategy: str = "discrete",
        *,
        via: str | None = None,
        prompt: str | None = None,
        max_summary_length: int | None = None,
        model: object = None,
    ) -> Steps[Distilled]:
        """Distil a session into memories now: each is proved against its messages and goes through the gate once."""
        if model is not None:
            raise NotServed("A model of the caller's works in an embedded keep only.", hint="Set one for the service.")
        caller = yield from self.line.writer(via or self.over or "agent")
        task = Task(session_name(session), strategy, prompt, max_summary_length)
        body: dict[str, Any] = {"strategy": strategy, "prompt": prompt, "max_summary_length": max_summary_length}
        reply = yield from self.line.ask(caller, "POST", "sessions", task.session, "extract", body=body, key=new_key())
        return rebuild.distilled(reply.members, task)


class KeepCalls(Writing, Reading, ActCalls, Incidents, RemovalCalls):
    """What a keep asks of the service."""

    def bound(self, channel: str) -> KeepCalls:
        """The same calls, with the token of one channel only."""
        return KeepCalls(self.line, self.redeem_now, channel)

    def begin(
        self,
        session: str,
        *,
        mediated: bool = False,
        member: str | None = None,
        parent: str | None = None,
        learn: bool = True,
        tools: Iterable[Tool] = (),
    ) -> Steps[None]:
        """Declare what the host knows of a session, if it knows something. Only the owner's token does."""
        listed = [as_table(tool) for tool in tools]
        if mediated or member is not None or parent is not None or listed or not learn:
            body = {
                "mediated": checked_flag("mediated", mediated),
                "member": member,
                "parent": parent,
                "learn": checked_flag("learn", learn),
            }
            yield from self._told("PUT", session, body=body | {"tools": listed})

    def observe_result(self, session: str, tool: str, result: Any, *, principal: str | None = None) -> Steps[None]:
        """Report a tool's result, text or JSON. Only the owner's token does."""
        body = {"tool": tool, "result": result, "principal": principal}
        yield from self._told("POST", session, "results", body=body, key=new_key())

    def segment(self, session: str) -> Steps[None]:
        """Start a fresh context in a session whose host has dropped the old one. Only the owner's token does."""
        yield from self._told("POST", session, "segment", key=new_key())

    def check_reply(self, session: str, text: str) -> Steps[CheckedReply]:
        """The agent's answer to the owner, without links and images that would carry private values away."""
        reply = yield from self._told("POST", session, "reply", body={"text": text})
        return rebuild.checked_reply(reply.members)

    def plan(self, session: str, model: ChatModel) -> Steps[Sequence[PlanEntry]]:
        """Have a model of the caller's list the calls it intends, from a view with nothing foreign."""
        messages = yield from self.plan_prompt(session)
        reply = model.complete(messages, PLAN_SCHEMA, planned_calls)
        return (yield from self.take_plan(session, reply.text))

    def plan_prompt(self, session: str) -> Steps[list[dict[str, str]]]:
        """What to ask a model for a plan with."""
        reply = yield from self._told("GET", session, "plan", wanted="write read")
        return list(Members(reply.members).each("messages", lambda one: Members(one).everything()))

    def take_plan(self, session: str, reply: str) -> Steps[Sequence[PlanEntry]]:
        """Keep what is sound of a model's plan for the owner's last message."""
        answer = yield from self._told("PUT", session, "plan", body={"reply": reply}, key=new_key())
        return list(Members(answer.members).each("calls", rebuild.plan_entry))

    def is_clean(self, session: str) -> Steps[bool]:
        """Whether nothing foreign is in a session's context, as far as anybody can know."""
        caller = yield from self._reader()
        reply = yield from self.line.ask(caller, "GET", "sessions", session_name(session), "state")
        return Members(reply.members).flag("clean")

    def _told(
        self,
        method: str,
        session: str,
        *rest: str,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        wanted: str = "write",
    ) -> Steps[ServiceReply]:
        """What only the host says of a session, or asks about it, with the owner's token."""
        caller = yield from self.line.caller(wanted, self.over, of_channel="observe")
        where = ("sessions", session_name(session), *rest)
        return (yield from self.line.ask(caller, method, *where, body=body, key=key))

    def end(self, session: str) -> Steps[None]:
        """The conversation is over, and can be distilled; who may not write has left nothing to be distilled."""
        caller = yield from self.line.caller("write", self.over, of_channel="read")
        if caller.may("write", "read"):
            yield from self.line.ask(caller, "POST", "sessions", session, "end")


class SessionCalls:
    """What one conversation asks, as the host program sees it."""

    def __init__(self, keep: KeepCalls, name: str) -> None:
        self.keep = keep
        self.name = session_name(name)

    def observe(self, /, channel: str, text: str, **fields: Any) -> Steps[None]:
        """Report what this session took in: the owner's words prove, what was merely read taints."""
        return self.keep.observe(self.name, channel, text, **fields)

    def remember(self, /, text: str, *, via: str | None = None, **fields: Any) -> Steps[Verdict]:
        """Put a text through the gate as part of this session."""
        return self.keep.remember(text, via=via, session=self.name, **fields)

    def recall(self, /, query: str, **options: Any) -> Steps[Recall]:
        """Recall within this session."""
        return self.keep.recall(query, session=self.name, **options)

    def get_memories(self, /, **options: Any) -> Steps[list[dict[str, Any]]]:
        """List within this session."""
        return self.keep.get_memories(session=self.name, **options)

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> Steps[ActionAnswer]:
        """Ask whether a call may be made in this session: allow, confirm or deny, with a ticket."""
        return self.keep.check_action(self.name, name, arguments, run=run)

    def redeem(self, ticket: object, name: str, arguments: Mapping[str, Any]) -> Steps[None]:
        """Use a ticket up for just this call; ``truekeep.guard`` does it for a tool."""
        return self.keep.redeem(ticket, name, arguments, session=self.name)

    def observe_result(self, tool: str, result: Any, *, principal: str | None = None) -> Steps[None]:
        """Report a tool's result, text or JSON. What of it taints follows from the tool's declaration."""
        return self.keep.observe_result(self.name, tool, result, principal=principal)

    def check_reply(self, text: str) -> Steps[CheckedReply]:
        """The agent's answer to the owner, without links and images that would carry private values away."""
        return self.keep.check_reply(self.name, text)

    def plan(self, model: ChatModel) -> Steps[Sequence[PlanEntry]]:
        """Have a model list the calls it intends for the owner's last message, from a view with nothing foreign."""
        return self.keep.plan(self.name, model)

    def segment(self) -> Steps[None]:
        """Start a fresh context: the host has dropped the old one."""
        return self.keep.segment(self.name)

    def extract(self, /, strategy: str = "discrete", **options: Any) -> Steps[Distilled]:
        """Distil this session into memories."""
        return self.keep.extract(self.name, strategy, **options)

    def snapshot(self, *, refresh: bool = False) -> Steps[Snapshot]:
        """The frozen text for this session's prompt."""
        return self.keep.snapshot(self.name, refresh=refresh)

    def end(self) -> Steps[None]:
        """The conversation is over."""
        return self.keep.end(self.name)


class HandleCalls:
    """What a piece of agent code asks: one channel, perhaps one session, and no ``via``."""

    def __init__(self, keep: KeepCalls, channel: str, session: str | None) -> None:
        self.keep = keep.bound(channel)
        self.channel = channel
        self.session = session_name(session) if session is not None else None

    def remember(self, /, text: str, **fields: Any) -> Steps[Verdict]:
        """Put a text through the gate over this handle's channel."""
        return self.keep.remember(text, **self._within(fields))

    def remember_many(self, /, entries: Iterable[str | Mapping[str, Any]], **fields: Any) -> Steps[list[Verdict]]:
        """Put a batch through the gate over this handle's channel."""
        return self.keep.remember_many(entries, **self._within(fields))

    def update_memory(self, /, memory_id: str, text: str, **fields: Any) -> Steps[Verdict]:
        """Offer new content for a memory over this handle's channel."""
        return self.keep.update_memory(memory_id, text, **self._within(fields))

    def delete_memory(self, memory_id: str) -> Steps[Verdict]:
        """Delete a memory, or propose it, as the channel may."""
        return self.keep.delete_memory(memory_id)

    def forget(self, what: str | Sequence[str], *, dry_run: bool = False) -> Steps[Forgotten]:
        """Forget what some words are about, or propose it, as the channel may."""
        return self.keep.forget(what, dry_run=dry_run)

    def recall(self, /, query: str, **options: Any) -> Steps[Recall]:
        """Recall for a channel that may read."""
        return self.keep.recall(query, **self._within(options))

    def get_memories(self, /, **options: Any) -> Steps[list[dict[str, Any]]]:
        """List for a channel that may read."""
        return self.keep.get_memories(**self._within(options))

    def get_memory(self, memory_id: str) -> Steps[dict[str, Any]]:
        """One memory, for a channel that may read."""
        return self.keep.get_memory(memory_id, **self._within({}))

    def observe(self, /, text: str, **fields: Any) -> Steps[None]:
        """Report what this handle's session took in over this handle's channel."""
        return self.keep.observe(self._session(), self.channel, text, **fields)

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> Steps[ActionAnswer]:
        """Ask whether this handle's session may make a call, for a channel that may read."""
        return self.keep.check_action(self._session(), name, arguments, run=run)

    def redeem(self, ticket: object, name: str, arguments: Mapping[str, Any]) -> Steps[None]:
        """Use a ticket up for just this call; what the owner has to confirm is refused until then."""
        return self.keep.redeem(ticket, name, arguments, session=self._session())

    def is_clean(self) -> Steps[bool]:
        """Whether nothing foreign is in this session's context, as far as anybody can know."""
        return self.keep.is_clean(self._session())

    def confirm(self, ticket: object) -> Steps[None]:
        """Confirm a call that waits, over a channel that may."""
        return self.keep.confirm(ticket)

    def extract(self, /, strategy: str = "discrete", **options: Any) -> Steps[Distilled]:
        """Distil this handle's session; a custom prompt takes a channel that may use those."""
        if "via" in options:
            raise TypeError("a handle's via is fixed when it is bound")
        return self.keep.extract(self._session(), strategy, **options)

    def snapshot(self, *, refresh: bool = False) -> Steps[Snapshot]:
        """The snapshot of this handle's session, for a channel that may read."""
        return self.keep.snapshot(self.session or "default", refresh=refresh)

    def _session(self) -> str:
        if self.session is None:
            raise InvalidRequest("This handle has no session.", code="no_session", hint="Bind it with session=….")
        return self.session

    def _within(self, fields: dict[str, Any]) -> dict[str, Any]:
        for name in ("via", "session"):
            if name in fields:
                raise TypeError(f"a handle's {name} is fixed when it is bound")
        return {**fields, **({"session": self.session} if self.session else {})}
