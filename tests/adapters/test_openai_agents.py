"""OpenAI Agents SDK: the adapter passes the conformance suite, with sessions that outlive the agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, FunctionTool, RunConfig, Runner, SQLiteSession, WebSearchTool, handoff
from agents.exceptions import ModelBehaviorError
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from tests.adapters.hostile_documents import attacked, one_document, unprotected
from truekeep import Keep, Tool, TruekeepError
from truekeep.adapters.conformance import (
    DECLARED,
    OWNER,
    PAY,
    QUESTION,
    READS,
    STEALS,
    MediationConformance,
    Toolbox,
    judged,
    pays,
    turn,
)
from truekeep.adapters.openai_agents import TruekeepSession, protect
from truekeep.adapters.scripted import (
    AgentUnderTest,
    ModelScript,
    ModelTurn,
    RunOutcome,
    ScriptedCall,
    ScriptedTool,
    ShownMessage,
)

QUIET = RunConfig(tracing_disabled=True)


def scripted(script: ModelScript) -> ScriptedModel:
    """The script as a model of the SDK's; it is asked anew for each turn."""

    def respond(call: Any) -> Any:
        taken = script.next(shown(call))
        number = len(script.shown)
        if taken.calls:
            made = [
                function_call(one.name, one.arguments, call_id=f"call-{id(script)}-{number}-{place}")
                for place, one in enumerate(taken.calls)
            ]
            return ModelStep(output=made)
        return ModelStep(output=[assistant_message(taken.text, item_id=f"message-{number}")])

    return ScriptedModel([ModelStep.respond(respond) for _ in range(40)])


def shown(call: Any) -> list[ShownMessage]:
    items = [{"role": "user", "content": call.input}] if isinstance(call.input, str) else call.input
    found = [ShownMessage("system", call.system_instructions)] if call.system_instructions else []
    for item in items:
        if item.get("type") == "function_call_output":
            found.append(ShownMessage("tool", str(item["output"])))
        elif "role" in item:
            found.append(ShownMessage(item["role"], str(item["content"])))
    return found


def sdk_tool(tool: ScriptedTool) -> FunctionTool:
    from agents import function_tool

    if tool.is_foreign:
        return FunctionTool(tool.name, tool.description, {"type": "object", "properties": {}}, _never, False)
    names = ", ".join(f"{name}: object" for name in tool.parameters)
    given = ", ".join(f"{name!r}: {name}" for name in tool.parameters)
    space: dict[str, Any] = {"tool": tool}
    source = f"def {tool.name}({names}) -> str:\n    {tool.description!r}\n    return tool.run({{{given}}})"
    exec(source, space)  # noqa: S102 - the SDK reads a tool's signature
    return function_tool(space[tool.name], strict_mode=False)


async def _never(context: Any, arguments: str) -> str:
    raise AssertionError(arguments)


class SdkAgent:
    """An agent of the SDK, with sessions in a file."""

    def __init__(self, agent: Agent[Any], place: Path, history: Sequence[tuple[str, str]]) -> None:
        self.agent = agent
        self.place = place
        self.history = [{"role": role, "content": text} for role, text in history]
        self.stopped: dict[str, Any] = {}

    def run(self, conversation: str, message: str, *, mode: str = "sync") -> RunOutcome:
        return asyncio.run(self._run(conversation, message, mode))

    def resume(self, conversation: str, *, yes: bool, mode: str = "sync") -> RunOutcome:
        state, items = self.stopped.pop(conversation)
        for item in items:
            (state.approve if yes else state.reject)(item)
        return asyncio.run(self._run(conversation, state, mode))

    def session(self, conversation: str) -> str:
        return conversation

    async def _run(self, conversation: str, given: Any, mode: str) -> RunOutcome:
        kept = SQLiteSession(conversation, self.place / "talks.db")
        session = TruekeepSession(conversation, kept)
        if self.history:
            await kept.add_items(self.history)  # type: ignore[arg-type]
            self.history = []
        result: Any
        if mode == "stream":
            result = Runner.run_streamed(self.agent, given, session=session, run_config=QUIET)
            async for _ in result.stream_events():
                pass
        else:
            result = await Runner.run(self.agent, given, session=session, run_config=QUIET)
        kept.close()
        if result.interruptions:
            self.stopped[conversation] = (result.to_state(), result.interruptions)
        return RunOutcome(str(result.final_output), waits=bool(result.interruptions))


class TestOpenAIAgents(MediationConformance):
    """Each scenario of the suite."""

    modes = ("async", "stream")
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
        made: list[Any] = [sdk_tool(tool) for tool in tools]
        if sub_agent is not None:
            name, inner, its_tools = sub_agent
            child = Agent(name="reader", model=scripted(inner), tools=[sdk_tool(one) for one in its_tools])
            made.append(asked(protect(child, keep, tools=declared), name))
        if provider_side:
            made.append(WebSearchTool())
        others: list[Any] = []
        if hand_off is not None:
            name, second, its_tools = hand_off
            others.append(Agent(name=name, model=scripted(second), tools=[sdk_tool(one) for one in its_tools]))
        agent = Agent(name="first", model=scripted(script), tools=made, handoffs=others)
        return SdkAgent(protect(agent, keep, tools=declared), place, history)


