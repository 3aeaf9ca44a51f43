"""Google's Agent Development Kit: ``App(…, plugins=[TruekeepPlugin(home)])``, and ``TruekeepMemoryService(home)``.

A plugin's hooks are the runner's, so they cover every agent of it: those that are transferred to go on with the same
conversation, those that run inside a tool inherit it. Each user of each application has a keep of their own; a session
is a conversation. Only what the runner hands over as a user's message is the owner's word, whoever an event's author is
said to be.

A call that the owner has to confirm asks with the framework's ``request_confirmation``; an answer counts only if the
session holds the question that was asked here, word for word. Put the plugin first in the list, so that no other one
answers in its place. What an agent's own callbacks change comes after the plugin, and is the program's doing.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truekeep.adapters.calls import FAILED, AgentCall, CallPermit, ContextEntry, EntryKind, as_json, asked_in_words
from truekeep.adapters.mediator import MediatedConversation, Mediator
from truekeep.adapters.reports import code_of, log
from truekeep.adapters.user_keeps import UserKeeps
from truekeep.errors import MissingExtra

try:
    from google.adk.flows.llm_flows.functions import generate_client_function_call_id
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools import BaseTool, FunctionTool, ToolContext
    from google.adk.tools.exit_loop_tool import exit_loop
    from google.adk.tools.load_memory_tool import LoadMemoryTool
    from google.adk.tools.set_model_response_tool import SetModelResponseTool
    from google.adk.tools.transfer_to_agent_tool import transfer_to_agent
    from google.genai import types

    from truekeep.adapters.google_adk_contents import (
        CONFIRMATION,
        entries_of,
        offered,
        plain_result,
        runs_elsewhere,
        said_in,
        text_of_response,
    )
    from truekeep.adapters.google_adk_memory import TruekeepMemoryService, conversation_name
except ImportError:
    raise MissingExtra("google-adk") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.trust.flow.tools import Tool

__all__ = ["TruekeepMemoryService", "TruekeepPlugin"]

_MOST_MEDIATORS = 256
"""Users whose conversations are at hand; another one's are known from the store."""
_MOST_RUNNING = 1_024
"""Calls that run at once; what an older one gives is reported when the model is shown it, as something foreign."""
_LASTING = ("user:", "app:", "artifact.")
"""What a prompt's template takes from elsewhere than this conversation."""


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call that was allowed and is being carried out."""

    conversation: MediatedConversation
    call: AgentCall
    permit: CallPermit
    around: AbstractContextManager[None]
    context: ToolContext
    """Held so that no other call's context has the same id meanwhile."""


