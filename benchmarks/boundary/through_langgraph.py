"""The same calls through the LangGraph adapter: an agent whose scripted model reads what the row says, then calls.

Each message of the owner's is a run of one thread; what came in over another channel is the result of a reading tool;
the call is the model's last. What became of it is how the framework shows it: carried out, interrupted, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from benchmarks.boundary.calls import furnished
from benchmarks.harness import Figure
from truekeep import Keep, Tool
from truekeep.adapters.langgraph import TruekeepMiddleware

THREAD = "s-1"
READER = "read_item"
_ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}


class TurnsModel(BaseChatModel):
    """Answers with the next of its turns."""

    turns: list[AIMessage] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "turns"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:  # noqa: ARG002 - named so by the framework
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ARG002
        return ChatResult(generations=[ChatGeneration(message=self.turns.pop(0))])


def compared(rows: Sequence[Mapping[str, Any]], answers: Mapping[str, str]) -> tuple[list[Figure], list[str]]:
    """How many rows have the library's answer through the adapter, and a line for each that has not."""
    found = {row["id"]: through_agent(row) for row in rows}
    other = [f"{one}: {answers[one]} in the library, {found[one]} through the adapter" for one in found]
    other = [line for line, one in zip(other, found, strict=True) if answers[one] != found[one]]
    same = len(found) - len(other)
    return [Figure("same answer through langgraph", same, f"of {len(rows)}", least=len(rows))], other


def through_agent(row: Mapping[str, Any]) -> str:
    """What becomes of a row's call: allow, confirm or deny."""
    with furnished(row) as keep:
        return _played(keep, row)


def _played(keep: Keep, row: Mapping[str, Any]) -> str:
    made: list[Any] = []
    given: list[str] = []
    call, runs = row["call"], _runs(row["events"])
    model = TurnsModel()
    tools = [_tool(READER, lambda **_: given.pop(0)), _tool(call["name"], lambda **arguments: made.append(arguments))]
    middleware = TruekeepMiddleware(keep, tools=[Tool(READER, reads=True)])
    agent: Any = create_agent(model, tools, middleware=[middleware], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": THREAD}}
    for at, (said, after) in enumerate(runs):
        given += [one["text"] for one in after if one["channel"] != "agent"]
        model.turns = [_turn(one, f"{at}-{place}") for place, one in enumerate(after)]
        if at == len(runs) - 1:
            last = ToolCall(name=call["name"], args=call["arguments"], id="the-call")
            model.turns.append(AIMessage("", tool_calls=[last]))
        model.turns.append(AIMessage(""))
        agent.invoke({"messages": [HumanMessage(said)]}, config)
    waits = bool(agent.get_state(config).interrupts)
    return "confirm" if waits else "allow" if made else "deny"


def _runs(events: Sequence[Mapping[str, str]]) -> list[tuple[str, list[Mapping[str, str]]]]:
    """Each message of the owner's with what came in after it."""
    runs: list[tuple[str, list[Mapping[str, str]]]] = []
    for event in events:
        if event["channel"] == "user":
            runs.append((event["text"], []))
        else:
            runs[-1][1].append(event)
    return runs


def _turn(event: Mapping[str, str], place: str) -> AIMessage:
    if event["channel"] == "agent":
        return AIMessage(event["text"])
    return AIMessage("", tool_calls=[ToolCall(name=READER, args={}, id=f"read-{place}")])


def _tool(name: str, does: Any) -> BaseTool:
    def run(**arguments: Any) -> str:
        """A tool of the program's."""
        return str(does(**arguments) or "")

    return StructuredTool.from_function(run, name=name, description="A tool of the program's.", args_schema=_ANYTHING)