def asked(agent: Agent[Any], name: str) -> FunctionTool:
    """The agent as a tool with one parameter ``question``."""
    from agents import function_tool

    async def ask(question: str) -> str:
        """Ask another agent."""
        return str((await Runner.run(agent, question, run_config=QUIET)).final_output)

    return function_tool(ask, name_override=name)


def agent_of(keep: Keep, script: ModelScript, box: Toolbox, **options: Any) -> Agent[Any]:
    made: list[Any] = [sdk_tool(tool) for tool in box.all]
    return protect(Agent(name="clerk", model=scripted(script), tools=made, **options), keep, tools=DECLARED)


def test_an_agent_behind_a_handoff_of_the_programs_own_goes_on_with_the_same_conversation(keep: Keep) -> None:
    box = Toolbox()
    inner = ModelScript([turn(READS), turn(STEALS), ModelTurn("Tried.")])
    other = Agent(name="other", model=scripted(inner), tools=[sdk_tool(tool) for tool in box.all])
    first = ModelScript([turn(ScriptedCall("transfer_to_other"))])
    agent = agent_of(keep, first, Toolbox(), handoffs=[handoff(other)])
    result = asyncio.run(Runner.run(agent, QUESTION, session=TruekeepSession("a"), run_config=QUIET))
    assert result.final_output == "Tried."
    assert box.forward.calls == []
    assert judged(keep, "a") == [("read_page", "allow"), ("forward_mail", "deny")]


def test_agents_with_instructions_of_their_own_hand_over_without_tainting(keep: Keep) -> None:
    other = Agent(name="payer", instructions="You pay.", model=scripted(ModelScript([ModelTurn("Shall I?")])))
    first = ModelScript([turn(ScriptedCall("transfer_to_payer"))])
    agent = agent_of(keep, first, Toolbox(), instructions="You listen.", handoffs=[handoff(other)])
    result = asyncio.run(Runner.run(agent, OWNER, session=TruekeepSession("a"), run_config=QUIET))
    assert result.final_output == "Shall I?"
    assert keep.is_clean("a")


def test_a_run_without_a_session_is_a_conversation_of_its_own(keep: Keep) -> None:
    box = Toolbox()
    agent = agent_of(keep, ModelScript([turn(pays()), ModelTurn("Paid.")]), box)
    assert asyncio.run(Runner.run(agent, OWNER, run_config=QUIET)).final_output == "Paid."
    assert box.pay.calls == [PAY]


def test_what_the_owner_said_is_looked_up_by_the_agents_own_tool(keep: Keep) -> None:
    keep.remember("My desk is in room 12.", via="user")
    script = ModelScript([turn(ScriptedCall("recall_memories", {"question": "desk"})), ModelTurn("Room 12.")])
    agent = agent_of(keep, script, Toolbox())
    asyncio.run(Runner.run(agent, "Where is my desk?", session=TruekeepSession("a"), run_config=QUIET))
    assert "room 12" in script.shown[-1][-1].text
    assert keep.is_clean("a")


def test_an_agent_with_a_tool_that_cannot_be_guarded_is_refused(keep: Keep) -> None:
    from agents import LocalShellTool

    agent = Agent(name="clerk", tools=[LocalShellTool(executor=str)])
    with pytest.raises(TruekeepError) as refused:
        protect(agent, keep)
    assert refused.value.code == "tool_not_guardable"


def test_an_approval_counts_for_the_arguments_that_the_owner_was_shown_and_no_others(
    keep: Keep, tmp_path: Path
) -> None:
    box = Toolbox()
    script = ModelScript([turn(READS), turn(pays(amount=317)), ModelTurn("Done.")])
    agent = SdkAgent(agent_of(keep, script, box), tmp_path, ())
    assert agent.run("a", OWNER).waits
    for item in agent.stopped["a"][1]:
        item.raw_item.arguments = json.dumps({**PAY, "amount": 3170})
    with pytest.raises(ModelBehaviorError):  # the SDK notices it before the adapter does
        agent.resume("a", yes=True)
    assert box.pay.calls == []


@pytest.mark.slow
def test_an_obedient_model_carries_nothing_out_that_documents_ask_for(keep: Keep, tmp_path: Path) -> None:
    found = attacked(TestOpenAIAgents(), keep, tmp_path, 20)
    assert found.tried >= 15
    assert found.done == []


def test_without_protection_it_does(tmp_path: Path) -> None:
    script, tools = one_document()
    agent: Agent[Any] = Agent(name="clerk", model=scripted(script), tools=[sdk_tool(one) for one in tools])
    assert unprotected(SdkAgent(agent, tmp_path, ()), script, tools)
