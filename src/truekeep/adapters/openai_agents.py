"""OpenAI Agents SDK: ``agent = protect(agent, keep)``, and ``Runner.run(agent, text, session=TruekeepSession(name))``.

A protected agent hands out its tools wrapped, those of its MCP servers too, so that no call passes by. Agents that it
hands off to are protected with it and go on with the same conversation. An agent that is used as a tool is protected
before ``as_tool``; inside the call it inherits the conversation. Tools that run at OpenAI are noticed; local tools that
are no functions (shell, computer, patches) cannot be wrapped, and an agent with one is refused.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from truekeep.adapters.calls import AgentCall, CallPermit
from truekeep.adapters.mediator import MediatedConversation, Mediator
from truekeep.errors import InvalidRequest, MissingExtra

try:
    from agents import Agent, AgentHooks, FunctionTool, Handoff, RunContextWrapper, SQLiteSession, function_tool
    from agents.memory import Session, SessionSettings
    from agents.tool_context import ToolContext

    from truekeep.adapters.openai_items import (
        OWN_ITEMS,
        entry_of,
        function_of,
        kind_of,
        offered,
        one_spelling,
        plain_result,
        text_of,
    )
except ImportError:
    raise MissingExtra("openai-agents") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.trust.flow.tools import Tool

_HOSTED = frozenset(
    {
        "WebSearchTool",
        "FileSearchTool",
        "CodeInterpreterTool",
        "HostedMCPTool",
        "ImageGenerationTool",
        "ToolSearchTool",
    }
)
"""What OpenAI runs itself."""
_MOST_ASKED = 256
"""Calls that wait for an approval; one that was asked about before all of these is asked for again."""
_MOST_WRAPPINGS = 1_024
"""Wrapped tools that are kept at hand; servers may make new ones for each run."""
_names: WeakKeyDictionary[RunContextWrapper[Any], str] = WeakKeyDictionary()


def protect(
    agent: Agent[Any],
    keep: Keep,
    *,
    tools: Iterable[Tool] = (),
    pins: Iterable[str] = (),
    trust_hints: bool = False,
    learn: bool = True,
    memory_tools: bool = True,
) -> Agent[Any]:
    """The agent, and all agents that it hands off to, behind the act boundary. The given one is left as it is."""
    mediator = Mediator(keep, tools=tools, pins=pins, trust_hints=trust_hints, learn=learn)
    return Protection(mediator, memory_tools=memory_tools).agent(agent)


class TruekeepSession:
    """A conversation with a name that truekeep knows it by. The items themselves are kept by another session.

    ``TruekeepSession("thread-1", SQLiteSession("thread-1", "talks.db"))``; without one they are kept in memory.
    """

    def __init__(self, session_id: str, inner: Session | None = None) -> None:
        self.session_id = session_id
        self.inner: Session = inner if inner is not None else SQLiteSession(session_id)
        self.session_settings: SessionSettings | None = self.inner.session_settings

    async def get_items(self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None) -> list[Any]:
        """The items so far."""
        self._name(wrapper)
        return list(await self.inner.get_items(limit))

    async def add_items(self, items: list[Any], *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Keep further items."""
        self._name(wrapper)
        await self.inner.add_items(items)

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> Any:
        """Take the last item out."""
        self._name(wrapper)
        return await self.inner.pop_item()

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Let go of all items. What truekeep knows of the conversation stays."""
        self._name(wrapper)
        await self.inner.clear_session()

    def close(self) -> None:
        """Let go of the session that keeps the items, if there is something to let go of."""
        close = getattr(self.inner, "close", None)
        if callable(close):
            close()

    def _name(self, run: RunContextWrapper[Any] | None) -> None:
        """A run that uses this session is this conversation's. The SDK says which one if every method asks for it."""
        if run is not None:
            _names[run] = self.session_id


class ProtectedAgent(Agent[Any]):
    """An agent whose tools are handed out wrapped."""

    protection: Protection

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Any]:
        """Its tools and those of its MCP servers, each behind the boundary."""
        return self.protection.wrapped(await super().get_all_tools(run_context))


