"""A session as clients send and see it: whose words its messages are is decided here, from the token's channel."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from truekeep.config import PAGE_CAP
from truekeep.errors import InvalidRequest
from truekeep.extract.conversation import Message
from truekeep.extract.working import WorkingMemory
from truekeep.read.reader import sanitised_json
from truekeep.serve.rest.long_term import remembered
from truekeep.serve.rest.models import Body, Moment, Name, NewMemory, RecordBody, VerdictOut
from truekeep.serve.rest.records import record_of
from truekeep.serve.service import ServiceCall
from truekeep.trust import fence
from truekeep.trust.origin import AGENT, session_name
from truekeep.types import Decision, Standing, Verdict, utc_text

if TYPE_CHECKING:
    from truekeep.serve.pool import Lease

OWN = "truekeep"
_MOST_MEMORIES = 500
"""What a client of the other protocol sends along with a session; the newest are kept."""


class MessageIn(Body):
    """A message. Its role is for display; whose words they are is the token's to say."""

    role: Name
    content: str
    id: Name | None = None
    created_at: Moment | None = None


class StrategyBody(Body):
    """How the session is to be distilled into memories."""

    strategy: str = Field(default="discrete", max_length=50)
    config: dict[str, Any] = Field(default_factory=dict)


class WorkingIn(Body):
    """What is put into a session."""

    session_id: Name | None = None
    messages: list[MessageIn] = Field(default_factory=list, max_length=PAGE_CAP)
    memories: list[NewMemory] = Field(default_factory=list, max_length=_MOST_MEMORIES)
    data: dict[str, Any] | None = None
    context: str | None = None
    user_id: Name | None = None
    namespace: Name | None = None
    ttl_seconds: int | None = Field(default=None, ge=1, le=315_360_000)
    long_term_memory_strategy: StrategyBody | None = None


class MessageOut(BaseModel):
    """A message as the session holds it; ``channel`` says whose words it is."""

    id: str
    role: str
    content: str
    created_at: str
    persisted_at: str | None = None
    discrete_memory_extracted: str = "f"
    channel: str
    owner: bool


class WorkingOut(BaseModel):
    """A session."""

    session_id: str
    messages: list[MessageOut]
    memories: list[RecordBody]
    data: dict[str, Any]
    context: str | None
    user_id: str | None
    namespace: str | None
    tokens: int
    ttl_seconds: int | None
    last_accessed: str
    verdicts: list[VerdictOut] = []


class SessionList(BaseModel):
    """A page of sessions' names."""

    sessions: list[str]
    total: int


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a client calls a session's user and namespace, and the memories it put into it. It grants nothing."""

    user_id: str | None = None
    namespace: str | None = None
    memories: tuple[tuple[str, str], ...] = ()
    """The client's id and the keep's own."""

    def matches(self, wanted: dict[str, str | None]) -> bool:
        """Whether the names that are wanted are the session's."""
        return all(value is None or getattr(self, name) == value for name, value in wanted.items())

    def as_data(self) -> dict[str, Any]:
        """As it stands in the session's data."""
        return {"user_id": self.user_id, "namespace": self.namespace, "memories": [list(one) for one in self.memories]}


def attributes(memory: WorkingMemory | None) -> Attributes:
    """The attributes of a session."""
    kept = memory.data.get(OWN) if memory is not None else None
    if not isinstance(kept, dict):
        return Attributes()
    pairs = tuple((str(one[0]), str(one[1])) for one in kept.get("memories", ()) if len(one) == 2)
    return Attributes(kept.get("user_id"), kept.get("namespace"), pairs)


