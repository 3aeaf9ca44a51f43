"""agent-hooks: the interceptor in the SDK's own emitter passes the conformance suite, and the kit's own vectors."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent_hooks")

from agent_hooks import (
    AgentContextBuilder,
    ApprovalOutcome,
    ApprovalRequest,
    ApprovalResolution,
    InterceptionBlocked,
    InterceptionEmitter,
    Verdict,
)
from agent_hooks.ctk.harness import Scenario
from agent_hooks.ctk.reference import ReferenceHarness
from agent_hooks.ctk.runner import load_vectors

from tests.adapters.hostile_documents import attacked
from truekeep import Keep, Tool
from truekeep.adapters.agent_hooks import TruekeepInterceptor
from truekeep.adapters.conformance import DECLARED, MediationConformance
from truekeep.adapters.scripted import (
    AgentUnderTest,
    ModelScript,
    RunOutcome,
    ScriptedFailure,
    ScriptedTool,
    ShownMessage,
)

TALKS: dict[tuple[Path, str], list[dict[str, Any]]] = {}
ASKED = object()


class RunningTalk:
    """One conversation that runs in a thread of its own: what happens in it, and the owner's answers to it."""

    def __init__(self) -> None:
        self.events: queue.Queue[Any] = queue.Queue()
        self.answers: queue.Queue[bool] = queue.Queue()


RUNNING: ContextVar[RunningTalk] = ContextVar("running")


class EmittingHost:
    """A host that emits every point, with the history of each conversation, and answers approvals."""

    def __init__(self, place: Path, interceptor: TruekeepInterceptor, script: ModelScript, tools: Any) -> None:
        self.place, self.script = place, script
        self.tools = {tool.name: tool for tool in tools}
        self.history: list[dict[str, Any]] = []
        self.running: dict[str, RunningTalk] = {}
        self.emitter = InterceptionEmitter(resolver=self).register(interceptor)
        self.builders: dict[str, AgentContextBuilder] = {}

    def resolve(self, request: ApprovalRequest) -> ApprovalResolution:
        talk = RUNNING.get()
        talk.events.put(ASKED)
        if talk.answers.get(timeout=60):
            return ApprovalResolution(ApprovalOutcome.APPROVE, request.context_identity, Verdict.allow())
        return ApprovalResolution(ApprovalOutcome.REJECT, request.context_identity, Verdict.deny(reason="no"))

    def run(self, conversation: str, message: str, *, mode: str = "async") -> RunOutcome:  # noqa: ARG002
        talk = self.running[conversation] = RunningTalk()
        threading.Thread(target=self._ran, args=(talk, conversation, message), daemon=True).start()
        return self._outcome(talk)

    def resume(self, conversation: str, *, yes: bool, mode: str = "async") -> RunOutcome:  # noqa: ARG002
        self.running[conversation].answers.put(yes)
        return self._outcome(self.running[conversation])

    def session(self, conversation: str) -> str:
        return conversation

    @staticmethod
    def _outcome(talk: RunningTalk) -> RunOutcome:
        event = talk.events.get(timeout=60)
        if isinstance(event, BaseException):
            raise event
        return RunOutcome("", waits=True) if event is ASKED else RunOutcome(event)

    def _ran(self, talk: RunningTalk, conversation: str, message: str) -> None:
        RUNNING.set(talk)
        try:
            talk.events.put(asyncio.run(self._emitted(conversation, message)))
        except BaseException as error:
            talk.events.put(error)

    async def _emitted(self, conversation: str, message: str) -> str:
        talk = TALKS.setdefault((self.place, conversation), [])
        builder = self.builders.setdefault(
            conversation, AgentContextBuilder(agent_id="clerk", framework="own", session_id=conversation)
        )
        talk += [*self.history, {"role": "user", "content": message}]
        self.history = []
        await self.emitter.emit(builder.input(content=message))
        definitions = [{"name": one.name, "description": one.description, "schema": {}} for one in self.tools.values()]
        while True:
            context = builder.pre_model_call(model_id="scripted", messages=list(talk), tools=definitions)
            await self.emitter.emit(context)
            turn = self.script.next([ShownMessage(one["role"], str(one["content"])) for one in context["messages"]])
            calls = [
                {"id": f"call-{len(self.script.shown)}-{place}", "name": one.name, "args": dict(one.arguments)}  # type: ignore[arg-type]
                for place, one in enumerate(turn.calls)
            ]
            reason = "tool_calls" if calls else "stop"
            said = builder.post_model_call(
                model_id="scripted", content=turn.text, tool_calls=calls, finish_reason=reason
            )
            await self.emitter.emit(said)
            if turn.text:
                talk.append({"role": "assistant", "content": turn.text})
            if not calls:
                await self.emitter.emit(builder.output(content=turn.text))
                await self.emitter.emit_unchecked(builder.agent_shutdown(reason="completed"))
                return turn.text
            for call in calls:
                talk.append({"role": "tool", "content": await self._called(builder, call)})

    async def _called(self, builder: AgentContextBuilder, call: dict[str, Any]) -> str:
        context = builder.pre_tool_call(call_id=call["id"], name=call["name"], args=call["args"])
        try:
            await self.emitter.emit(context)
        except InterceptionBlocked as blocked:
            return f"blocked: {blocked.result.verdict.reason}"
        failed = False
        try:
            value = self.tools[call["name"]].run(context["tool_call"]["args"])
        except ScriptedFailure as error:
            value, failed = str(error), True
        named = {"call_id": call["id"], "name": call["name"], "args": call["args"]}
        done = builder.post_tool_call(**named, value=value, is_error=failed)
        await self.emitter.emit(done)
        return str(value)


