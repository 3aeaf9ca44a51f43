"""Microsoft Agent Framework: the adapter passes the conformance suite, with sessions that outlive the agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent_framework")

from agent_framework import Agent, AgentSession, Message

from tests.adapters.agent_framework.scripted_client import ScriptedClient, framework_tool
from tests.adapters.test_examples import run_example
from truekeep import Keep, Tool
from truekeep.adapters.agent_framework import TruekeepProvider
from truekeep.adapters.conformance import DECLARED, MediationConformance
from truekeep.adapters.scripted import AgentUnderTest, ModelScript, RunOutcome, ScriptedTool


class FrameworkAgent:
    """An agent of the framework; its sessions are kept as JSON, as another process would find them."""

    def __init__(self, agent: Agent[Any], place: Path, history: Sequence[tuple[str, str]]) -> None:
        self.agent = agent
        self.place = place
        self.history = [Message(role, [text]) for role, text in history]
        self.stopped: dict[str, Any] = {}

    def run(self, conversation: str, message: str, *, mode: str = "sync") -> RunOutcome:
        before, self.history = self.history, []
        return asyncio.run(self._run(conversation, [*before, Message("user", [message])], mode))

    def resume(self, conversation: str, *, yes: bool, mode: str = "sync") -> RunOutcome:
        answers = [one.to_function_approval_response(yes) for one in self.stopped.pop(conversation)]
        return asyncio.run(self._run(conversation, [Message("user", answers)], mode))

    def session(self, conversation: str) -> str:
        return conversation

    async def _run(self, conversation: str, messages: Sequence[Message], mode: str) -> RunOutcome:
        kept = self.place / f"{conversation}.json"
        session = AgentSession.from_dict(json.loads(kept.read_text())) if kept.exists() else None
        session = session or AgentSession(session_id=conversation)
        if mode == "stream":
            stream = self.agent.run(messages, stream=True, session=session)
            async for _ in stream:
                pass
            response: Any = await stream.get_final_response()
        else:
            response = await self.agent.run(messages, session=session)
        kept.write_text(json.dumps(session.to_dict()))
        requests = list(response.user_input_requests)
        if requests:
            self.stopped[conversation] = requests
        return RunOutcome(response.messages[-1].text if response.messages else "", waits=bool(requests))


class TestAgentFramework(MediationConformance):
    """Each scenario of the suite."""

    modes = ("async", "stream")
    hands_off = False

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
        assert hand_off is None  # the framework's agents do not hand over; its workflows do
        made: list[Any] = [framework_tool(tool) for tool in tools]
        if sub_agent is not None:
            name, inner, its_tools = sub_agent
            child = protected(keep, inner, [framework_tool(one) for one in its_tools], declared)
            made.append(child.as_tool(name=name, description="Ask another agent.", arg_name="question"))
        if provider_side:
            made.append({"type": "web_search"})
        return FrameworkAgent(protected(keep, script, made, declared), place, history)


def protected(keep: Keep, script: ModelScript, tools: Sequence[Any], declared: Sequence[Tool]) -> Agent[Any]:
    provider = TruekeepProvider(keep, tools=declared)
    return Agent(client=ScriptedClient(script), name="clerk", tools=list(tools), context_providers=[provider])


def test_the_example_runs_and_nobody_is_steered_in_it(tmp_path: Path) -> None:
    run_example("agent_framework_agent.py", tmp_path)
