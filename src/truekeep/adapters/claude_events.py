"""Claude Code's hooks in the mediator's words: one event in, one answer out. The shell's hook and the SDK's share it.

- A prompt of the owner's is the owner's word; prompts of any other source, and what a prompt mentions, are foreign.
- A call is judged before it runs. *Allow* is no opinion, so that Claude Code's own permissions still count; *deny* is
  final; *confirm* is its own question to the person, where a person is asked, and a denial where nobody is.
- Results, failures and sub-agents' answers are reported. A sub-agent has a session of its own that inherits.
- What enters beside the hooks (``CLAUDE.md`` and its kin) is read when a session is first seen: pinned, or foreign.

Whatever goes wrong blocks: the answer to an event that cannot be handled is never silence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truekeep.adapters import claude_files
from truekeep.adapters.calls import AgentCall, ContextEntry, EntryKind, OfferedTool, as_json, asked_in_words
from truekeep.adapters.mediator import MediatedConversation, Mediator
from truekeep.adapters.reports import UNSEEN, code_of, log
from truekeep.errors import InvalidRequest
from truekeep.trust.flow.tools import Tool, tool_for

_NOT_REPORTED = "truekeep could not write down what happened ({code}), so this is stopped. See 'truekeep doctor'."
_NOT_ASKED = " Nobody is asked in this mode; the owner can confirm it: truekeep actions confirm {ticket}"


def own_tools() -> tuple[Tool, ...]:
    """What is known of Claude Code's own tools."""
    known = claude_files.table()
    return tuple(Tool(name, reads=True) for name in sorted(known["reads"] | known["delegates"]))


