"""What an adapter adds to a tool call: CPU time of an agent with and without protection.

    python -m benchmarks.adapters

Measures the frameworks that are installed; those with an environment of their own (``scripts/test-frameworks``) are
measured there, with ``.venvs/NAME/bin/python``.

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
from importlib.util import find_spec
from typing import Any

from benchmarks.adapter_worlds import ARGUMENTS, BALANCE, CALLS, QUESTION, RESULT, WORLDS
from truekeep import Keep, Settings
from truekeep.adapters.calls import AgentCall, ContextEntry, EntryKind, OfferedTool
from truekeep.adapters.mediator import Mediator

RUNS = 15


def get_balance(account: str) -> str:  # noqa: ARG001 - what the model is shown
    """The balance of an account."""
    return RESULT


def langgraph() -> Callable[[Keep | None], float]:
    """CPU time of one run of a LangChain agent with its calls."""
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolCall
    from langchain_core.outputs import ChatGeneration, ChatResult

    from truekeep.adapters.langgraph import TruekeepMiddleware

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

    def seconds(keep: Keep | None) -> float:
        protection = [TruekeepMiddleware(keep, tools=[BALANCE])] if keep else []
        agent: Any = create_agent(CallingModel(left=CALLS), [get_balance], middleware=protection)
        return _cpu(lambda: agent.invoke({"messages": [HumanMessage(QUESTION)]}, {"recursion_limit": 500}))

    return seconds


def openai_agents() -> Callable[[Keep | None], float]:
    """CPU time of one run of an agent of the OpenAI Agents SDK."""
    from agents import Agent, RunConfig, Runner, function_tool
    from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

    from truekeep.adapters.openai_agents import protect

    def seconds(keep: Keep | None) -> float:
        ids = [f"call-{time.time_ns()}-{one}" for one in range(CALLS)]
        calls = [function_call("get_balance", ARGUMENTS, call_id=one) for one in ids]
        steps = [*(ModelStep(output=[one]) for one in calls), ModelStep(output=[assistant_message("Done.")])]
        agent: Agent[Any] = Agent(name="clerk", model=ScriptedModel(steps), tools=[function_tool(get_balance)])
        if keep is not None:
            agent = protect(agent, keep, tools=[BALANCE])
        config = RunConfig(tracing_disabled=True)
        return _cpu(lambda: asyncio.run(Runner.run(agent, QUESTION, max_turns=CALLS + 2, run_config=config)))

    return seconds


def mediator_alone(keep: Keep | None) -> float:
    """CPU time of what every adapter has the mediator do in such a run."""
    return 0.0 if keep is None else _cpu(lambda: _mediated(Mediator(keep, tools=[BALANCE])))


def _mediated(mediator: Mediator) -> None:
    offered = OfferedTool("get_balance", get_balance.__doc__ or "", {"type": "object"}, is_programs=True)
    entries = [ContextEntry(EntryKind.OWNER, QUESTION)]
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


def installed() -> dict[str, Callable[[Keep | None], float]]:
    """What can be measured here: seconds of CPU of one run, for a keep or for none."""
    found: dict[str, Callable[[Keep | None], float]] = {}
    if find_spec("langchain"):
        found["langgraph"] = langgraph()
    if find_spec("agents"):
        found["openai-agents"] = openai_agents()
    for name, (package, prepared) in WORLDS.items():
        if find_spec(package.split(".")[0]) and find_spec(package):
            found[name] = lambda keep, prepared=prepared: _cpu(prepared(keep))  # type: ignore[misc]
    return found | {"mediator alone": mediator_alone}


def _cpu(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def measured(run: Callable[[Keep | None], float], keep: Keep) -> dict[str, float]:
    """Milliseconds a call: without protection, with it, and the difference."""
    before = _judged(keep)
    run(None), run(keep)
    if _judged(keep) != before + CALLS:
        raise SystemExit("not every call was judged")
    turns = [(run(None), run(keep)) for _ in range(RUNS)]
    plain, protected = (1_000 * min(one) / CALLS for one in zip(*turns, strict=True))
    return {"plain": round(plain, 2), "protected": round(protected, 2), "added": round(protected - plain, 2)}


def _judged(keep: Keep) -> int:
    return sum(event.kind == "action.judged" for event in keep.audit.events())


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(embedder="none")
        with Keep.open("bench", home=home, settings=settings, background=False) as keep:
            figures = {name: measured(run, keep) for name, run in installed().items()}
    print(json.dumps({"ms_a_call": figures, "load": round(os.getloadavg()[0], 1)}, indent=2))


if __name__ == "__main__":
    main()
