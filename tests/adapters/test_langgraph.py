"""LangChain and LangGraph: the adapter passes the conformance suite, with a checkpointer that outlives the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import create_model

from tests.adapters.hostile_documents import attacked, one_document, unprotected
from truekeep import Keep, Tool
from truekeep.adapters.conformance import DECLARED, MediationConformance
from truekeep.adapters.langgraph import TruekeepMiddleware
from truekeep.adapters.scripted import (
    AgentUnderTest,
    ModelScript,
    RunOutcome,
    ScriptedFailure,
    ScriptedTool,
    ShownMessage,
)

ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
SAVERS: dict[Path, InMemorySaver] = {}


class ScriptedChat(BaseChatModel):
    """The script as a chat model of the framework's."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:  # noqa: ARG002 - named so by the framework
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ARG002
        turn = self.script.next([ShownMessage(ROLES[one.type], str(one.text)) for one in messages])
        calls, broken = [], []
        for place, call in enumerate(turn.calls):
            call_id = f"call-{len(self.script.shown)}-{place}"
            if isinstance(call.arguments, str):
                broken.append(invalid_tool_call(name=call.name, args=call.arguments, id=call_id, error="no JSON"))
            else:
                calls.append(ToolCall(name=call.name, args=dict(call.arguments), id=call_id))
        message = AIMessage(turn.text, tool_calls=calls, invalid_tool_calls=broken)
        return ChatResult(generations=[ChatGeneration(message=message)])


def framework_tool(tool: ScriptedTool) -> BaseTool:
    def run(**arguments: Any) -> str:
        try:
            return tool.run(arguments)
        except ScriptedFailure as error:
            raise ToolException(str(error)) from None

    schema = create_model(tool.name, **dict.fromkeys(tool.parameters, (Any, ...)))  # type: ignore[call-overload]
    if not tool.is_foreign:
        run.__doc__ = tool.description
    return StructuredTool.from_function(
        run, name=tool.name, description=tool.description, args_schema=schema, handle_tool_error=True
    )


def handing_over(name: str) -> BaseTool:
    """The tool by which agents of one graph hand over to each other."""

    def transfer(runtime: ToolRuntime) -> Command[Any]:
        """Hand over."""
        done = ToolMessage("Handed over.", tool_call_id=runtime.tool_call_id)
        update = {"messages": [*runtime.state["messages"], done]}
        return Command(goto=name, graph=Command.PARENT, update=update)

    return StructuredTool.from_function(transfer, name=f"transfer_to_{name}")


class LangGraphAgent:
    """An agent of ``create_agent``, in threads."""

    def __init__(self, agent: Any, history: Sequence[tuple[str, str]]) -> None:
        self.agent = agent
        self.history = list(history)

    def run(self, conversation: str, message: str, *, mode: str = "sync") -> RunOutcome:
        before, self.history = self.history, []
        return self._outcome({"messages": [*before, HumanMessage(message)]}, conversation, mode)

    def resume(self, conversation: str, *, yes: bool, mode: str = "sync") -> RunOutcome:
        decision = {"type": "approve" if yes else "reject"}
        return self._outcome(Command(resume={"decisions": [decision]}), conversation, mode)

    def session(self, conversation: str) -> str:
        return conversation

    def _outcome(self, given: Any, conversation: str, mode: str) -> RunOutcome:
        config = {"configurable": {"thread_id": conversation}}
        if mode == "sync":
            state = self.agent.invoke(given, config)
        elif mode == "async":
            state = asyncio.run(self.agent.ainvoke(given, config))
        else:
            *_, state = self.agent.stream(given, config, stream_mode="values")
        return RunOutcome(state["messages"][-1].text, waits=bool(self.agent.get_state(config).interrupts))


class TestLangGraph(MediationConformance):
    """Each scenario of the suite."""

    passes_broken_arguments = False

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
        made: list[Any] = [framework_tool(tool) for tool in tools]
        if sub_agent is not None:
            name, inner, its_tools = sub_agent
            middle = TruekeepMiddleware(keep, tools=declared)
            child = create_agent(
                ScriptedChat(script=inner), [framework_tool(one) for one in its_tools], middleware=[middle]
            )

            def ask(question: str) -> str:
                """Ask another agent."""
                return str(child.invoke({"messages": [HumanMessage(question)]})["messages"][-1].text)

            made.append(StructuredTool.from_function(ask, name=name))
        if provider_side:
            made.append({"type": "web_search_20250305", "name": "web_search"})
        protection = TruekeepMiddleware(keep, tools=declared)
        saver = SAVERS.setdefault(place, InMemorySaver())
        model = ScriptedChat(script=script)
        if hand_off is None:
            agent: Any = create_agent(model, made, middleware=[protection], checkpointer=saver)
        else:
            name, second, its_tools = hand_off
            first = create_agent(model, [*made, handing_over(name)], middleware=[protection])
            other = create_agent(
                ScriptedChat(script=second),
                [framework_tool(one) for one in its_tools],
                middleware=[protection],
            )
            graph = StateGraph(MessagesState).add_node("first", first, destinations=(name,)).add_node(name, other)
            agent = graph.add_edge(START, "first").compile(checkpointer=saver)
        return LangGraphAgent(agent, history)


def test_without_a_checkpointer_the_model_is_told_that_the_call_waits(keep: Keep) -> None:
    from truekeep.adapters.conformance import OWNER, READS, Toolbox, pays, turn
    from truekeep.adapters.scripted import ModelTurn

    box, script = Toolbox(), ModelScript([turn(READS), turn(pays(amount=317)), ModelTurn("It waits.")])
    protection = TruekeepMiddleware(keep, tools=DECLARED)
    agent = create_agent(ScriptedChat(script=script), [framework_tool(one) for one in box.all], middleware=[protection])
    state: Any = agent.invoke({"messages": [HumanMessage(OWNER)]})
    assert state["messages"][-1].text == "It waits."
    assert box.pay.calls == []
    assert "has to confirm" in script.shown[-1][-1].text
    assert len(keep.actions.pending()) == 1


@pytest.mark.slow
def test_an_obedient_model_carries_nothing_out_that_documents_ask_for(keep: Keep, tmp_path: Path) -> None:
    found = attacked(TestLangGraph(), keep, tmp_path, 20)
    assert found.tried >= 15
    assert found.done == []


def test_without_the_middleware_it_does(tmp_path: Path) -> None:
    script, tools = one_document()
    saver = SAVERS.setdefault(tmp_path, InMemorySaver())
    made = [framework_tool(one) for one in tools]
    agent = LangGraphAgent(create_agent(ScriptedChat(script=script), made, checkpointer=saver), ())
    assert unprotected(agent, script, tools)
