"""Asking: a question goes to the person behind the client, and only their answer to just that question counts.

Older clients are asked while their call waits. From protocol 2026-07-28 on the call is answered with the question, and
the client calls again with the answer: what is asked is remembered here under a random name that is good for one
answer, to the same call, by the same holder, for a while. An answer that nobody asked for is no answer.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from truekeep.errors import InvalidRequest, NotAllowed
from truekeep.serve.logs import WARNING, log_event
from truekeep.serve.mcp.patience import Patience
from truekeep.serve.mcp.questions import Question, Unaskable

if TYPE_CHECKING:
    from truekeep.serve.mcp.binding import Binding

ANSWER_SECONDS = 600.0
"""How long a question waits for a person; then the call is answered without them."""
_MOST_OPEN = 1_000
"""Questions that wait at a time, of all sessions; a client must not fill the memory."""
_KEY = "owner"
_NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}
"""A yes or a no and nothing to fill in: there is no text in an answer that could be edited."""


Context = ServerRequestContext[Any, Any]
Result = CallToolResult | InputRequiredResult


class PersonAnswer(StrEnum):
    """What became of a question."""

    YES = "yes"
    NO = "no"
    CANCELLED = "cancelled"
    NOT_ASKED = "not_asked"


@dataclass(frozen=True, slots=True)
class PersonReply:
    """The person's answer to one question, or why there is none."""

    answer: PersonAnswer
    why: str = ""
    question: Question | None = None

    @property
    def shown(self) -> str:
        """The text that the person read and said yes to."""
        if self.answer is not PersonAnswer.YES or self.question is None:
            raise RuntimeError("nobody said yes")
        return self.question.shown


Then = Callable[[PersonReply], Awaitable[CallToolResult]]


@dataclass(frozen=True, slots=True)
class PersonCall:
    """One tool call: in what context, by whom, and with which arguments."""

    context: Context
    binding: Binding
    params: CallToolRequestParams

    @property
    def person(self) -> str:
        """The channel over which the yes of the person behind the client counts."""
        if self.binding.owner is None:
            raise NotAllowed("Nobody can be asked over this connection.")
        return self.binding.owner

    @property
    def digest(self) -> str:
        """The tool, its arguments and who calls: what an answer is bound to."""
        same = [self.binding.holder, self.binding.session, self.params.name, self.params.arguments or {}]
        return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Open:
    call: str
    holder: str
    question: Question
    then: Then
    until: float


class Asking:
    """The questions of one server."""

    def __init__(self, patience: Patience | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience or Patience(clock)
        self._clock = clock
        self._open: OrderedDict[str, _Open] = OrderedDict()

    async def ask(self, call: PersonCall, question: Question | Unaskable, then: Then) -> Result:
        """Go on with the person's answer, or at once without one if they cannot be asked."""
        if isinstance(question, Unaskable):
            return await then(PersonReply(PersonAnswer.NOT_ASKED, question.why))
        self._give_up_old()
        why = _unreachable(call) or self._patience.refusal(call.binding.holder, question.digest)
        if why:
            return await then(PersonReply(PersonAnswer.NOT_ASKED, why))
        if call.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._ask_back(call, question, then)
        self._patience.asking(call.binding.holder)
        reply = PersonReply(PersonAnswer.CANCELLED, "no_answer", question)
        try:
            async with call.binding.set_aside():
                reply = await _elicited(call.context, question)
        finally:
            self._answered(call.binding.holder, reply, question)
        return await then(reply)

    async def resume(self, call: PersonCall) -> CallToolResult:
        """Go on with a call whose answer has come."""
        found = self._open.pop(call.params.request_state or "", None)
        if found is None or found.until <= self._clock() or not secrets.compare_digest(found.call, call.digest):
            if found is not None:
                self._answered(found.holder, PersonReply(PersonAnswer.CANCELLED), found.question)
            raise InvalidRequest(
                "This is no answer to an open question of this call.",
                code="question_expired",
                hint="Call the tool again without an answer, and the person is asked anew.",
            )
        given = (call.params.input_responses or {}).get(_KEY)
        reply = (
            _reply(given, found.question) if isinstance(given, ElicitResult) else PersonReply(PersonAnswer.CANCELLED)
        )
        self._answered(found.holder, reply, found.question)
        return await found.then(reply)

    def _ask_back(self, call: PersonCall, question: Question, then: Then) -> InputRequiredResult:
        name = secrets.token_urlsafe(24)
        self._patience.asking(call.binding.holder)
        until = self._clock() + ANSWER_SECONDS
        self._open[name] = _Open(call.digest, call.binding.holder, question, then, until)
        params = ElicitRequestFormParams(message=question.message, requested_schema=_NO_FIELDS)
        return InputRequiredResult(input_requests={_KEY: ElicitRequest(params=params)}, request_state=name)

    def _give_up_old(self) -> None:
        """Forget questions that nobody answered in time; they stand in the order in which they were asked."""
        while self._open:
            oldest = next(iter(self._open.values()))
            if oldest.until > self._clock() and len(self._open) < _MOST_OPEN:
                return
            self._open.popitem(last=False)
            self._answered(oldest.holder, PersonReply(PersonAnswer.CANCELLED), oldest.question)

    def _answered(self, holder: str, reply: PersonReply, question: Question) -> None:
        self._patience.answered(holder, question.digest, declined=reply.answer is PersonAnswer.NO)


def _unreachable(call: PersonCall) -> str:
    """Why the person behind this call cannot be asked, as a code."""
    if call.binding.owner is None:
        return "asking_is_off"
    session = call.context.session
    capabilities = session.client_capabilities
    asks = capabilities.elicitation if capabilities is not None else None
    if asks is None or (asks.form is None and asks.url is not None):
        return "client_cannot_ask"
    modern = call.context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return "" if modern or session.can_send_request else "client_cannot_ask"


async def _elicited(context: Context, question: Question) -> PersonReply:
    with anyio.move_on_after(ANSWER_SECONDS):
        try:
            result = await context.session.elicit_form(question.message, _NO_FIELDS, context.request_id)
        except (MCPError, ValidationError) as error:
            log_event("mcp.not_asked", WARNING, error=type(error).__name__)
            return PersonReply(PersonAnswer.NOT_ASKED, "client_failed_to_ask", question)
        return _reply(result, question)
    return PersonReply(PersonAnswer.CANCELLED, "no_answer_in_time", question)


def _reply(result: ElicitResult, question: Question) -> PersonReply:
    if result.action == "decline":
        return PersonReply(PersonAnswer.NO, "declined", question)
    if result.action != "accept":
        return PersonReply(PersonAnswer.CANCELLED, "cancelled", question)
    if any(value is not True for value in (result.content or {}).values()):
        # Nothing was to be filled in. Whoever put something in meant another text than the one that was shown.
        return PersonReply(PersonAnswer.CANCELLED, "answer_with_other_content", question)
    return PersonReply(PersonAnswer.YES, "", question)