class Protection:
    """What the agents of one ``protect`` share."""

    def __init__(self, mediator: Mediator, *, memory_tools: bool) -> None:
        self.mediator = mediator
        self._agents: dict[int, tuple[Agent[Any], ProtectedAgent]] = {}
        self._runs: WeakKeyDictionary[RunContextWrapper[Any], MediatedConversation] = WeakKeyDictionary()
        self._calls: dict[str, tuple[MediatedConversation, AgentCall]] = {}
        self._asked: dict[str, str] = {}
        """Calls that the SDK was told to ask the owner about, by id: name and arguments that the owner was shown."""
        self._wrappings: dict[int, tuple[FunctionTool, list[Any], FunctionTool]] = {}
        self._own = _memory_tools(self) if memory_tools else []

    def agent(self, agent: Agent[Any]) -> ProtectedAgent:
        """A protected copy; agents that hand off to each other stay a circle."""
        if isinstance(agent, ProtectedAgent):
            return agent
        if id(agent) in self._agents:
            return self._agents[id(agent)][1]
        for tool in agent.tools:
            _require_guardable(tool)
        copied = ProtectedAgent(**{one.name: getattr(agent, one.name) for one in fields(agent)})
        copied.protection = self
        self._agents[id(agent)] = (agent, copied)
        copied.hooks = ReportingHooks(self, agent.hooks)
        copied.tools = [*agent.tools, *self._own]
        copied.handoffs = [self._handoff(one) for one in agent.handoffs]
        return copied

    def _handoff(self, handoff: Agent[Any] | Handoff[Any, Any]) -> Any:
        if isinstance(handoff, Agent):
            return self.agent(handoff)
        inner = handoff.on_invoke_handoff

        async def invoke(context: RunContextWrapper[Any], arguments: str) -> Any:
            return self.agent(cast("Agent[Any]", await inner(context, arguments)))

        return replace(handoff, on_invoke_handoff=invoke)

    def conversation(self, context: RunContextWrapper[Any]) -> MediatedConversation:
        """The conversation of a run."""
        if context not in self._runs:
            self._runs[context] = self.mediator.conversation(_names.get(context))
        return self._runs[context]

    def is_known(self, context: RunContextWrapper[Any]) -> bool:
        """Whether anything of this run was reported yet."""
        return context in self._runs

    def wrapped(self, tools: Sequence[Any]) -> list[Any]:
        """Tools as a run gets them."""
        own = {id(tool) for tool in self._own}
        return [self._known(one) if isinstance(one, FunctionTool) and id(one) not in own else one for one in tools]

    def _known(self, tool: FunctionTool) -> FunctionTool:
        """The tool as it was wrapped before, if nothing of it is another one: a run asks for its tools at each step."""
        parts = list(vars(tool).values())
        known = self._wrappings.get(id(tool))  # which holds the tool as well, so that no other one gets its number
        if known and known[0] is tool and len(known[1]) == len(parts) and all(map(operator.is_, known[1], parts)):
            return known[2]
        made = self._wrapped(tool)
        self._wrappings[id(tool)] = (tool, parts, made)
        while len(self._wrappings) > _MOST_WRAPPINGS:
            del self._wrappings[next(iter(self._wrappings))]
        return made

    def _wrapped(self, tool: FunctionTool) -> FunctionTool:
        inner, asks = tool.on_invoke_tool, tool.needs_approval

        async def invoke(context: ToolContext[Any], arguments: str) -> Any:
            conversation, call = self._call(context, context.tool_call_id, tool.name, arguments)
            permit = await self._permit(conversation, call)
            if not permit.is_allowed:
                conversation.told(permit.message)
                return permit.message
            with conversation.running(call):
                result = await inner(context, json.dumps(permit.arguments))
            await asyncio.to_thread(conversation.ran, call, plain_result(result), str(result))
            return result

        async def needs_approval(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
            conversation, call = self._call(context, call_id, tool.name, arguments)
            permit = await conversation.judged(call)
            if permit.waits:
                self._asked[call_id] = call.mark
                while len(self._asked) > _MOST_ASKED:
                    del self._asked[next(iter(self._asked))]
            else:
                conversation.again(call, permit)  # it is used up when the call is carried out
            return permit.waits or await _asks(asks, context, arguments, call_id)

        invoke.__truekeep_function__ = function_of(tool)  # type: ignore[attr-defined]
        return replace(tool, on_invoke_tool=invoke, needs_approval=needs_approval)

    async def _permit(self, conversation: MediatedConversation, call: AgentCall) -> CallPermit:
        permit = await conversation.judged(call)
        # The SDK gets here only after an approval, which counts for the call that the owner was shown and no other.
        if permit.waits and self._asked.pop(call.id, None) == call.mark:
            permit = await asyncio.to_thread(lambda: conversation.decided(call, yes=True))
        self._calls.pop(call.id, None)
        return permit

    def _call(
        self, context: RunContextWrapper[Any], call_id: str, name: str, arguments: object
    ) -> tuple[MediatedConversation, AgentCall]:
        call = AgentCall(call_id, name, one_spelling(arguments))
        known = self._calls.get(call_id)
        found = (known[0] if known else self.conversation(context), call)
        self._calls[call_id] = found
        return found

    async def starts(
        self, context: RunContextWrapper[Any], agent: Agent[Any], prompt: str | None, items: list[Any]
    ) -> None:
        """The model is about to be called: report what it is shown, and show it its memories."""
        is_new = not self.is_known(context)
        conversation = self.conversation(context)
        shown = await agent.get_all_tools(context)
        instructions = (prompt or "", str(agent.name))
        block = await asyncio.to_thread(self._report, conversation, instructions, list(items), shown, is_new)
        if block:
            items.insert(0, {"role": "user", "content": block})

    def _report(
        self,
        conversation: MediatedConversation,
        instructions: tuple[str, str],
        items: list[Any],
        tools: list[Any],
        starts: bool,
    ) -> str:
        """Report what the model is shown; gives the block of memories that it is shown besides."""
        prompt, agent = instructions
        for tool in tools:
            if type(tool).__name__ in _HOSTED:
                conversation.provider_side(str(tool.name))
            elif isinstance(tool, FunctionTool) and _runs_unprotected(tool):
                conversation.provider_side(f"The unprotected agent behind '{tool.name}'")
        conversation.prompt(prompt, agent=agent)
        conversation.offer([offered(tool) for tool in tools if isinstance(tool, FunctionTool)])
        for item in items:
            if kind_of(item) == "function_call_output" and item.get("call_id") in self._calls:
                self._turned_down(conversation, item)
        conversation.context([one for item in items if (one := entry_of(item))], starts=starts)
        return conversation.memory_block()

    def _turned_down(self, conversation: MediatedConversation, item: Mapping[str, Any]) -> None:
        """A call that waited has a result without having run: the owner said no."""
        known, call = self._calls.pop(str(item["call_id"]))
        if known is conversation and conversation.judge(call).waits:
            conversation.decided(call, yes=False)
            conversation.told(text_of(item.get("output")))

    async def ends(self, context: RunContextWrapper[Any], items: Sequence[Any]) -> None:
        """The model has answered."""
        await asyncio.to_thread(self._said, self.conversation(context), items)

    def _said(self, conversation: MediatedConversation, items: Sequence[Any]) -> None:
        calls = []
        for item in items:
            kind = getattr(item, "type", "")
            if kind == "message":
                conversation.said("\n".join(str(getattr(part, "text", "")) for part in item.content))
            elif kind == "function_call" and not item.name.startswith("transfer_to_") and not self._is_own(item.name):
                call = AgentCall(item.call_id, item.name, one_spelling(item.arguments))
                self._calls[call.id] = (conversation, call)
                calls.append(call)
            elif kind not in OWN_ITEMS:
                conversation.said("", from_outside=str(item))
        conversation.turn(calls)

    def _is_own(self, name: str) -> bool:
        return any(tool.name == name for tool in self._own)


class ReportingHooks(AgentHooks[Any]):
    """Reports what an agent's run does, beside the hooks that the agent has already."""

    def __init__(self, protection: Protection, inner: AgentHooks[Any] | None) -> None:
        self._protection = protection
        self._inner: AgentHooks[Any] = inner or AgentHooks()

    async def on_start(self, context: Any, agent: Any) -> None:
        """Nothing but what was there before."""
        await self._inner.on_start(context, agent)

    async def on_llm_start(
        self, context: RunContextWrapper[Any], agent: Agent[Any], system_prompt: str | None, input_items: list[Any]
    ) -> None:
        """The model is about to be called."""
        await self._inner.on_llm_start(context, agent, system_prompt, input_items)
        try:
            await self._protection.starts(context, agent, system_prompt, input_items)
        except Exception as error:
            self._protection.conversation(context).missed(error)

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: Any) -> None:
        """The model has answered."""
        try:
            await self._protection.ends(context, response.output)
        except Exception as error:
            self._protection.conversation(context).missed(error)
        await self._inner.on_llm_end(context, agent, response)

    async def on_handoff(self, context: RunContextWrapper[Any], agent: Any, source: Any) -> None:
        """The words by which the framework says so are nobody else's."""
        self._protection.conversation(context).told(json.dumps({"assistant": agent.name}))
        await self._inner.on_handoff(context, agent, source)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        """Nothing but what was there before."""
        await self._inner.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        """Nothing but what was there before."""
        await self._inner.on_tool_end(context, agent, tool, result)

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        """The run is over: what the owner said is remembered."""
        found = [one for run, one in self._protection._runs.items() if run is context or run.usage is context.usage]
        for conversation in found:
            await asyncio.to_thread(conversation.ended)
        await self._inner.on_end(context, agent, output)


