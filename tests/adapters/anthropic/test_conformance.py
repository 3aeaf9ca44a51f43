"""Anthropic's SDK: its tool runner behind truekeep passes the conformance suite, with a model endpoint over HTTP."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic")

from anthropic import Anthropic, AsyncAnthropic, beta_async_tool, beta_tool

from tests.adapters.anthropic_endpoint import served
from tests.adapters.hostile_documents import attacked, one_document
from truekeep import Keep, Tool
from truekeep.adapters.anthropic import TruekeepMemoryTool, tool_runner
from truekeep.adapters.conformance import DECLARED, OWNER, READS, MediationConformance, Toolbox, pays, turn
from truekeep.adapters.scripted import AgentUnderTest, ModelScript, ModelTurn, RunOutcome, ScriptedCall, ScriptedTool
from truekeep.errors import InvalidRequest

TALKS: dict[tuple[Path, str], list[Any]] = {}
ASKED = object()


def framework_tool(tool: ScriptedTool, *, awaited: bool) -> Any:
    schema: Any = {"type": "object", "properties": {name: {} for name in tool.parameters}}

    def run(**arguments: Any) -> str:
        return tool.run(arguments)

    async def arun(**arguments: Any) -> str:
        return tool.run(arguments)

    function: Any = arun if awaited else run
    if not tool.is_foreign:
        function.__doc__ = tool.description
    made = beta_async_tool if awaited else beta_tool
    return made(function, name=tool.name, description=tool.description, input_schema=schema)


class RunningTalk:
    """One conversation that runs in a thread of its own: what happens in it, and the owner's answers to it."""

    def __init__(self) -> None:
        self.events: queue.Queue[Any] = queue.Queue()
        self.answers: queue.Queue[bool] = queue.Queue()

    def ask(self, question: str) -> bool:
        assert "wants to call" in question
        self.events.put(ASKED)
        return self.answers.get(timeout=60)

    def outcome(self) -> RunOutcome:
        event = self.events.get(timeout=60)
        if event is ASKED:
            return RunOutcome("", waits=True)
        if isinstance(event, BaseException):
            raise event
        return RunOutcome(event)


class RunnerAgent:
    """Runs of the tool runner; the program holds the messages of each conversation, and answers questions."""

    def __init__(self, place: Path, make: Any) -> None:
        self.place = place
        self.make = make
        self.history: list[Any] = []
        self.running: dict[str, RunningTalk] = {}

    def run(self, conversation: str, message: str, *, mode: str = "sync") -> RunOutcome:
        # Each conversation has queues of its own: one would take what the other one waits for.
        talk = self.running[conversation] = RunningTalk()
        before, self.history = self.history, []
        messages = [*TALKS.get((self.place, conversation), []), *before, {"role": "user", "content": message}]
        threading.Thread(target=self._ran, args=(talk, conversation, messages, mode), daemon=True).start()
        return talk.outcome()

    def resume(self, conversation: str, *, yes: bool, mode: str = "sync") -> RunOutcome:  # noqa: ARG002
        talk = self.running[conversation]
        talk.answers.put(yes)
        return talk.outcome()

    def session(self, conversation: str) -> str:
        return conversation

    def _ran(self, talk: RunningTalk, conversation: str, messages: list[Any], mode: str) -> None:
        try:
            runner = self.make(conversation, messages, mode, talk.ask)
            if mode == "async":
                message = asyncio.run(self._awaited(runner))
            else:
                for item in runner:
                    message = item if mode == "sync" else item.get_final_message()
            TALKS[self.place, conversation] = list(runner.runner._thread.messages)
            talk.events.put("".join(block.text for block in message.content if block.type == "text"))
        except BaseException as error:
            talk.events.put(error)

    @staticmethod
    async def _awaited(runner: Any) -> Any:
        message = await runner.until_done()
        await runner.runner._client.close()
        return message


