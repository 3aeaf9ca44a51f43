"""Google ADK: the adapter passes the conformance suite, with sessions that outlive the runner."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool, google_search
from google.genai import types

from tests.adapters.google_adk.scripted_llm import ScriptedLlm, framework_tool
from tests.adapters.test_examples import run_example
from truekeep import Keep, Tool
from truekeep.adapters.conformance import DECLARED, MediationConformance
from truekeep.adapters.google_adk import TruekeepPlugin
from truekeep.adapters.google_adk_memory import conversation_name
from truekeep.adapters.scripted import AgentUnderTest, ModelScript, RunOutcome, ScriptedCall, ScriptedTool

SERVICES: dict[Path, InMemorySessionService] = {}
CONFIRM = "adk_request_confirmation"


class AdkAgent:
    """A runner with sessions of one user."""

    def __init__(
        self, agent: Any, plugins: Sequence[Any], place: Path, history: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.sessions = SERVICES.setdefault(place, InMemorySessionService())
        app = App(name="desk", root_agent=agent, plugins=list(plugins))
        self.runner = Runner(app=app, session_service=self.sessions)
        self.history = list(history)
        self.events: list[Event] = []
        self.stopped: dict[str, list[str]] = {}

    def run(self, conversation: str, message: str, *, mode: str = "sync") -> RunOutcome:
        return self._run(conversation, types.Content(role="user", parts=[types.Part.from_text(text=message)]), mode)

    def resume(self, conversation: str, *, yes: bool, mode: str = "sync") -> RunOutcome:
        answers = [
            types.FunctionResponse(id=one, name=CONFIRM, response={"confirmed": yes})
            for one in self.stopped.pop(conversation)
        ]
        parts = [types.Part(function_response=one) for one in answers]
        return self._run(conversation, types.Content(role="user", parts=parts), mode)

    def session(self, conversation: str) -> str:
        return conversation_name("desk", "alice", conversation)

    def _run(self, conversation: str, content: types.Content, mode: str) -> RunOutcome:
        asyncio.run(self._begin(conversation))
        given: dict[str, Any] = {"user_id": "alice", "session_id": conversation, "new_message": content}
        if mode == "stream":
            given["run_config"] = RunConfig(streaming_mode=StreamingMode.SSE)
        if mode == "sync":
            self.events = list(self.runner.run(**given))
        else:
            self.events = asyncio.run(self._collected(given))
        return self._outcome(conversation)

    async def _collected(self, given: dict[str, Any]) -> list[Event]:
        return [event async for event in self.runner.run_async(**given)]

    async def _begin(self, conversation: str) -> None:
        known: dict[str, Any] = {"app_name": "desk", "user_id": "alice", "session_id": conversation}
        session = await self.sessions.get_session(**known) or await self.sessions.create_session(**known)
        for role, text in self.history:
            is_user = role == "user"
            content = types.Content(role="user" if is_user else "model", parts=[types.Part.from_text(text=text)])
            author = "user" if is_user else self.runner.agent.name
            await self.sessions.append_event(session, Event(author=author, content=content))
        self.history = []

    def _outcome(self, conversation: str) -> RunOutcome:
        asked = [call.id for event in self.events for call in event.get_function_calls() if call.name == CONFIRM]
        if asked:
            self.stopped[conversation] = [str(one) for one in asked]
        whole = [event for event in self.events if not event.partial and event.content]
        texts = [part.text for event in whole for part in event.content.parts or [] if part.text]
        return RunOutcome(texts[-1] if texts else "", waits=bool(asked))


class TestGoogleAdk(MediationConformance):
    """Each scenario of the suite."""

    passes_broken_arguments = False
    survives_failing_tools = False  # the framework ends a run with what a tool raises

    def handing_off(self, name: str) -> ScriptedCall:
        return ScriptedCall("transfer_to_agent", {"agent_name": name})

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
        plugin = TruekeepPlugin(keep=keep, tools=declared)
        made: list[Any] = [framework_tool(tool) for tool in tools]
        if sub_agent is not None:
            name, inner, its_tools = sub_agent
            child = LlmAgent(
                name="reader", model=ScriptedLlm(script=inner), tools=[framework_tool(one) for one in its_tools]
            )
            made.append(asked(child, plugin, name))
        if provider_side:
            made = [google_search]
        others = []
        if hand_off is not None:
            name, inner, its_tools = hand_off
            others = [
                LlmAgent(name=name, model=ScriptedLlm(script=inner), tools=[framework_tool(one) for one in its_tools])
            ]
        model = ScriptedLlm(model="gemini-scripted", script=script)
        agent = LlmAgent(name="root", model=model, tools=made, sub_agents=others)
        return AdkAgent(agent, [plugin], place, history)


def asked(agent: Any, plugin: TruekeepPlugin, name: str) -> FunctionTool:
    """A function that runs another agent, with the same plugin."""

    async def ask(question: str) -> str:
        """Ask another agent."""
        inner = AdkAgent(agent, [plugin], Path(f"inside-{id(plugin)}"))
        await inner._begin("inner")
        content = types.Content(role="user", parts=[types.Part.from_text(text=question)])
        inner.events = await inner._collected({"user_id": "alice", "session_id": "inner", "new_message": content})
        return inner._outcome("inner").text

    ask.__name__ = name
    return FunctionTool(ask)


def test_the_example_runs_and_nobody_is_steered_in_it(tmp_path: Path) -> None:
    run_example("google_adk_agent.py", tmp_path)
