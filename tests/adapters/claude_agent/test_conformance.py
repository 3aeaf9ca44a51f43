"""Claude Agent SDK: the hooks pass the conformance suite, called in the order in which Claude Code calls them.

The host below plays Claude Code: it calls the SDK's matchers as the SDK does and does what their answers say. The real
program with a scripted model behind it is in ``test_end_to_end``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, create_sdk_mcp_server

from tests.adapters.hostile_documents import attacked
from truekeep import Keep, Tool
from truekeep.adapters.claude_agent import protect, truekeep_hooks
from truekeep.adapters.conformance import DECLARED, MediationConformance
from truekeep.adapters.scripted import (
    AgentUnderTest,
    ModelScript,
    RunOutcome,
    ScriptedCall,
    ScriptedFailure,
    ScriptedTool,
    ShownMessage,
)

DENIED = "Permission to use this tool was not given."


@dataclass
class Talk:
    """One conversation of the host's: what the model is shown, and what it still has to do."""

    shown: list[ShownMessage] = field(default_factory=list)
    waiting: list[ScriptedCall] = field(default_factory=list)
    asked: bool = False
    calls: int = 0


class ClaudeHost:
    """Plays Claude Code for one agent."""

    def __init__(self, options: ClaudeAgentOptions, script: ModelScript, tools: Sequence[ScriptedTool]) -> None:
        self.options = options
        self.script = script
        self.tools = {tool.name: tool for tool in tools}
        self.talks: dict[str, Talk] = {}
        self.sub: tuple[str, ModelScript, Sequence[ScriptedTool]] | None = None

    def run(self, conversation: str, message: str, *, mode: str = "async") -> RunOutcome:  # noqa: ARG002
        return asyncio.run(self._prompt(conversation, message))

    def resume(self, conversation: str, *, yes: bool, mode: str = "async") -> RunOutcome:  # noqa: ARG002
        return asyncio.run(self._resumed(conversation, yes))

    def session(self, conversation: str) -> str:
        return f"claude-{conversation}"

    async def _prompt(self, conversation: str, message: str) -> RunOutcome:
        talk = self.talks.setdefault(conversation, Talk())
        answer = await self._hook("UserPromptSubmit", conversation, prompt=message)
        if answer.get("decision") == "block":
            return RunOutcome(str(answer["reason"]))
        if context := answer.get("hookSpecificOutput", {}).get("additionalContext"):
            talk.shown.append(ShownMessage("user", context))
        talk.shown.append(ShownMessage("user", message))
        return await self._go_on(conversation, talk)

    async def _resumed(self, conversation: str, yes: bool) -> RunOutcome:
        talk = self.talks[conversation]
        call = talk.waiting.pop(0)
        talk.asked = False
        if yes:
            await self._carried_out(conversation, talk, call, f"toolu-{talk.calls}")
        else:
            talk.shown.append(ShownMessage("tool", DENIED))
        return await self._go_on(conversation, talk)

    async def _go_on(self, conversation: str, talk: Talk) -> RunOutcome:
        while True:
            while talk.waiting:
                if await self._stopped(conversation, talk):
                    return RunOutcome("", waits=True)
            turn = self.script.next(talk.shown)
            talk.waiting = list(turn.calls)
            if not turn.calls:
                talk.shown.append(ShownMessage("assistant", turn.text))
                await self._hook("Stop", conversation, stop_hook_active=False, last_assistant_message=turn.text)
                return RunOutcome(turn.text)

    async def _stopped(self, conversation: str, talk: Talk) -> bool:
        """Make the next call of a turn; whether it stops for the person to answer."""
        call, talk.calls = talk.waiting[0], talk.calls + 1
        call_id = f"toolu-{talk.calls}"
        answer = await self._hook("PreToolUse", conversation, **self._fields(call, call_id))
        told = answer.get("hookSpecificOutput", {})
        if told.get("permissionDecision") == "ask":
            talk.asked = True
            return True
        talk.waiting.pop(0)
        if told.get("permissionDecision") == "deny":
            talk.shown.append(ShownMessage("tool", str(told["permissionDecisionReason"])))
        else:
            await self._carried_out(conversation, talk, call, call_id)
        return False

    def _fields(self, call: ScriptedCall, call_id: str) -> dict[str, Any]:
        given: Any = call.arguments if isinstance(call.arguments, str) else dict(call.arguments)
        if self.sub is not None and call.name == self.sub[0]:
            return {"tool_name": "Agent", "tool_input": {"prompt": given["question"]}, "tool_use_id": call_id}
        return {"tool_name": call.name, "tool_input": given, "tool_use_id": call_id}

    async def _carried_out(self, conversation: str, talk: Talk, call: ScriptedCall, call_id: str) -> None:
        if self.sub is not None and call.name == self.sub[0]:
            text = await self._sub_agent(conversation, self._fields(call, call_id)["tool_input"]["prompt"])
            response: Any = {"status": "completed", "agentId": "a1", "content": [{"type": "text", "text": text}]}
        else:
            try:
                text = response = self.tools[call.name].run(dict(call.arguments))  # type: ignore[arg-type]
            except ScriptedFailure as error:
                told = {**self._fields(call, call_id), "error": str(error), "is_interrupt": False}
                await self._hook("PostToolUseFailure", conversation, **told)
                talk.shown.append(ShownMessage("tool", str(error)))
                return
        await self._hook("PostToolUse", conversation, **self._fields(call, call_id), tool_response=response)
        talk.shown.append(ShownMessage("tool", text))

    async def _sub_agent(self, conversation: str, question: str) -> str:
        assert self.sub is not None
        inner = ClaudeHost(self.options, self.sub[1], self.sub[2])
        inner.agent = {"agent_id": "a1", "agent_type": "general-purpose"}
        await inner._hook("SubagentStart", conversation)
        talk = Talk([ShownMessage("user", question)])
        while True:
            turn = inner.script.next(talk.shown)
            talk.waiting = list(turn.calls)
            while talk.waiting:
                if await inner._stopped(conversation, talk):
                    talk.waiting.pop(0)  # nobody answers inside a sub-agent
                    talk.shown.append(ShownMessage("tool", DENIED))
            if not turn.calls:
                await inner._hook("SubagentStop", conversation, last_assistant_message=turn.text)
                return turn.text

    agent: Mapping[str, str] = {}

    async def _hook(self, name: str, conversation: str, **fields: Any) -> dict[str, Any]:
        """Call the hooks of an event as the SDK does: with what the program sends, and its answer as JSON."""
        event = {
            "session_id": conversation,
            "transcript_path": "",
            "cwd": str(self.options.cwd),
            "hook_event_name": name,
        }
        event |= {"permission_mode": "default", **self.agent, **fields}
        hooks: Any = self.options.hooks
        (matcher,) = hooks[name]
        assert matcher.on_failure == "block"
        answers = [await hook(event, fields.get("tool_use_id"), {"signal": None}) for hook in matcher.hooks]
        (answer,) = json.loads(json.dumps(answers))
        return dict(answer)


