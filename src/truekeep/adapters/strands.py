"""Strands: ``Agent(..., interventions=[TruekeepIntervention(keep)])``.

*Allow*, *deny* and *confirm* are the framework's ``Proceed``, ``Deny`` and ``Confirm``; an error in the handler denies.
What the model is shown is reported where the model is called, after everything else that changes it. A conversation
has the name of the agent's session; without a session manager each agent is one conversation of its own.

Agents of a ``Swarm`` or ``Graph`` share one handler, which the team is given as well (``hooks=[protection]``): the
team's task is the owner's, and what its agents tell each other is as clean as the conversation. Without that, what a
team puts together for an agent is foreign.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakSet

from truekeep.adapters.calls import AgentCall, CallPermit, asked_in_words
from truekeep.adapters.mediator import MediatedConversation, Mediator
from truekeep.errors import MissingExtra

try:
    from strands import InterventionHandler, tool
    from strands.hooks import AfterMultiAgentInvocationEvent, BeforeNodeCallEvent
    from strands.interventions import Confirm, Deny, Proceed
    from strands.interventions.actions import default_evaluate
    from strands.middleware import InvokeModelStage
    from strands.types._events import ToolInterruptEvent
    from strands.types.tools import AgentTool, ToolContext

    from truekeep.adapters import strands_messages as messages
except ImportError:
    raise MissingExtra("strands") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.trust.flow.tools import Tool

_DENIED, _TURNED_DOWN = "DENIED: ", "CONFIRMATION_FAILED: "
"""What the framework puts before a handler's words."""
_team: ContextVar[tuple[TruekeepIntervention, str] | None] = ContextVar("truekeep_team", default=None)
"""The handler and the conversation of the team whose agent is about to run."""


