"""What an adapter adds to a tool call: CPU time of an agent with and without protection.

    python -m benchmarks.adapters

The model is scripted and the tool returns at once, so that what is left is the framework's and the adapter's own work.
CPU time of the whole process, threads included; writing through to the disk is waiting and not counted. A run has
twenty calls, and what starting and ending it costs is divided among them. Protected and unprotected runs take turns,
and the fastest of each counts. The mediator alone is what every adapter has in common.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult

from truekeep import Keep, Settings, Tool
from truekeep.adapters.calls import AgentCall, ContextEntry, EntryKind, OfferedTool
from truekeep.adapters.langgraph import TruekeepMiddleware
from truekeep.adapters.mediator import Mediator
from truekeep.adapters.openai_agents import protect

CALLS, RUNS = 20, 15
QUESTION = "What is the balance of 1180-22?"
ARGUMENTS = {"account": "1180-22"}
BALANCE = Tool("get_balance", reads=True, own=True)


class CallingModel(BaseChatModel):
    """Calls the tool a number of times, then stops."""

    left: int = 0

    @property
    def _llm_type(self) -> str:
        return "calling"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:  # noqa: ARG002 - named so by the framework
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ARG002
        self.left -= 1
        calls = [ToolCall(name="get_balance", args=ARGUMENTS, id=f"call-{self.left}")]
        message = AIMessage("", tool_calls=calls) if self.left >= 0 else AIMessage("Done.")
        return ChatResult(generations=[ChatGeneration(message=message)])


def get_balance(account: str) -> str:
    """The balance of an account."""
    return json.dumps({"id": account, "balance": 300})


def langgraph_seconds(protection: Any) -> float:
    """CPU time of one run of a LangChain agent with its calls."""
    agent: Any = create_agent(CallingModel(left=CALLS), [get_balance], middleware=[protection] if protection else [])
    began = time.process_time()
    agent.invoke({"messages": [HumanMessage(QUESTION)]}, {"recursion_limit": 500})
    return time.process_time() - began


def openai_seconds(keep: Keep | None) -> float:
    """CPU time of one run of an agent of the OpenAI Agents SDK."""
    calls = [function_call("get_balance", ARGUMENTS, call_id=f"call-{time.time_ns()}-{one}") for one in range(CALLS)]
    steps = [*(ModelStep(output=[one]) for one in calls), ModelStep(output=[assistant_message("Done.")])]
    agent: Agent[Any] = Agent(name="clerk", model=ScriptedModel(steps), tools=[function_tool(get_balance)])
    if keep is not None:
        agent = protect(agent, keep, tools=[BALANCE])
    began = time.process_time()
    asyncio.run(Runner.run(agent, QUESTION, max_turns=CALLS + 2, run_config=RunConfig(tracing_disabled=True)))
    return time.process_time() - began


def mediator_seconds(mediator: Mediator | None) -> float:
    """CPU time of what every adapter has the mediator do in such a run."""
    if mediator is None:
        return 0.0
    offered = OfferedTool("get_balance", get_balance.__doc__ or "", {"type": "object"}, is_programs=True)
    entries = [ContextEntry(EntryKind.OWNER, QUESTION)]
    began = time.process_time()
    conversation = mediator.conversation()
    conversation.context(entries, starts=True)
    for number in range(CALLS):
        call = AgentCall(f"call-{number}", "get_balance", ARGUMENTS)
        conversation.offer([offered])
        conversation.context(entries)
        conversation.memory_block()
        conversation.said("")
        conversation.turn([call])
        if not conversation.judge(call).is_allowed:
            raise SystemExit("a call that was to be allowed was not")
        with conversation.running(call):
            result = get_balance(**ARGUMENTS)
        conversation.ran(call, result)
        entries.append(ContextEntry(EntryKind.RESULT, result))
    conversation.said("Done.")
    conversation.ended()
    return time.process_time() - began


def measured(run: Callable[[Any], float], protection: Any) -> dict[str, float]:
    """Milliseconds a call: without protection, with it, and the difference."""
    run(None), run(protection)
    turns = [(run(None), run(protection)) for _ in range(RUNS)]
    plain, protected = (1_000 * min(one) / CALLS for one in zip(*turns, strict=True))
    return {"plain": round(plain, 2), "protected": round(protected, 2), "added": round(protected - plain, 2)}


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(embedder="none")
        with Keep.open("bench", home=home, settings=settings, background=False) as keep:
            figures = {
                "langgraph": measured(langgraph_seconds, TruekeepMiddleware(keep, tools=[BALANCE])),
                "openai-agents": measured(openai_seconds, keep),
                "mediator alone": measured(mediator_seconds, Mediator(keep, tools=[BALANCE])),
            }
    print(json.dumps({"ms_a_call": figures, "load": round(os.getloadavg()[0], 1)}, indent=2))


if __name__ == "__main__":
    main()