class TestAgentHooks(MediationConformance):
    """Each scenario of the suite."""

    hands_off = False  # its hosts have no such event
    modes = ("async",)
    passes_broken_arguments = False
    offers_memory_tools = False  # an interceptor can give an agent no tools

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
        if sub_agent is not None:
            pytest.skip("the contract has no point for a sub-agent, nor a way to name its parent")
        if provider_side:
            pytest.skip("the contract has no way to say that a tool runs at the provider")
        own = not any(tool.is_foreign for tool in tools)
        interceptor = TruekeepInterceptor(keep, tools=declared, own_definitions=own)
        host = EmittingHost(place, interceptor, script, tools)
        host.history = [{"role": role, "content": text} for role, text in history]
        return host


def test_the_reference_host_runs_every_scenario_of_the_kit_with_it(keep: Keep) -> None:
    """The kit's vectors test hosts; their scenarios are run here with truekeep as the interceptor."""
    from agent_hooks import EnforcementMode

    ran = 0
    for vector in load_vectors():
        if "scenario" not in vector:
            continue
        harness = ReferenceHarness()
        interceptor = TruekeepInterceptor(keep, own_definitions=True)
        harness.setup(Scenario.from_wire(vector["scenario"]), [interceptor], None, EnforcementMode.ENFORCE)
        record = asyncio.run(harness.run())
        harness.teardown()
        assert record.outcome.value in ("completed", "blocked")
        reasons = [str((one.get("verdict") or {}).get("reason") or "") for one in record.records]
        assert not [one for one in reasons if one.startswith(("host_error:interceptor", "host_error:verdict"))]
        assert not [one for one in reasons if one.startswith("truekeep:")], vector.get("id")
        ran += 1
    assert ran > 20


@pytest.mark.parametrize("context", [{}, {"interception_point": "tomorrow", "session": {"id": "s"}}, None])
def test_what_cannot_be_handled_is_denied(keep: Keep, context: Any) -> None:
    assert TruekeepInterceptor(keep).intercept(context).decision.value == "deny"


def test_an_obedient_model_carries_nothing_out_that_documents_ask_for(keep: Keep, tmp_path: Path) -> None:
    found = attacked(TestAgentHooks(), keep, tmp_path, 20)
    assert found.tried >= 15
    assert found.done == []