class TruekeepPlugin(BasePlugin):
    """Mediates all conversations of a runner.

    ``home`` is where the users' keeps are; with ``keep`` all of them share that one. ``tools``, ``pins``,
    ``trust_hints`` and ``learn`` are the mediator's.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        keep: Keep | None = None,
        tools: Iterable[Tool] = (),
        pins: Iterable[str] = (),
        trust_hints: bool = False,
        learn: bool = True,
        memory_tools: bool = True,
        name: str = "truekeep",
    ) -> None:
        super().__init__(name=name)
        self._keep = keep
        self._keeps = UserKeeps.at(home) if keep is None else None
        self._options: dict[str, Any] = {
            "tools": tuple(tools),
            "pins": tuple(pins),
            "trust_hints": trust_hints,
            "learn": learn,
        }
        self._mediators: OrderedDict[tuple[str, str], Mediator] = OrderedDict()
        self._running: OrderedDict[int, RunningCall] = OrderedDict()
        self._unreported: set[str] = set()
        """Conversations of which something could not be reported because their keep did not open."""
        self._own = [FunctionTool(self.remember_note), FunctionTool(self.recall_memories)] if memory_tools else []

    # What comes in

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: types.Content) -> None:
        """A run starts with what the owner says."""
        await self._report(
            invocation_context.session,
            lambda talk: talk.context(entries_of([user_message]), starts=True, is_new=True),
        )

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """A live connection is a stream that no hook sees."""
        if invocation_context.live_request_queue is not None:
            where = "as a stream of its own"
            await self._report(
                invocation_context.session, lambda talk: talk.provider_side("A live connection", where=where)
            )

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Report what the model is shown, and show it its memories and truekeep's own tools."""
        agent = callback_context._invocation_context.agent
        session = callback_context.session
        await self._report(session, lambda talk: self._shown(talk, llm_request, agent, session.events))
        block = await self._report(session, lambda talk: talk.memory_block())
        if block:
            shown = types.Content(role="user", parts=[types.Part.from_text(text=block)])
            llm_request.contents.insert(0, shown)
        try:
            if not _has_fixed_tools(llm_request):
                llm_request.append_tools([one for one in self._own if one.name not in llm_request.tools_dict])
        except Exception as error:  # an agent without them is poorer, and nothing worse
            log("the memory tools could not be offered", error)

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Report what the model put out, once it is whole, and judge the calls that it makes."""
        if llm_response.partial:
            return
        for part in (llm_response.content.parts if llm_response.content else None) or ():
            if part.function_call is not None and not part.function_call.id:
                part.function_call.id = generate_client_function_call_id()  # as the framework would a moment later
        await self._report(callback_context.session, lambda talk: self._said(talk, llm_response))

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        """A run is over: what the owner said is remembered."""
        await self._report(invocation_context.session, lambda talk: talk.ended())

    async def close(self) -> None:
        """Close the keeps that were opened here."""
        if self._keeps is not None:
            self._keeps.close()

    # Calls

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Let a call through with the arguments that were judged, or answer in its place."""
        if self._is_own(tool) or _is_control(tool):
            return None
        call = AgentCall(str(tool_context.function_call_id or id(tool_context)), tool.name, deepcopy(tool_args))
        try:
            talk = await asyncio.to_thread(self._conversation, tool_context.session)
            if isinstance(tool, LoadMemoryTool):
                return _told(talk, {"result": await asyncio.to_thread(talk.recall, call.plain().get("query"))})
            permit = await asyncio.to_thread(_permit, talk, call, tool_context)
        except Exception as error:
            log("a call was denied", error)
            return {"error": FAILED.format(name=call.shown_name, code=code_of(error))}
        if not permit.is_allowed:
            return _refused(talk, permit, tool_context)
        tool_args.clear()
        tool_args.update(permit.arguments)
        running = RunningCall(talk, call, permit, talk.running(call), tool_context)
        running.around.__enter__()  # the tool and what follows it run in this task
        self._running[id(tool_context)] = running
        while len(self._running) > _MOST_RUNNING:
            self._running.popitem(last=False)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> None:
        """Report what a call gave. What this plugin did not let through is reported when the model is shown it."""
        if self._is_own(tool) or _is_control(tool):
            await self._report(tool_context.session, lambda talk: _controlled(talk, tool_context, result))
            return
        running = self._ended(tool_context)
        if running is not None:
            await asyncio.to_thread(_ran, running, tool_args, tool_context, result)

    async def on_tool_error_callback(self, *, tool_context: ToolContext, error: BaseException, **_: Any) -> None:
        """A tool has failed, or was given up; what it said of that may be anybody's words."""
        running = self._ended(tool_context)
        if running is not None and isinstance(error, Exception):
            await asyncio.to_thread(running.conversation.ran, running.call, str(error))

    def _ended(self, tool_context: ToolContext) -> RunningCall | None:
        running = self._running.pop(id(tool_context), None)
        if running is not None:
            with suppress(ValueError):  # it ended in another task, which has nothing to put back
                running.around.__exit__(None, None, None)
        return running

    # Truekeep's own tools

    async def remember_note(self, note: str, tool_context: ToolContext) -> str:
        """Write a short note for later conversations. It is a note of yours, not the user's word."""
        return await self._report(tool_context.session, lambda talk: talk.remember(note)) or "Not noted."

    async def recall_memories(self, question: str, tool_context: ToolContext) -> str:
        """Look up what the user said in earlier conversations."""
        return await self._report(tool_context.session, lambda talk: talk.recall(question)) or "Nothing was found."

    def _is_own(self, tool: BaseTool) -> bool:
        return any(tool is one for one in self._own)

    # Inside

    def _conversation(self, session: Any) -> MediatedConversation:
        app, user = str(session.app_name), str(session.user_id)
        keep = self._keep if self._keeps is None else self._keeps.get(app, user)
        mediator = self._mediators.get((app, user))
        if mediator is None or mediator.keep is not keep:
            mediator = self._mediators[app, user] = Mediator(keep, **self._options)  # type: ignore[arg-type]
        while len(self._mediators) > _MOST_MEDIATORS:
            self._mediators.popitem(last=False)
        name = conversation_name(app, user, str(session.id))
        talk = mediator.conversation(name)
        if name in self._unreported:
            talk.missed("its keep did not open")
            self._unreported.discard(name)
        return talk

    async def _report(self, session: Any, report: Callable[[MediatedConversation], Any]) -> Any:
        return await asyncio.to_thread(self._reported, session, report)

    def _reported(self, session: Any, report: Callable[[MediatedConversation], Any]) -> Any:
        """Make a report; whatever goes wrong in it, something came in that nobody looked at."""
        try:
            talk = self._conversation(session)
        except Exception as error:
            log("a keep did not open", error)
            self._unreported.add(conversation_name(str(session.app_name), str(session.user_id), str(session.id)))
            return None
        try:
            return report(talk)
        except Exception as error:
            talk.missed(error)
            return None

    def _shown(self, talk: MediatedConversation, request: Any, agent: Any, events: Sequence[Any]) -> None:
        for tool in request.config.tools or ():
            if what := runs_elsewhere(tool):
                talk.provider_side(what)
        if getattr(agent, "code_executor", None) is not None:
            talk.provider_side("The code that the model writes", where="in the agent's code executor")
        _prompt(talk, str(request.config.system_instruction or ""), agent)
        tools = [one for one in request.tools_dict.values() if not self._is_own(one) and not _is_control(one)]
        talk.offer([offered(one) for one in tools])
        # Inside a call a sub-agent's first message is what the call was made with, if it is nothing else.
        talk.context(entries_of(request.contents, events), starts=talk.delegation is not None)

    def _said(self, talk: MediatedConversation, response: Any) -> None:
        text, outside = said_in(response.content, response.grounding_metadata)
        talk.said(text, from_outside=outside)
        parts = (response.content.parts if response.content else None) or ()
        calls = [part.function_call for part in parts if part.function_call is not None]
        own = {one.name for one in self._own} | {"load_memory", "transfer_to_agent", "exit_loop", "set_model_response"}
        talk.turn([AgentCall(str(one.id), str(one.name), one.args or {}) for one in calls if one.name not in own])