class ClaudeEvents:
    """Answers the events of Claude Code's sessions.

    ``servers`` are the MCP servers whose tools stand in the program itself, ``foreign`` names what else describes tools
    to the model. ``files=False`` says that Claude Code loads no settings and no files by itself. ``resumes``: the
    session goes on with an earlier one. ``is_lasting``: this process lives on after an event, so that what cannot be
    reported waits in it; else the event is stopped.
    """

    def __init__(
        self,
        mediator: Mediator,
        *,
        pins: frozenset[str] = frozenset(),
        servers: frozenset[str] = frozenset(),
        foreign: tuple[str, ...] = (),
        files: bool = True,
        resumes: bool = False,
        is_lasting: bool = True,
    ) -> None:
        self._mediator = mediator
        for tool in own_tools():
            mediator.tools.setdefault(tool.name, tool)
        self._pins = pins
        self._servers = servers
        self._foreign = foreign
        self._files = files
        self._resumes = resumes
        self._is_lasting = is_lasting
        self._begun: set[str] = set()

    def answer(self, event: Any) -> dict[str, Any]:
        """The answer to an event, as Claude Code wants it. Never raises."""
        name = event.get("hook_event_name") if isinstance(event, Mapping) else None
        try:
            if not isinstance(event, Mapping) or name not in claude_files.table()["events"]:
                raise InvalidRequest("This is no event that truekeep was installed for.", code="unknown_event")
            return self._handled(str(name), event)
        except Exception as error:
            log("an event could not be handled", error)
            return blocked(name, _NOT_REPORTED.format(code=code_of(error)))

    def missed(self, event: Mapping[str, Any]) -> bool:
        """An earlier event of this session was stopped unreported; whether that is written down now."""
        conversation = self._conversation(event)
        conversation.missed("an earlier event was not reported")
        return conversation.is_written

    def _handled(self, name: str, event: Mapping[str, Any]) -> dict[str, Any]:
        conversation = self._conversation(event)
        self._begin(conversation, event)
        answer: dict[str, Any] = getattr(self, f"_on_{_snake(name)}")(conversation, event) or {}
        if not self._is_lasting and name != "PreToolUse" and not conversation.is_written:
            return blocked(name, _NOT_REPORTED.format(code="store_not_reachable"))
        return answer

    def _conversation(self, event: Mapping[str, Any]) -> MediatedConversation:
        session, agent = f"claude-{_text(event, 'session_id')}", event.get("agent_id")
        if not agent:
            return self._mediator.conversation(session)
        return self._mediator.conversation(f"{session}/{agent}", parent=session)

    def _begin(self, conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        """A session that is seen for the first time: what is in its context already?"""
        if conversation.name in self._begun:
            return
        self._begun.add(conversation.name)
        keep = self._mediator.keep
        try:
            is_known = bool(keep.actions.took_in(conversation.name))
        except Exception as error:
            log("an earlier session could not be read", error)
            is_known = False
        if is_known or event.get("agent_id"):
            return
        if self._resumes or event.get("source") in ("resume", "fork") or event["hook_event_name"] not in _FIRST:
            conversation.missed("a session that goes on was not seen before")
        for name in self._foreign:
            conversation.arrived(ContextEntry(EntryKind.OTHER, UNSEEN, tool=f"definitions of {name}"))
        if self._files:
            self._read_files(conversation, Path(_text(event, "cwd")))

    def _read_files(self, conversation: MediatedConversation, cwd: Path) -> None:
        self._take(conversation, claude_files.configured_servers(cwd), "definitions of tools")
        paths = claude_files.instruction_files(cwd)
        for text, name in claude_files.unpinned(paths, self._pins):
            self._take(conversation, text, name)
        if claude_files.is_repository(cwd):
            self._take(conversation, UNSEEN, "git status")

    @staticmethod
    def _take(conversation: MediatedConversation, text: str, source: str) -> None:
        """Something foreign that is reported once, however often it is shown."""
        if text:
            conversation.context([ContextEntry(EntryKind.RESULT, text, tool=source)])

    # The events

    @staticmethod
    def _on_session_start(conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        """What is in the context already is looked at when a session is first heard of.

        No memories are added here or with a prompt: Claude Code puts what a hook adds into a system message, and a
        memory is never the system's word.
        """

    def _on_instructions_loaded(self, conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        for text, name in claude_files.unpinned([Path(_text(event, "file_path"))], self._pins):
            self._take(conversation, text, name)

    def _on_user_prompt_submit(self, conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        self._turned_down(conversation, event)
        prompt = _text(event, "prompt")
        if event.get("source", "user") not in claude_files.table()["owners_prompts"]:
            conversation.arrived(ContextEntry(EntryKind.OTHER, prompt, tool="prompt"))
            return
        conversation.arrived(ContextEntry(EntryKind.OWNER, prompt), is_owners=True)
        for text, name in claude_files.mentioned(prompt, Path(_text(event, "cwd"))):
            conversation.arrived(ContextEntry(EntryKind.OTHER, text, tool=name))

    @staticmethod
    def _on_user_prompt_expansion(conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        """A command's file, or a server's prompt, stands in the place of what was typed."""
        conversation.arrived(ContextEntry(EntryKind.OTHER, _text(event, "prompt") or UNSEEN, tool="command"))

    def _on_pre_tool_use(self, conversation: MediatedConversation, event: Mapping[str, Any]) -> dict[str, Any]:
        call = _call(event)
        self._offer(conversation, call.name)
        if event.get("transcript_path") and not event.get("agent_id") and conversation.is_clean:
            for text in claude_files.attachments(Path(_text(event, "transcript_path"))):
                self._take(conversation, text, "attachment")
        permit = conversation.judge(call)
        if permit.is_allowed:
            return {}
        if not permit.waits:
            return decision("deny", permit.message)
        if event.get("permission_mode", "default") in claude_files.table()["asking_modes"]:
            return decision("ask", asked_in_words(permit))
        return decision("deny", permit.message + _NOT_ASKED.format(ticket=permit.ticket))

    def _on_post_tool_use(self, conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        call, result = _call(event), event.get("tool_response")
        self._settle(conversation, call)
        if (answer := self._clean_answer(conversation, call, result)) is not None:
            conversation.said(answer)
            result = ""
        conversation.ran(call, result if isinstance(result, str | dict | list) else as_json(result))

    def _on_post_tool_use_failure(self, conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        call = _call(event)
        self._settle(conversation, call)
        conversation.ran(call, _text(event, "error") or UNSEEN)

    @staticmethod
    def _on_subagent_start(conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        """The session that inherits is opened when it is first heard of."""

    @staticmethod
    def _on_subagent_stop(conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        conversation.said(_text(event, "last_assistant_message"))

    @staticmethod
    def _on_post_compact(conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        conversation.summed_up(_text(event, "compact_summary"))

    def _on_stop(self, conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        self._turned_down(conversation, event)
        conversation.said(_text(event, "last_assistant_message"))
        conversation.ended()

    # Inside

    def _offer(self, conversation: MediatedConversation, name: str) -> None:
        """Declare what the operator says of a tool; a server's that is not the program's is described by others."""
        server = name.split("__")[1] if name.startswith("mcp__") and name.count("__") > 1 else ""
        is_programs = not server or server in self._servers
        if not is_programs or tool_for(name, self._mediator.tools) != Tool(name):
            conversation.offer([OfferedTool(name, is_programs=is_programs)])

    def _settle(self, conversation: MediatedConversation, call: AgentCall) -> None:
        """A call that waited has run: Claude Code asked the person, who said yes."""
        keep, wanted = self._mediator.keep, call.plain()
        for record in keep.actions.pending(conversation.name):
            if record.action == call.name and json.loads(record.arguments) == wanted:
                keep.actions.confirm(record.id, via=self._mediator.owner)
                keep.actions.redeem(record.id, call.name, wanted, conversation.name)
                return

    def _turned_down(self, conversation: MediatedConversation, event: Mapping[str, Any]) -> None:
        """Nobody is being asked any more: what was asked about and has not run was turned down."""
        if event.get("permission_mode", "default") in claude_files.table()["asking_modes"] and conversation.is_written:
            for record in self._mediator.keep.actions.pending(conversation.name):
                self._mediator.keep.actions.decline(record.id, via=self._mediator.owner)

    def _clean_answer(self, conversation: MediatedConversation, call: AgentCall, result: Any) -> str | None:
        """What a sub-agent answered that read nothing foreign: it is as good as the agent's own words."""
        agent = result.get("agentId") if isinstance(result, Mapping) else None
        if call.name not in claude_files.table()["delegates"] or not isinstance(agent, str):
            return None
        child = self._mediator.conversation(f"{conversation.name}/{agent}", parent=conversation.name)
        return as_json(result) if child.is_clean else None


_FIRST = ("SessionStart", "InstructionsLoaded", "UserPromptSubmit", "UserPromptExpansion")


def decision(word: str, why: str) -> dict[str, Any]:
    """The answer to a call that is not simply let through."""
    told = {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": why}
    return {"hookSpecificOutput": told}


def blocked(event: object, why: str) -> dict[str, Any]:
    """The answer that stops what an event is about."""
    if event == "PreToolUse":
        return decision("deny", why)
    if event in ("UserPromptSubmit", "UserPromptExpansion"):
        return {"decision": "block", "reason": why}
    return {"continue": False, "stopReason": why}


def _call(event: Mapping[str, Any]) -> AgentCall:
    return AgentCall(_text(event, "tool_use_id"), _text(event, "tool_name"), event.get("tool_input"))


def _text(event: Mapping[str, Any], name: str) -> str:
    found = event.get(name)
    return found if isinstance(found, str) else ""


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
