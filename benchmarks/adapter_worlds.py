"""An agent of each framework with a scripted model, with and without its adapter, for ``benchmarks.adapters``.

Each function gives one run that makes its calls; what makes the agent is not part of the run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from truekeep import Keep, Tool
from truekeep.adapters.scripted import ModelScript, ModelTurn, ScriptedCall, ScriptedTool

CALLS = 20
QUESTION = "What is the balance of 1180-22?"
ARGUMENTS = {"account": "1180-22"}
RESULT = json.dumps({"id": "1180-22", "balance": 300})
BALANCE = Tool("get_balance", reads=True, own=True)
Run = Callable[[], object]


def script() -> ModelScript:
    """A model that asks for the balance again and again, then says so."""
    call = ScriptedCall("get_balance", ARGUMENTS)
    return ModelScript([*[ModelTurn(calls=(call,))] * CALLS, ModelTurn("Done.")])


def balance() -> ScriptedTool:
    """The tool."""
    return ScriptedTool("get_balance", "The balance of an account.", ("account",), RESULT)


def pydantic_ai(keep: Keep | None) -> Run:
    """Pydantic AI."""
    from pydantic_ai import Agent
    from pydantic_ai.usage import UsageLimits
    from tests.adapters.pydantic_ai.test_conformance import framework_tool, scripted

    from truekeep.adapters.pydantic_ai import TruekeepCapability

    capabilities = [TruekeepCapability(keep, tools=[BALANCE])] if keep else []
    agent = Agent(scripted(script()), tools=[framework_tool(balance())], capabilities=capabilities)
    return lambda: asyncio.run(agent.run(QUESTION, usage_limits=UsageLimits(request_limit=None)))


def strands(keep: Keep | None) -> Run:
    """Strands."""
    from strands import Agent
    from tests.adapters.strands.scripted_model import ScriptedModel, framework_tool

    from truekeep.adapters.strands import TruekeepIntervention

    interventions = [TruekeepIntervention(keep, tools=[BALANCE])] if keep else []
    model, tools = ScriptedModel(script()), [framework_tool(balance())]
    agent = Agent(model=model, tools=tools, interventions=interventions, callback_handler=None)
    return lambda: asyncio.run(agent.invoke_async(QUESTION))


def google_adk(keep: Keep | None) -> Run:
    """Google ADK."""
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai import types
    from tests.adapters.google_adk.scripted_llm import ScriptedLlm, framework_tool

    from truekeep.adapters.google_adk import TruekeepPlugin

    plugins: list[Any] = [TruekeepPlugin(keep=keep, tools=[BALANCE])] if keep else []
    agent = LlmAgent(name="clerk", model=ScriptedLlm(script=script()), tools=[framework_tool(balance())])
    sessions = InMemorySessionService()
    runner = Runner(app=App(name="desk", root_agent=agent, plugins=plugins), session_service=sessions)
    asked = types.Content(role="user", parts=[types.Part.from_text(text=QUESTION)])

    async def run() -> list[Any]:
        session = await sessions.create_session(app_name="desk", user_id="alice")
        return [one async for one in runner.run_async(user_id="alice", session_id=session.id, new_message=asked)]

    return lambda: asyncio.run(run())


def agent_framework(keep: Keep | None) -> Run:
    """Microsoft Agent Framework."""
    from agent_framework import Agent
    from tests.adapters.agent_framework.scripted_client import ScriptedClient, framework_tool

    from truekeep.adapters.agent_framework import TruekeepProvider

    client = ScriptedClient(script(), function_invocation_configuration={"max_iterations": CALLS + 2})
    providers = [TruekeepProvider(keep, tools=[BALANCE])] if keep else []
    agent = Agent(client=client, name="clerk", tools=[framework_tool(balance())], context_providers=providers)
    return lambda: asyncio.run(agent.run(QUESTION))


def anthropic(keep: Keep | None) -> Run:
    """The Anthropic SDK; its model endpoint on this machine is part of either run."""
    from anthropic import Anthropic
    from tests.adapters.anthropic.test_conformance import framework_tool
    from tests.adapters.anthropic_endpoint import served

    from truekeep.adapters.anthropic import tool_runner

    told: dict[str, Any] = {"model": "scripted", "max_tokens": 100, "messages": [{"role": "user", "content": QUESTION}]}
    told["tools"] = [framework_tool(balance(), awaited=False)]

    def run() -> object:
        with served(script()) as url, Anthropic(base_url=url, api_key="none") as client:
            if keep is None:
                return client.beta.messages.tool_runner(**told).until_done()
            return tool_runner(client, keep, declared=[BALANCE], **told).until_done()

    return run


WORLDS: dict[str, tuple[str, Callable[[Keep | None], Run]]] = {
    "agent-framework": ("agent_framework", agent_framework),
    "anthropic": ("anthropic", anthropic),
    "google-adk": ("google.adk", google_adk),
    "pydantic-ai": ("pydantic_ai", pydantic_ai),
    "strands": ("strands", strands),
}
"""By name: the package that has to be installed, and what gives a run."""