def _permit(talk: MediatedConversation, call: AgentCall, context: ToolContext) -> CallPermit:
    permit, answer = talk.judge(call), context.tool_confirmation
    if not permit.waits or answer is None or not _was_asked(context, asked_in_words(permit)):
        return permit
    return talk.decided(call, yes=answer.confirmed is True)


def _was_asked(context: ToolContext, question: str) -> bool:
    """Whether the session holds a request for this call's confirmation, in just these words."""
    calls = [call for event in context.session.events for call in event.get_function_calls()]
    asked = [call.args or {} for call in calls if call.name == CONFIRMATION]
    return any(
        one.get("originalFunctionCall", {}).get("id") == context.function_call_id
        and one.get("toolConfirmation", {}).get("hint") == question
        for one in asked
    )


def _refused(talk: MediatedConversation, permit: CallPermit, context: ToolContext) -> dict[str, Any]:
    if permit.waits and context.function_call_id and talk.delegation is None:
        context.request_confirmation(hint=asked_in_words(permit))
        context.actions.skip_summarization = True  # the run stops here until the owner has answered
    return _told(talk, {"error": permit.message})


def _told(talk: MediatedConversation, answer: dict[str, Any]) -> dict[str, Any]:
    talk.told(text_of_response(answer))
    return answer


def _controlled(talk: MediatedConversation, context: ToolContext, result: Any) -> None:
    talk.told(text_of_response(result))
    if context.actions.set_model_response is not None:  # the framework says it in the model's name
        talk.said(json.dumps(context.actions.set_model_response, ensure_ascii=False))


def _ran(running: RunningCall, arguments: Mapping[str, Any], context: ToolContext, result: Any) -> None:
    talk, call = running.conversation, running.call
    try:
        if context.function_call_id in context.actions.requested_tool_confirmations:
            talk.again(call, running.permit)  # the tool itself wants to be confirmed, and has not been carried out yet
            talk.told(text_of_response(result))
            return
        if as_json(dict(arguments)) != as_json(running.permit.arguments):
            talk.missed("arguments were changed after they were judged")
        talk.ran(call, plain_result(result), text_of_response(result))
    except Exception as error:
        talk.missed(error)


def _prompt(talk: MediatedConversation, text: str, agent: Any) -> None:
    """Report an agent's prompt. One whose template takes in what outlives conversations is not the program's alone."""
    templates = [getattr(agent, name, "") for name in ("instruction", "global_instruction")]
    given = " ".join(one for one in templates if isinstance(one, str)).replace(" ", "")
    if any("{" + one in given for one in _LASTING):
        talk.context([ContextEntry(EntryKind.OTHER, text)])
    talk.prompt(text, agent=str(getattr(agent, "name", "")))


def _is_control(tool: BaseTool) -> bool:
    """Whether a tool only says which agent goes on, or gives the answer its form."""
    is_step = isinstance(tool, FunctionTool) and tool.func in (transfer_to_agent, exit_loop)
    return is_step or isinstance(tool, SetModelResponseTool)


def _has_fixed_tools(request: Any) -> bool:
    """Whether further functions cannot be offered beside what the request has."""
    config = request.config
    return bool(config.response_schema or config.response_json_schema or any(map(runs_elsewhere, config.tools or ())))
