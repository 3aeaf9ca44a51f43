"""What an adapter adds to a tool call: CPU time of a LangChain agent with and without the middleware.

    python -m benchmarks.adapters

The model is scripted and the tool returns at once, so that what is left is the framework's and the adapter's own work.
CPU time of the whole process, threads included; writing through to the disk is waiting and not counted.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult

from truekeep import Keep, Settings, Tool
from truekeep.adapters.langgraph import TruekeepMiddleware

CALLS, RUNS = 20, 5


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
        calls = [ToolCall(name="get_balance", args={"account": "1180-22"}, id=f"call-{self.left}")]
        message = AIMessage("", tool_calls=calls) if self.left >= 0 else AIMessage("Done.")
        return ChatResult(generations=[ChatGeneration(message=message)])


def get_balance(account: str) -> str:
    """The balance of an account."""
    return json.dumps({"id": account, "balance": 300})


def seconds(middleware: Sequence[Any]) -> float:
    """CPU time of one run with its calls."""
    model = CallingModel(left=CALLS)
    agent: Any = create_agent(model, [get_balance], middleware=list(middleware))
    began = time.process_time()
    agent.invoke({"messages": [HumanMessage("What is the balance of 1180-22?")]}, {"recursion_limit": 500})
    return time.process_time() - began


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(embedder="none")
        with Keep.open("bench", home=home, settings=settings, background=False) as keep:
            protection = TruekeepMiddleware(keep, tools=[Tool("get_balance", reads=True, own=True)])
            seconds([]), seconds([protection])
            plain = min(seconds([]) for _ in range(RUNS))
            protected = min(seconds([protection]) for _ in range(RUNS))
    figures = {"plain": plain, "protected": protected, "added": protected - plain}
    print(json.dumps({f"{name}_ms_a_call": round(1_000 * one / CALLS, 2) for name, one in figures.items()}, indent=2))


if __name__ == "__main__":
    main()