class TruekeepIntervention(InterventionHandler):
    """Mediates the conversations of agents with a keep.

    ``conversation`` names the conversation of the agents that have this handler, in place of their session's name. The
    other options are the mediator's.
    """

    name = "truekeep"
    on_error: Literal["deny"] = "deny"

    def __init__(
        self,
        keep: Keep,
        *,
        conversation: str | None = None,
        tools: Iterable[Tool] = (),
        pins: Iterable[str] = (),
        trust_hints: bool = False,
        learn: bool = True,
        memory_tools: bool = True,
    ) -> None:
        self._mediator = Mediator(keep, tools=tools, pins=pins, trust_hints=trust_hints, learn=learn)
        self._name = conversation
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._talks: WeakKeyDictionary[Any, MediatedConversation] = WeakKeyDictionary()
        self._attached: WeakSet[Any] = WeakSet()
        self._own: list[Any] = _memory_tools(self) if memory_tools else []

    # What the framework calls

    async def before_invocation(self, event: Any, **_: Any) -> Any:
        """A run starts: its input is the owner's, the messages before it only as far as they were seen."""
        self._attach(event.agent)
        conversation, is_teams = self._open(event.agent)
        given = list(event.messages or ())
        is_owners = conversation.delegation is not None or not (is_teams or _is_in_a_team())

        def report() -> None:
            before = messages.entries_of(event.agent.messages)
            conversation.context(before)  # nothing of it is the owner's, whatever stands at its end
            if is_teams and conversation.delegation is None:
                for entry in messages.entries_of(given):
                    conversation.summed_up(entry.whole)
            conversation.context([*before, *messages.entries_of(given)], starts=is_owners)

        await _reported(conversation, report)
        return Proceed()

    async def after_model_call(self, event: Any, **_: Any) -> Any:
        """The model has answered."""
        if event.stop_response is not None:
            conversation, message = self.conversation_of(event.agent), event.stop_response.message
            await _reported(conversation, lambda: self._said(conversation, event.agent, message))
            if event.stop_response.stop_reason != "tool_use":
                await asyncio.to_thread(conversation.ended)
        return Proceed()

    async def before_tool_call(self, event: Any, **_: Any) -> Any:
        """May this call be made? The tool is given a copy of the arguments that were judged."""
        if self._is_unguarded(event.selected_tool):
            return Proceed()
        conversation, call = self.conversation_of(event.agent), messages.call_of(event.tool_use)
        permit = await conversation.judged(call)
        if permit.waits:
            return self._asked(event, conversation, call, permit)
        if not permit.is_allowed:
            conversation.told(_DENIED + permit.message)
            return Deny(reason=permit.message)
        _let_through(event, conversation, call, permit)
        return Proceed()

    async def after_tool_call(self, event: Any, **_: Any) -> Any:
        """Report what a call gave."""
        conversation, call = self.conversation_of(event.agent), messages.call_of(event.tool_use)
        text = messages.text_of_result(event.result)
        if event.cancel_message is not None:
            return Proceed()  # these are truekeep's own words, or another handler's, which are looked at when shown
        if self._is_unguarded(event.selected_tool):
            conversation.told(text)
        else:
            result = messages.structured_result(event.result)
            await _reported(conversation, lambda: conversation.ran(call, result, text))
        return Proceed()

    def register_hooks(self, registry: Any, **_: Any) -> None:
        """For a ``Swarm`` or ``Graph`` that is given this handler among its hooks."""
        registry.add_callback(BeforeNodeCallEvent, self._before_node)
        registry.add_callback(AfterMultiAgentInvocationEvent, self._after_team)

    # Inside

    def conversation_of(self, agent: Any) -> MediatedConversation:
        """The conversation that an agent is in."""
        if agent not in self._talks:
            self._open(agent)
        return self._talks[agent]

    def _open(self, agent: Any) -> tuple[MediatedConversation, bool]:
        """The conversation of a run that begins, and whether it is a team's."""
        team = _team.get()
        is_teams = team is not None and team[0] is self
        name = team[1] if team is not None and is_teams else self._name_of(agent)
        self._talks[agent] = self._mediator.conversation(name)
        return self._talks[agent], is_teams

    def _name_of(self, talker: Any) -> str:
        """The name of an agent's or a team's conversation."""
        if self._name:
            return self._name
        manager = getattr(talker, "_session_manager", None) or getattr(talker, "session_manager", None)
        if session := getattr(manager, "session_id", None):
            agent_id = getattr(talker, "agent_id", "default")
            return str(session) if agent_id == "default" else f"{session}/{agent_id}"
        return self._names.setdefault(talker, f"run-{uuid4().hex}")

    def _attach(self, agent: Any) -> None:
        if agent in self._attached:
            return
        self._attached.add(agent)
        agent.add_middleware(InvokeModelStage, self._model_called)  # the last one is the closest to the model
        for one in self._own:
            agent.tool_registry.register_tool(one)

    async def _model_called(self, context: Any, call_model: Callable[[Any], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        """The model is called: report what it is shown, and show it its memories as data."""
        conversation = self.conversation_of(context.agent)
        block = await asyncio.to_thread(self._shown, conversation, context)
        if block:
            context = context.replace(
                messages=messages.with_memories(context.messages, block),
                dynamic_trailing_blocks=context.dynamic_trailing_blocks + 1,
            )
        async for event in call_model(context):
            yield event

    def _shown(self, conversation: MediatedConversation, context: Any) -> str:
        """Report what the model is shown; gives the memories that it is shown besides."""
        try:
            self._report(conversation, context)
        except Exception as error:
            conversation.missed(error)
        return conversation.memory_block()

    def _report(self, conversation: MediatedConversation, context: Any) -> None:
        if hosted := messages.hosted_in(context.model.get_config()):
            conversation.provider_side(f"What the model's setting '{hosted}' names")
        conversation.prompt(messages.text_of_prompt(context.system_prompt), agent=str(id(context.agent)))
        registry = context.agent.tool_registry
        known = {**registry.registry, **registry.dynamic_tools}
        conversation.offer([messages.offered(one, known.get(one["name"])) for one in context.tool_specs])
        conversation.context(messages.entries_of(context.messages))

    def _said(self, conversation: MediatedConversation, agent: Any, message: Any) -> None:
        outside = "\n".join(str(block) for block in messages.outside_of(message))
        conversation.said(messages.text_of(messages.blocks_of(message)), from_outside=outside)
        known = {**agent.tool_registry.registry, **agent.tool_registry.dynamic_tools}
        calls = messages.calls_of(message)
        conversation.turn([call for call in calls if not self._is_unguarded(known.get(call.name))])

    def _asked(self, event: Any, conversation: MediatedConversation, call: AgentCall, permit: CallPermit) -> Any:
        """Have the framework ask the owner; a plain yes lets the call through, and whatever else it is, it is a no."""
        prompt = asked_in_words(permit)

        def is_yes(response: Any) -> bool:
            asked = event.agent._interrupt_state.interrupts.get(event._interrupt_id(self.name))
            is_this = asked is not None and asked.reason == prompt  # else the owner was asked about another call
            decided = conversation.decided(call, yes=is_this and default_evaluate(response))
            if not decided.is_allowed:
                conversation.told(_TURNED_DOWN + prompt)
                return False
            _let_through(event, conversation, call, decided)
            return True

        return Confirm(prompt=prompt, evaluate=is_yes)

    def _is_unguarded(self, known: Any) -> bool:
        """Truekeep's own tools, the shape of an answer, and handing over in a team that shares the conversation."""
        team = _team.get()
        is_teams = team is not None and team[0] is self
        is_own = any(known is one for one in self._own)
        return is_own or messages.gives_output(known) or (is_teams and messages.hands_over(known))

    async def _before_node(self, event: Any) -> None:
        """An agent of a team is about to run. What the team was asked is the owner's word."""
        if not all(self._guards(node.executor) for node in event.source.nodes.values()):
            _team.set(None)  # what an unprotected agent passes on may be anybody's
            return
        conversation = self._mediator.conversation(self._name_of(event.source))
        asked = messages.owners(event.source.state.task)
        if asked.whole:
            await _reported(conversation, lambda: conversation.context([asked], starts=True))
        _team.set((self, conversation.name))

    async def _after_team(self, event: Any) -> None:  # noqa: ARG002
        _team.set(None)

    def _guards(self, agent: Any) -> bool:
        handlers = getattr(getattr(agent, "_intervention_registry", None), "handlers", ())
        return any(one is self for one in handlers)


class GuardedTool(AgentTool):
    """A tool that may be called once, with the arguments that were judged."""

    def __init__(self, inner: Any, conversation: MediatedConversation, call: AgentCall, permit: CallPermit) -> None:
        super().__init__()
        self._inner = inner
        self._conversation = conversation
        self._call = call
        self._permit = permit

    @property
    def tool_name(self) -> str:
        """As the tool's."""
        return str(self._inner.tool_name)

    @property
    def tool_spec(self) -> Any:
        """As the tool's."""
        return self._inner.tool_spec

    @property
    def tool_type(self) -> str:
        """As the tool's."""
        return str(self._inner.tool_type)

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **options: Any) -> AsyncIterator[Any]:
        """Carry the call out; an agent that is run meanwhile is a sub-agent."""
        inner = self._inner.stream({**tool_use, "input": self._permit.arguments}, invocation_state, **options)
        try:
            # Step by step: whoever takes the events may stop anywhere, and close this from elsewhere.
            while (event := await self._step(inner)) is not None:
                if isinstance(event, ToolInterruptEvent):
                    self._conversation.again(self._call, self._permit)  # it stops to be resumed
                yield event
        finally:
            if hasattr(inner, "aclose"):
                await inner.aclose()

    async def _step(self, inner: Any) -> Any:
        with self._conversation.running(self._call):
            return await anext(inner, None)


def _let_through(event: Any, conversation: MediatedConversation, call: AgentCall, permit: CallPermit) -> None:
    if event.selected_tool is not None:  # else nothing is carried out
        event.selected_tool = GuardedTool(event.selected_tool, conversation, call, permit)


async def _reported(conversation: MediatedConversation, report: Callable[[], object]) -> None:
    """Make a report; whatever goes wrong in it, something came in that nobody looked at."""
    try:
        await asyncio.to_thread(report)
    except Exception as error:
        conversation.missed(error)


def _is_in_a_team() -> bool:
    """Whether a swarm or graph runs this agent. Nothing but the stack tells: the input is a user's message as well."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not str(frame.f_globals.get("__name__", "")).startswith("strands.multiagent"):
        frame = frame.f_back
    return frame is not None


def _memory_tools(handler: TruekeepIntervention) -> list[Any]:
    @tool(context=True)
    def remember_note(note: str, tool_context: ToolContext) -> str:
        """Write a short note for later conversations. It is a note of yours, not the user's word."""
        return handler.conversation_of(tool_context.agent).remember(note)

    @tool(context=True)
    def recall_memories(question: str, tool_context: ToolContext) -> str:
        """Look up what the user said in earlier conversations."""
        return handler.conversation_of(tool_context.agent).recall(question)

    return [remember_note, recall_memories]