def _memory_tools(protection: Protection) -> list[FunctionTool]:
    async def remember_note(context: ToolContext[Any], note: str) -> str:
        """Write a short note for later conversations. It is a note of yours, not the user's word."""
        return await _answer(context, lambda conversation: conversation.remember(note))

    async def recall_memories(context: ToolContext[Any], question: str) -> str:
        """Look up what the user said in earlier conversations."""
        return await _answer(context, lambda conversation: conversation.recall(question))

    async def _answer(context: ToolContext[Any], ask: Callable[[MediatedConversation], str]) -> str:
        conversation = next((one for run, one in protection._runs.items() if run.usage is context.usage), None)
        if conversation is None:
            return "Nothing is known of this conversation."
        text = await asyncio.to_thread(ask, conversation)
        conversation.told(text)
        return text

    return [function_tool(remember_note), function_tool(recall_memories)]


async def _asks(asks: Any, context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
    """Whether the program wants to be asked anyway."""
    return bool(await asks(context, arguments, call_id)) if callable(asks) else bool(asks)


def _require_guardable(tool: Any) -> None:
    if not isinstance(tool, FunctionTool) and type(tool).__name__ not in _HOSTED:
        raise InvalidRequest(
            "This agent has a tool that cannot be guarded.",
            code="tool_not_guardable",
            hint="Put what it does into a function tool.",
        )


def _runs_unprotected(tool: FunctionTool) -> bool:
    inner = getattr(tool, "_agent_instance", None)
    return inner is not None and not isinstance(inner, ProtectedAgent)
