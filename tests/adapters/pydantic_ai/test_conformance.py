"""Pydantic AI: the adapter passes the conformance suite, with histories in files that outlive the agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, ToolOutput
from pydantic_ai import Tool as AgentTool
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.native_tools import WebSearchTool

from truekeep import Keep, Tool
from truekeep.adapters.conformance import DECLARED, MediationConformance
from truekeep.adapters.pydantic_ai import TruekeepCapability
from truekeep.adapters.scripted import (
    AgentUnderTest,
    ModelScript,
    ModelTurn,
    RunOutcome,
    ScriptedFailure,
    ScriptedTool,
    ShownMessage,
)


class HandOff(BaseModel):
    """What an agent ends with that hands over."""


def scripted(script: ModelScript) -> FunctionModel:
    """The script as the framework's own model for tests."""

    def taken(messages: list[Any]) -> tuple[ModelTurn, list[str]]:
        turn = script.next(shown(messages))
        number = len(script.shown)
        return turn, [f"call-{id(script)}-{number}-{place}" for place in range(len(turn.calls))]

    def respond(messages: list[Any], info: AgentInfo) -> ModelResponse:
        turn, ids = taken(messages)
        calls = [
            ToolCallPart(one.name, _args(one.arguments), call_id) for one, call_id in zip(turn.calls, ids, strict=True)
        ]
        return ModelResponse(parts=[*([TextPart(turn.text)] if turn.text else []), *calls])

    async def stream(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        turn, ids = taken(messages)
        for piece in (turn.text[:3], turn.text[3:]):
            if piece:
                yield piece
        for place, (one, call_id) in enumerate(zip(turn.calls, ids, strict=True)):
            yield {place: DeltaToolCall(one.name, _args(one.arguments), tool_call_id=call_id)}

    return FunctionModel(
        respond, stream_function=stream, profile={"supported_native_tools": frozenset({WebSearchTool})}
    )


def _args(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(dict(arguments))


def shown(messages: list[Any]) -> list[ShownMessage]:
    found = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                found.append(ShownMessage("user", str(part.content)))
            elif isinstance(part, ToolReturnPart):
                found.append(ShownMessage("tool", part.model_response_str()))
            elif isinstance(part, TextPart):
                found.append(ShownMessage("assistant", part.content))
            elif not isinstance(part, ToolCallPart):
                found.append(ShownMessage("system", str(part)))
    return found


def framework_tool(tool: ScriptedTool) -> AgentTool[Any]:
    def run(**arguments: Any) -> str:
        try:
            return tool.run(arguments)
        except ScriptedFailure as error:
            raise ModelRetry(str(error)) from None

    if tool.is_foreign:
        schema = {"type": "object", "properties": {}}
        return AgentTool.from_schema(run, tool.name, tool.description, schema)
    names = ", ".join(f"{name}: object" for name in tool.parameters)
    given = ", ".join(f"{name}={name}" for name in tool.parameters)
    space: dict[str, Any] = {"run": run}
    exec(f"def {tool.name}({names}) -> str:\n    {tool.description!r}\n    return run({given})", space)  # noqa: S102
    return AgentTool(space[tool.name])


class FrameworkAgent:
    """An agent of the framework, with the messages of its conversations in files."""

    def __init__(self, agents: list[Agent[Any, Any]], place: Path, history: Sequence[tuple[str, str]]) -> None:
        self.agents = agents
        self.place = place
        self.history = list(history)
        self.stopped: dict[str, DeferredToolRequests] = {}

    def run(self, conversation: str, message: str, *, mode: str = "sync") -> RunOutcome:
        return self._outcome(conversation, mode, message)

    def resume(self, conversation: str, *, yes: bool, mode: str = "sync") -> RunOutcome:
        asked = self.stopped.pop(conversation)
        answers = DeferredToolResults(approvals={call.tool_call_id: yes for call in asked.approvals})
        return self._outcome(conversation, mode, None, deferred_tool_results=answers)

    def session(self, conversation: str) -> str:
        return conversation

    def _outcome(self, conversation: str, mode: str, prompt: str | None, **options: Any) -> RunOutcome:
        output: Any = None
        for agent in self.agents:
            output, messages = self._ran(agent, mode, prompt, self._messages(conversation), conversation, **options)
            (self.place / f"{conversation}.json").write_bytes(ModelMessagesTypeAdapter.dump_json(messages))
            if not isinstance(output, HandOff):
                break
            prompt = None
        if isinstance(output, DeferredToolRequests):
            self.stopped[conversation] = output
        return RunOutcome(str(output), waits=isinstance(output, DeferredToolRequests))

    def _messages(self, conversation: str) -> list[Any]:
        before, self.history = self.history, []
        stored = self.place / f"{conversation}.json"
        kept = ModelMessagesTypeAdapter.validate_json(stored.read_bytes()) if stored.exists() else []
        for role, text in before:
            part = ModelRequest(parts=[UserPromptPart(text)]) if role == "user" else ModelResponse([TextPart(text)])
            kept.append(part)
        return kept

    def _ran(self, agent: Any, mode: str, prompt: Any, history: Any, name: str, **options: Any) -> tuple[Any, Any]:
        given = {"message_history": history or None, "conversation_id": name, **options}
        if mode == "sync":
            result = blocking(lambda: agent.run_sync(prompt, **given))
        elif mode == "async":
            result = asyncio.run(agent.run(prompt, **given))
        else:
            return asyncio.run(_streamed(agent, prompt, given))
        return result.output, result.all_messages()


def blocking(run: Callable[[], Any]) -> Any:
    """Run something on an event loop that is closed afterwards; the framework would leave its own open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return run()
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        asyncio.set_event_loop(None)


async def _streamed(agent: Any, prompt: Any, given: Any) -> tuple[Any, Any]:
    async with agent.run_stream(prompt, **given) as result:
        async for _ in result.stream_output(debounce_by=None):
            pass
        return await result.get_output(), result.all_messages()


class TestPydanticAI(MediationConformance):
    """Each scenario of the suite."""

    def build(
        self,
        keep: Keep,
        script: ModelScript,
        tools: Sequence[ScriptedTool],
        *,
        place: Path,
        declared: Sequence[Tool] = DECLARED,
        sub_agent: tuple[str, ModelScript, Sequence[ScriptedTool]] | None = None,
        provider_side: bool = False,
        history: Sequence[tuple[str, str]] = (),
        hand_off: tuple[str, ModelScript, Sequence[ScriptedTool]] | None = None,
    ) -> AgentUnderTest:
        protection = TruekeepCapability(keep, tools=declared)
        made = [framework_tool(tool) for tool in tools]
        if sub_agent is not None:
            name, inner, its_tools = sub_agent
            made.append(asked(agent_of(inner, its_tools, TruekeepCapability(keep, tools=declared)), name))
        natives = [NativeTool(WebSearchTool())] if provider_side else []
        outputs: list[Any] = [str, DeferredToolRequests]
        if hand_off is not None:
            outputs.append(ToolOutput(HandOff, name=f"transfer_to_{hand_off[0]}"))
        first = Agent(scripted(script), tools=made, output_type=outputs, capabilities=[*natives, protection])
        others = [agent_of(hand_off[1], hand_off[2], protection)] if hand_off is not None else []
        return FrameworkAgent([first, *others], place, history)


def agent_of(script: ModelScript, tools: Sequence[ScriptedTool], protection: TruekeepCapability) -> Agent[Any, Any]:
    made = [framework_tool(tool) for tool in tools]
    return Agent(scripted(script), tools=made, output_type=[str, DeferredToolRequests], capabilities=[protection])


def asked(agent: Agent[Any, Any], name: str) -> AgentTool[Any]:
    """The agent as a tool with one parameter ``question``."""

    async def ask(question: str) -> str:
        """Ask another agent."""
        return str((await agent.run(question)).output)

    return AgentTool(ask, name=name)
