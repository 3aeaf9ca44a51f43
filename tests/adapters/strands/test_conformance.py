"""Strands: the adapter passes the conformance suite, with sessions in files that outlive the agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent, tool
from strands.multiagent import Swarm
from strands.session import FileSessionManager

from tests.adapters.strands.scripted_model import ScriptedModel, framework_tool
from truekeep import Keep, Tool
from truekeep.adapters.conformance import DECLARED, MediationConformance
from truekeep.adapters.scripted import AgentUnderTest, ModelScript, RunOutcome, ScriptedCall, ScriptedTool
from truekeep.adapters.strands import TruekeepIntervention


class FrameworkAgent:
    """An agent, or a swarm of them, for each conversation: one of them holds the messages of one conversation."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        self.make = make
        self.talks: dict[str, Any] = {}
        self.stopped: dict[str, Any] = {}

    def run(self, conversation: str, message: str, *, mode: str = "sync") -> RunOutcome:
        if conversation not in self.talks:
            self.talks[conversation] = self.make(conversation)
        return self._outcome(conversation, message, mode)

    def resume(self, conversation: str, *, yes: bool, mode: str = "sync") -> RunOutcome:
        answer = "yes" if yes else "no"
        asked = self.stopped.pop(conversation)
        answers = [{"interruptResponse": {"interruptId": one.id, "response": answer}} for one in asked]
        return self._outcome(conversation, answers, mode)

    def session(self, conversation: str) -> str:
        return conversation

    def _outcome(self, conversation: str, given: Any, mode: str) -> RunOutcome:
        talk = self.talks[conversation]
        if mode == "sync":
            result = talk(given)
        elif mode == "async":
            result = asyncio.run(talk.invoke_async(given))
        else:
            result = asyncio.run(_streamed(talk, given))
        if getattr(result, "interrupts", None):
            self.stopped[conversation] = result.interrupts
            return RunOutcome("", waits=True)
        last = result if not hasattr(result, "node_history") else result.results[result.node_history[-1].node_id].result
        return RunOutcome(str(last).strip())


async def _streamed(talk: Any, given: Any) -> Any:
    result = None
    async for event in talk.stream_async(given):
        result = event.get("result", result)
    return result


class TestStrands(MediationConformance):
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
        protection = TruekeepIntervention(keep, tools=declared)
        made = [framework_tool(one) for one in tools]
        if sub_agent is not None:
            name, inner, its_tools = sub_agent
            child = agent_of(inner, its_tools, TruekeepIntervention(keep, tools=declared))
            made.append(asked(child, name))
        model = ScriptedModel(script, **({"params": {"tools": [{"type": "web_search"}]}} if provider_side else {}))
        before: list[Any] = [{"role": role, "content": [{"text": text}]} for role, text in history]

        def make(conversation: str) -> Any:
            session = FileSessionManager(session_id=conversation, storage_dir=str(place))
            if hand_off is None:
                return Agent(
                    model=model,
                    tools=made,
                    messages=list(before),
                    interventions=[protection],
                    session_manager=session,
                    callback_handler=None,
                )
            first = Agent(name="first", model=model, tools=made, interventions=[protection], callback_handler=None)
            other = agent_of(hand_off[1], hand_off[2], protection, name=hand_off[0])
            return Swarm([first, other], hooks=[protection], session_manager=session)

        return FrameworkAgent(make)

    def handing_off(self, name: str) -> ScriptedCall:
        return ScriptedCall("handoff_to_agent", {"agent_name": name, "message": "Go on."})


def agent_of(
    script: ModelScript, tools: Sequence[ScriptedTool], protection: TruekeepIntervention, name: str = "other"
) -> Agent:
    made = [framework_tool(one) for one in tools]
    return Agent(name=name, model=ScriptedModel(script), tools=made, interventions=[protection], callback_handler=None)


def asked(agent: Agent, name: str) -> Any:
    """The agent as a tool with one parameter ``question``."""

    @tool(name=name)
    def ask(question: str) -> str:
        """Ask another agent."""
        return str(agent(question))

    return ask