class TestClaudeAgent(MediationConformance):
    """Each scenario of the suite."""

    hands_off = False  # sub-agents answer their caller, none takes over
    modes = ("async",)
    offers_memory_tools = False  # hooks can give an agent no tools; ``truekeep mcp`` does

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
        if provider_side:
            pytest.skip("Claude Code runs every tool itself: what it fetches or searches for passes PostToolUse")
        servers: dict[str, Any] = {"own": create_sdk_mcp_server("own")}
        servers |= {tool.name: {"command": "serve"} for tool in tools if tool.is_foreign}
        options = ClaudeAgentOptions(
            cwd=place, mcp_servers=servers, setting_sources=[], resume="earlier" if history else None
        )
        host = ClaudeHost(protect(options, keep, tools=declared), script, tools)
        host.sub = sub_agent
        return host

    def test_parallel_calls_are_each_judged_and_each_result_is_seen(self) -> None:  # type: ignore[override]
        pytest.skip("a hook hears of a call when it is about to run, so one that follows a result is judged after it")

    def test_memories_are_shown_as_fenced_data_and_never_as_the_systems_word(self) -> None:  # type: ignore[override]
        pytest.skip("Claude Code puts what a hook adds into a system message, so no memories are added")


def test_hooks_that_are_there_already_stay(keep: Keep) -> None:
    mine = HookMatcher(matcher="Bash", hooks=[])
    options = protect(ClaudeAgentOptions(hooks={"PreToolUse": [mine]}), keep)
    assert options.hooks is not None
    assert options.hooks["PreToolUse"][1] is mine


def test_without_the_options_the_definitions_of_tools_are_foreign(keep: Keep, tmp_path: Path) -> None:
    options = ClaudeAgentOptions(cwd=tmp_path, hooks=truekeep_hooks(keep, files=False))
    host = ClaudeHost(options, ModelScript([]), [])
    host.run("a", "Good morning.")
    assert not keep.is_clean("claude-a")


def test_a_hook_that_is_given_nonsense_blocks(keep: Keep) -> None:
    hooks: Any = truekeep_hooks(keep)
    answer = asyncio.run(hooks["PreToolUse"][0].hooks[0]({"hook_event_name": "PreToolUse", "cwd": 3}, None, {}))
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert asyncio.run(hooks["Stop"][0].hooks[0](None, None, {}))["continue"] is False


def test_an_obedient_model_carries_nothing_out_that_documents_ask_for(keep: Keep, tmp_path: Path) -> None:
    found = attacked(TestClaudeAgent(), keep, tmp_path, 20)
    assert found.tried >= 15
    assert found.done == []