def session_of(lease: Lease, session_id: str) -> dict[str, Any] | None:
    """A session as the body of an answer, or nothing if there is none."""
    memory = lease.keep.working.get(session_id)
    if memory is None:
        return None
    known, owners = attributes(memory), owner_channels(lease)
    data = {name: value for name, value in memory.data.items() if name != OWN}
    return {
        "session_id": memory.session,
        "messages": [message_of(message, owners) for message in memory.messages],
        "memories": _memories(lease, known),
        "data": sanitised_json(data),
        "context": fence.sanitised(memory.context) or None,
        "user_id": known.user_id,
        "namespace": known.namespace,
        "tokens": sum(len(message.text) // 4 + 1 for message in memory.messages),
        "ttl_seconds": int(memory.ttl.total_seconds()) if memory.ttl else None,
        "last_accessed": utc_text(memory.updated_at),
    }


def message_of(message: Message, owners: frozenset[str]) -> dict[str, Any]:
    """A message as a client sees it: sanitised, and with whose words it is."""
    return {
        "id": message.alias or message.id,
        "role": fence.one_line(message.role) or ("assistant" if message.channel == AGENT else "user"),
        "content": fence.sanitised(message.text),
        "created_at": utc_text(message.at),
        "persisted_at": utc_text(message.at),
        "discrete_memory_extracted": "f",
        "channel": message.channel,
        "owner": message.channel in owners,
    }


def owner_channels(lease: Lease) -> frozenset[str]:
    """The channels over which the owner's words come."""
    return frozenset(one["name"] for one in lease.keep.channels.list() if one["standing"] == "owner")


def unread(session_id: str) -> dict[str, Any]:
    """The answer to who may write into a session and not read it."""
    moment = utc_text(datetime.now(UTC))
    nothing: dict[str, Any] = {"messages": [], "memories": [], "data": {}, "tokens": 0, "last_accessed": moment}
    names = dict.fromkeys(("context", "user_id", "namespace", "ttl_seconds"))
    return {"session_id": session_id, **nothing, **names}


def _memories(lease: Lease, known: Attributes) -> list[dict[str, Any]]:
    listed = []
    for client_id, own in known.memories:
        try:
            shown = record_of(lease.handle.get_memory(own))
        except LookupError:
            continue
        listed.append(shown | {"id": client_id})
    return listed


def take_in(lease: Lease, call: ServiceCall, session_id: str, body: WorkingIn, budget: int | None) -> list[Verdict]:
    """Put what a client sent into a session; a memory that is rejected keeps everything else out as well."""
    session_name(session_id)
    before = lease.keep.working.get(session_id)
    known = attributes(before)
    mine = {client for client, own in known.memories if _channel_of(lease, own) == call.identity.channel}
    fresh = [one for one in _identified(body.memories, call) if one.id not in mine]
    messages = _messages(lease, call, body, before)
    verdicts = remembered(lease, call, [_in_session(one) for one in fresh]) if fresh else []
    if any(verdict.decision is Decision.REJECT for verdict in verdicts):
        return verdicts
    stored = [(str(one.id), verdict.memory_id) for one, verdict in zip(fresh, verdicts, strict=True)]
    added = tuple((client, own) for client, own in stored if own is not None)
    channel = lease.keep.channels.get(call.identity.channel)
    if channel.standing is Standing.OWNER or channel.may("delete"):
        named = (body.user_id or known.user_id, body.namespace or known.namespace)
        after = Attributes(*named, (*known.memories, *added)[-_MOST_MEMORIES:])
    else:  # who may only add renames nothing, and pushes nothing out
        named = (known.user_id or body.user_id, known.namespace or body.namespace)
        after = Attributes(*named, (*known.memories, *added)[:_MOST_MEMORIES])
    data = body.data if body.data is not None else dict(before.data) if before is not None else {}
    changes = {name: value for name, value in data.items() if name != OWN} | {OWN: after.as_data()}
    lease.keep.working.put(
        session_id,
        via=call.identity.channel,
        data=changes,
        context=body.context or None,
        ttl=timedelta(seconds=body.ttl_seconds) if body.ttl_seconds else None,
        token_budget=budget,
    )
    if messages:
        lease.keep.working.append(session_id, *messages)
        _queue(lease, call, session_id, body.long_term_memory_strategy)
    return verdicts


def _channel_of(lease: Lease, memory_id: str) -> str:
    try:
        return str(lease.keep.get_memory(memory_id)["origin"]["channel"])
    except LookupError:
        return ""


def _identified(memories: list[NewMemory], call: ServiceCall) -> list[NewMemory]:
    return [
        one if one.id else one.model_copy(update={"id": call.new_id("memory", at)}) for at, one in enumerate(memories)
    ]


def _in_session(memory: NewMemory) -> NewMemory:
    return memory.model_copy(update={"session_id": None})  # the handle is bound to it already


def _messages(lease: Lease, call: ServiceCall, body: WorkingIn, before: WorkingMemory | None) -> list[Message]:
    """The messages that are new, each over the channel it may claim."""
    held = {(one.alias or one.id, text) for one in (before.messages if before else ()) for text in _forms(one)}
    now = datetime.now(UTC)
    return [
        Message(
            id=one.id or call.new_id("message", at),
            channel=channel_of(lease, call, one.role),
            text=one.content,
            at=one.created_at or now,
            role=one.role,
        )
        for at, one in enumerate(body.messages)
        if (one.id, one.content) not in held
    ]


def _forms(message: Message) -> tuple[str, str]:
    """A message as it is stored and as it was shown: a client sends back what it saw."""
    return message.text, fence.sanitised(message.text)


def channel_of(lease: Lease, call: ServiceCall, role: str) -> str:
    """Over which channel a message came: the token's. A role can only take the owner's standing away from it."""
    channel = lease.keep.channels.get(call.identity.channel)
    if channel.standing is not Standing.OWNER or role.casefold() == "user":
        return channel.name
    return AGENT if role.casefold() == "assistant" else "tool"


def _queue(lease: Lease, call: ServiceCall, session_id: str, wish: StrategyBody | None) -> None:
    """Have the session distilled once it is quiet, as the client wishes."""
    if wish is None:
        return
    if wish.strategy == "custom":
        call.identity.require("custom-prompts")
    prompt, length = wish.config.get("prompt"), wish.config.get("max_summary_length")
    if "custom_prompt" in wish.config:
        raise InvalidRequest(
            "A custom prompt is added and approved first, then named.",
            code="prompt_not_approved",
            hint="Add it with 'truekeep prompts add', have it approved, and send its name as 'prompt'.",
        )
    lease.keep.extraction.queue(
        session_id,
        wish.strategy,
        via=call.identity.channel,
        prompt=prompt if isinstance(prompt, str) else None,
        max_summary_length=length if isinstance(length, int) and not isinstance(length, bool) else None,
    )
