"""agent-hooks: ``InterceptionEmitter().register(TruekeepInterceptor(keep))``, for any host that speaks AGENT-HOOKS-0.1.

The contract is a beta and cooperative: what a host does not emit is not seen, so promises hold for hosts that emit all
points. The mapping is thin. *Allow* permits, *deny* is final, *confirm* is a deny that the host's approval can lift.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truekeep.adapters.calls import AgentCall, ContextEntry, EntryKind, OfferedTool, as_json, asked_in_words
from truekeep.adapters.mediator import MediatedConversation, Mediator
from truekeep.adapters.reports import code_of, log
from truekeep.errors import InvalidRequest, MissingExtra

try:
    from agent_hooks import Decision, Transform, Verdict
except ImportError:
    raise MissingExtra("agent-hooks") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.trust.flow.tools import Tool

_KINDS = {"user": EntryKind.OWNER, "assistant": EntryKind.AGENT, "tool": EntryKind.RESULT}
_POINTS = frozenset(
    {
        "agent_startup", "input", "pre_model_call", "post_model_call", "pre_tool_call", "post_tool_call", "output",
        "agent_shutdown",
    }
)  # fmt: skip


class TruekeepInterceptor:
    """Mediates the sessions of a host. ``intercept`` never raises; what it cannot handle it denies.

    ``own_definitions`` says that every tool the host offers is described in the host's own program; else what a tool's
    definition says is foreign unless it is pinned.
    """

    def __init__(
        self,
        keep: Keep,
        *,
        tools: Iterable[Tool] = (),
        pins: Iterable[str] = (),
        own_definitions: bool = False,
        learn: bool = True,
    ) -> None:
        self._mediator = Mediator(keep, tools=tools, pins=pins, learn=learn)
        self._own_definitions = own_definitions
        self._asked: dict[str, list[AgentCall]] = {}
        self._lock = threading.RLock()

    def intercept(self, context: Mapping[str, Any]) -> Verdict:
        """The verdict on one context of the host's."""
        try:
            with self._lock:
                point = context["interception_point"]
                if point not in _POINTS:
                    raise InvalidRequest("This interception point is not known.", code="unknown_point")
                conversation = self._mediator.conversation(str(context["session"]["id"]))
                return getattr(self, f"_{point}")(conversation, context) or Verdict.allow()
        except Exception as error:
            log("a context could not be handled", error)
            return Verdict.deny(reason=f"truekeep:{code_of(error)}", message="truekeep could not judge this.")

    def _agent_startup(self, conversation: MediatedConversation, context: Mapping[str, Any]) -> None:
        """The names of tools alone say nothing; their definitions come with the first model call."""

    def _input(self, conversation: MediatedConversation, context: Mapping[str, Any]) -> None:
        self._turned_down(conversation)
        given = context["input"]
        is_owners = given.get("role") == "user" and isinstance(given.get("content"), str)
        kind = EntryKind.OWNER if is_owners else EntryKind.OTHER
        conversation.arrived(ContextEntry(kind, _text(given.get("content"))), is_owners=is_owners)

    def _pre_model_call(self, conversation: MediatedConversation, context: Mapping[str, Any]) -> Verdict | None:
        messages: Sequence[Mapping[str, Any]] = context["messages"]
        for one in messages:
            if one.get("role") == "system":
                conversation.prompt(_text(one.get("content")))
        conversation.offer([self._offered(tool) for tool in context.get("tools") or ()])
        # The host's history is compared with what was reported; what nobody reported is foreign.
        block = conversation.memory_block()
        shown = [one for one in messages if one.get("role") != "system" and one.get("content") != (block or None)]
        kinds = [_KINDS.get(str(one.get("role")), EntryKind.OTHER) for one in shown]
        conversation.context(
            [ContextEntry(kind, _text(one.get("content"))) for kind, one in zip(kinds, shown, strict=True)]
        )
        if not block or any(one.get("content") == block for one in messages):
            return None
        with_memories = [{"role": "user", "content": block}, *messages]
        return Verdict(decision=Decision.TRANSFORM, transform=Transform("$target", with_memories))

    def _offered(self, tool: Mapping[str, Any]) -> OfferedTool:
        schema = tool.get("schema") or tool.get("parameters") or {}
        description = str(tool.get("description") or "")
        return OfferedTool(str(tool.get("name")), description, schema, self._own_definitions)

    def _post_model_call(self, conversation: MediatedConversation, context: Mapping[str, Any]) -> None:
        response = context["response"]
        conversation.said(_text(response.get("content")))
        conversation.turn([_call(one) for one in response.get("tool_calls") or ()])

    def _pre_tool_call(self, conversation: MediatedConversation, context: Mapping[str, Any]) -> Verdict | None:
        call = _call(context["tool_call"])
        permit = conversation.judge(call)
        if permit.is_allowed:
            return None
        for told in (permit.message, f"blocked: {permit.message}"):
            conversation.told(told)
        if not permit.waits:
            return Verdict.deny(reason=permit.message, message=permit.message)
        self._asked.setdefault(conversation.name, []).append(call)
        return Verdict.escalate(reason=permit.message, message=asked_in_words(permit))

    def _post_tool_call(self, conversation: MediatedConversation, context: Mapping[str, Any]) -> None:
        call, value = _call(context["tool_call"]), context["tool_result"].get("value")
        for asked in [one for one in self._asked.get(conversation.name, ()) if one.id == call.id]:
            # It has run, so the host's approval lifted the deny.
            self._asked[conversation.name].remove(asked)
            conversation.decided(asked, yes=True)
        conversation.ran(call, value if isinstance(value, str | dict | list) else as_json(value), _text(value))

    def _output(self, conversation: MediatedConversation, context: Mapping[str, Any]) -> None:
        """What is put out was reported when the model said it."""

    def _agent_shutdown(self, conversation: MediatedConversation, context: Mapping[str, Any]) -> None:  # noqa: ARG002
        self._turned_down(conversation)
        conversation.ended()

    def _turned_down(self, conversation: MediatedConversation) -> None:
        """What was asked about and has not run by now was turned down."""
        for call in self._asked.pop(conversation.name, ()):
            conversation.decided(call, yes=False)


def _call(given: Mapping[str, Any]) -> AgentCall:
    return AgentCall(str(given.get("id")), str(given.get("name")), given.get("args"))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "" if content is None else as_json(content)