class TestAnthropic(MediationConformance):
    """Each scenario of the suite."""

    hands_off = False  # the tool runner knows one agent
    passes_broken_arguments = False
    offers_memory_tools = False  # the program gives it ``TruekeepMemoryTool``

    @pytest.fixture(autouse=True)
    def endpoints(self) -> Iterator[None]:
        self.open = ExitStack()
        with self.open:
            yield

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
        hand_off: tuple[str, ModelScript, Sequence[ScriptedTool]] | None = None,  # noqa: ARG002 - never asked for
    ) -> AgentUnderTest:
        url = self.open.enter_context(served(script))

        def made(address: str, awaited: bool) -> Any:
            client = (AsyncAnthropic if awaited else Anthropic)(base_url=address, api_key="none", max_retries=0)
            if not awaited:
                self.open.callback(client.close)
            return client

        def make(name: str | None, messages: list[Any], mode: str, ask: Any) -> Any:
            offered: list[Any] = [framework_tool(tool, awaited=mode == "async") for tool in tools]
            if sub_agent is not None:
                offered.append(self._sub(keep, sub_agent, declared, made))
            if provider_side:
                offered.append({"type": "web_search_20250305", "name": "web_search"})
            return tool_runner(
                made(url, mode == "async"), keep, conversation=name, declared=declared, tools=offered, ask=ask,
                messages=messages, model="scripted", max_tokens=100, stream=mode == "stream",
            )  # fmt: skip

        agent = RunnerAgent(place, make)
        agent.history = [{"role": role, "content": text} for role, text in history]
        return agent

    def _sub(self, keep: Keep, sub_agent: Any, declared: Sequence[Tool], made: Any) -> Any:
        name, script, tools = sub_agent
        url = self.open.enter_context(served(script))

        def ask(question: str) -> str:
            """Ask another agent."""
            inner = tool_runner(
                made(url, False), keep, declared=declared, tools=[framework_tool(one, awaited=False) for one in tools],
                messages=[{"role": "user", "content": question}], model="scripted", max_tokens=100,
            )  # fmt: skip
            return str(inner.until_done().content[0].text)

        return beta_tool(ask, name=name)


def test_without_anybody_to_ask_the_model_is_told_that_the_call_waits(keep: Keep) -> None:
    box, script = Toolbox(), ModelScript([turn(READS), turn(pays(amount=317)), ModelTurn("It waits.")])
    with served(script) as url, Anthropic(base_url=url, api_key="none") as client:
        runner = tool_runner(
            client, keep, declared=DECLARED, tools=[framework_tool(one, awaited=False) for one in box.all],
            messages=[{"role": "user", "content": OWNER}], model="scripted", max_tokens=100,
        )  # fmt: skip
        assert runner.until_done().content[0].text == "It waits."
    assert box.pay.calls == []
    assert "has to confirm" in script.shown[-1][-1].text
    assert len(keep.actions.pending()) == 1


def test_the_memory_tool_is_the_conversations_and_a_note_of_a_tainted_one_taints(keep: Keep) -> None:
    writes = ScriptedCall("memory", {"command": "create", "path": "/memories/a.md", "file_text": "Tabs are used."})
    views = ScriptedCall("memory", {"command": "view", "path": "/memories/a.md"})
    again = ScriptedCall(
        "memory", {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "x"}
    )
    turns = [turn(writes), ModelTurn("Noted."), turn(views), ModelTurn("Tabs.")]
    turns += [turn(READS), turn(again), ModelTurn("Read."), turn(views), ModelTurn("Tabs.")]
    box, script = Toolbox(), ModelScript(turns)
    with served(script) as url, Anthropic(base_url=url, api_key="none") as client:
        for name in "abcd":
            runner = tool_runner(
                client, keep, conversation=name, declared=DECLARED, model="scripted", max_tokens=100,
                tools=[TruekeepMemoryTool(keep), framework_tool(box.page, awaited=False)],
                messages=[{"role": "user", "content": "How do I indent?"}],
            )  # fmt: skip
            runner.until_done()
    assert [keep.is_clean(name) for name in "abcd"] == [True, True, False, False]


def test_a_tool_that_cannot_be_guarded_is_refused(keep: Keep) -> None:
    with Anthropic(api_key="none") as client, pytest.raises(InvalidRequest) as refused:
        tool_runner(client, keep, tools=[object()], messages=[], model="scripted", max_tokens=1)
    assert refused.value.code == "tool_not_guardable"


def test_an_obedient_model_carries_nothing_out_that_documents_ask_for(keep: Keep, tmp_path: Path) -> None:
    building = TestAnthropic()
    with ExitStack() as building.open:
        found = attacked(building, keep, tmp_path, 20)
    assert found.tried >= 15
    assert found.done == []


def test_with_the_sdks_own_runner_it_does() -> None:
    script, tools = one_document()
    with served(script) as url, Anthropic(base_url=url, api_key="none") as client:
        client.beta.messages.tool_runner(
            tools=[framework_tool(one, awaited=False) for one in tools],
            messages=[{"role": "user", "content": "Please read it."}], model="scripted", max_tokens=100, thread=False,
        ).until_done()  # fmt: skip
    assert [call for tool in tools[1:] for call in tool.calls]
