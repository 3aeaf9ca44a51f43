"""Microsoft Agent Framework: ``Agent(client=…, tools=…, context_providers=[TruekeepProvider(keep)])``.

The provider sees a run's own messages before anything else is put beside them, so it knows which are the owner's. For
each run it adds the memories, two tools, and a chat and a function middleware of that run's conversation: they stand
innermost, so what other middleware changes passes them. Nothing of a conversation is kept in the provider itself.

A call that the owner has to confirm asks through the framework's own approval, and goes on when the run is resumed with
the same ``AgentSession``. An approval counts only if it answers the question that was asked here. Where a
``ToolApprovalMiddleware`` may answer by a standing rule, and in sub-agents, whose requests nobody sees, the model is
told that the call waits instead.

Results and memories carry the framework's security labels, so that its own policy can use them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from truekeep.adapters.calls import AgentCall, CallPermit, asked_in_words
from truekeep.adapters.mediator import MediatedConversation, Mediator
from truekeep.errors import MissingExtra

try:
    from agent_framework import (
        AgentSession,
        ChatContext,
        ChatMiddleware,
        ChatResponse,
        Content,
        ContextProvider,
        FunctionInvocationContext,
        FunctionMiddleware,
        FunctionTool,
        Message,
        SessionContext,
        ToolApprovalMiddleware,
        UserInputRequiredException,
    )

    from truekeep.adapters.agent_framework_contents import (
        agent_behind,
        calls_in,
        entries_of,
        items_of,
        offered,
        plain_arguments,
        said_in,
        structured,
        text_of_items,
    )
except ImportError:
    raise MissingExtra("agent-framework") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.trust.flow.tools import Tool

LABEL = "security_label"
_FAILED = "Error: Function failed."
_REJECTED = "Error: Tool call invocation was rejected by user."
"""The framework's own words in place of a result."""
_RULES = {"rules", "collected_approval_responses"}
"""What the state of something has that approves by rules."""
_MOST_ASKED = 256
"""Questions that wait in one session; beyond it the oldest is asked again."""


class TruekeepProvider(ContextProvider):
    """Mediates an agent's conversations with a keep.

    ``keep`` is one keep, or a function from a session to the keep of the user it is for. A conversation is an
    ``AgentSession``; without one each run is one. ``from_owner=False`` is for an agent that other agents or a workflow
    talk to: then nothing that it is told is the owner's word. ``tools``, ``pins``, ``trust_hints`` and ``learn`` are
    the mediator's.
    """

    def __init__(
        self,
        keep: Keep | Callable[[AgentSession], Keep],
        *,
        tools: Iterable[Tool] = (),
        pins: Iterable[str] = (),
        trust_hints: bool = False,
        learn: bool = True,
        memory_tools: bool = True,
        from_owner: bool = True,
        source_id: str = "truekeep",
    ) -> None:
        super().__init__(source_id)
        self._keep = keep
        self._options: dict[str, Any] = {
            "tools": tuple(tools),
            "pins": tuple(pins),
            "trust_hints": trust_hints,
            "learn": learn,
        }
        self._memory_tools = memory_tools
        self._from_owner = from_owner
        self._mediators: dict[int, Mediator] = {}

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """A run starts: its own messages are the owner's, and everything that follows passes the run's middleware."""
        conversation = await asyncio.to_thread(self.conversation, session)
        run = MediatedRun(conversation, str(getattr(agent, "name", "") or ""), state, _asks_the_owner(agent, session))
        await asyncio.to_thread(run.starts, list(context.input_messages), from_owner=self._from_owner)
        block = await asyncio.to_thread(conversation.memory_block)
        if block:
            message = Message("user", [Content.from_text(block)], additional_properties={})
            await asyncio.to_thread(run.label, message.contents, private=True)
            message.additional_properties[LABEL] = message.contents[0].additional_properties[LABEL]
            context.extend_messages(self, [message])
        own = _memory_tools(conversation) if self._memory_tools else []
        context.extend_tools(self.source_id, own)
        context.extend_middleware(self.source_id, [GuardedCalls(run, own), ReportedModel(run, own, block)])

    async def after_run(self, *, session: AgentSession, **rest: Any) -> None:  # noqa: ARG002 - the framework gives more
        """A run is over: what the owner said is remembered."""
        conversation = await asyncio.to_thread(self.conversation, session)
        await asyncio.to_thread(conversation.ended)

    def conversation(self, session: AgentSession) -> MediatedConversation:
        """The conversation of a session; inside a call of another one, the sub-agent's."""
        keep = self._keep(session) if callable(self._keep) else self._keep
        mediator = self._mediators.setdefault(id(keep), Mediator(keep, **self._options))
        return mediator.conversation(session.session_id)


class MediatedRun:
    """One run of one conversation. ``state`` is the session's, and outlives the process."""

    def __init__(self, conversation: MediatedConversation, agent: str, state: dict[str, Any], asks_owner: bool) -> None:
        self.conversation = conversation
        self.agent = agent
        self._state = state
        self._asks_owner = asks_owner

    def starts(self, messages: Sequence[Message], *, from_owner: bool) -> None:
        """Report what the run was started with, and take the owner's refusals from it."""
        try:
            self.conversation.context(entries_of(messages), starts=from_owner, is_new=True)
            for message in messages:
                for content in message.contents:
                    if content.type == "function_approval_response" and content.approved is not True:
                        self._turned_down(content)
        except Exception as error:
            self.conversation.missed(error)

    def _turned_down(self, response: Content) -> None:
        made = response.function_call
        if made is None or str(made.call_id) not in self._asked:
            return
        call = AgentCall(str(made.call_id), str(made.name), made.parse_arguments() or {})
        del self._asked[call.id]
        if self.conversation.judge(call).waits:
            self.conversation.decided(call, yes=False)
        self.conversation.told(_REJECTED)

    def permit(self, call: AgentCall, approval: Any) -> CallPermit:
        """The answer to a call. An approval is the owner's yes if it answers the question that was asked about it."""
        permit = self.conversation.judge(call)
        if not permit.waits or getattr(approval, "approved", None) is not True:
            return permit
        if self._asked.pop(call.id, None) != _question(call, permit):
            return permit  # it was given for the call as the framework shows it, or by nobody
        return self.conversation.decided(call, yes=True)

    def request(self, call: AgentCall, permit: CallPermit, context: FunctionInvocationContext) -> Content | None:
        """The framework's request for the owner's approval; nothing if nobody would see it."""
        if not self._asks_owner or self.conversation.delegation is not None:
            return None
        self._asked[call.id] = _question(call, permit)
        while len(self._asked) > _MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        occurrence = context.metadata.get("function_call_occurrence_id")
        made = Content.from_function_call(call.id, call.name, arguments=permit.arguments, id=occurrence)
        request = str(occurrence or call.id)
        # The framework may have asked already, in words of its own; then this is another request for the same call.
        is_second = "approval_response" in context.metadata
        request = f"{request}:replacement:{uuid4().hex}" if is_second else request
        properties = {"_approval_request_id": request, "_replacement_approval_request": is_second}
        properties |= {"reason": asked_in_words(permit), "truekeep_ticket": permit.ticket}
        return Content.from_function_approval_request(request, function_call=made, additional_properties=properties)

    @property
    def _asked(self) -> dict[str, str]:
        """What the owner was asked, by call: a hash of the whole question."""
        asked = self._state.setdefault("asked", {})
        return asked if isinstance(asked, dict) else {}

    def label(self, items: Sequence[Content], *, private: bool) -> None:
        """Write the framework's security label on what comes into the context."""
        integrity = "trusted" if self.conversation.is_clean else "untrusted"
        for one in items:
            one.additional_properties[LABEL] = {
                "integrity": integrity,
                "confidentiality": "private" if private else "public",
            }

    def is_private(self, name: str) -> bool:
        """Whether a tool reads the owner's own systems; while that cannot be known, it might."""
        try:
            return self.conversation.mediator.keep.actions.tool(self.conversation.name, name).own
        except Exception:
            return True


class GuardedCalls(FunctionMiddleware):
    """Carries a call out if it may be, with the arguments that were judged, and reports what it gave."""

    def __init__(self, run: MediatedRun, own: Sequence[FunctionTool]) -> None:
        self._run = run
        self._own = own

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """One call."""
        conversation = self._run.conversation
        if any(context.function is one for one in self._own):
            await call_next()
            await asyncio.to_thread(self._label, context, private=True)
            return
        arguments = plain_arguments(context.function, context.arguments)
        call = AgentCall(str(context.metadata.get("call_id") or ""), context.function.name, arguments)
        permit = await asyncio.to_thread(self._run.permit, call, context.metadata.get("approval_response"))
        if not permit.is_allowed:
            context.result = self._refused(call, permit, context)
            return
        context.arguments = permit.arguments
        try:
            with conversation.running(call):
                await call_next()
        except UserInputRequiredException:
            conversation.again(call, permit)  # it stops to be resumed, and has not been carried out yet
            raise
        except Exception as error:
            await asyncio.to_thread(conversation.ran, call, str(error))
            conversation.told(_FAILED)
            raise
        if plain_arguments(context.function, context.arguments) != permit.arguments:
            conversation.missed("arguments were changed after they were judged")
        await asyncio.to_thread(self._ran, call, context)

    def _refused(self, call: AgentCall, permit: CallPermit, context: FunctionInvocationContext) -> Content | str:
        request = self._run.request(call, permit, context) if permit.waits else None
        if request is not None:
            return request
        self._run.conversation.told(permit.message)
        return permit.message

    def _ran(self, call: AgentCall, context: FunctionInvocationContext) -> None:
        try:
            items = items_of(context.result)
            self._run.conversation.ran(call, structured(items), text_of_items(items))
            self._label(context, private=self._run.is_private(call.name))
        except Exception as error:
            self._run.conversation.missed(error)

    def _label(self, context: FunctionInvocationContext, *, private: bool) -> None:
        items = items_of(context.result)
        self._run.label(items, private=private)
        context.result = items


class ReportedModel(ChatMiddleware):
    """Reports what the model is shown and what it puts out."""

    def __init__(self, run: MediatedRun, own: Sequence[FunctionTool], block: str) -> None:
        self._run = run
        self._own = {tool.name for tool in own}
        self._block = block

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """One call of the model; a streamed answer is reported when it is whole."""
        options: Mapping[str, Any] = context.options or {}
        tools = {tool.name: tool for tool in options.get("tools") or () if isinstance(tool, FunctionTool)}
        await asyncio.to_thread(self._reported, lambda: self._shown(context, options, tools))

        async def report(response: ChatResponse) -> None:
            await asyncio.to_thread(self._reported, lambda: self._said(response, tools))

        context.stream_result_hooks.append(report)
        await call_next()
        if isinstance(context.result, ChatResponse):
            await report(context.result)

    def _reported(self, report: Callable[[], object]) -> None:
        try:
            report()
        except Exception as error:
            self._run.conversation.missed(error)

    def _shown(self, context: ChatContext, options: Mapping[str, Any], tools: Mapping[str, FunctionTool]) -> None:
        conversation = self._run.conversation
        for tool in options.get("tools") or ():
            _notice(conversation, tool)
        if tools and not (getattr(context.client, "function_invocation_configuration", None) or {}).get(
            "enabled", True
        ):
            conversation.provider_side("Every call", where="in the program around the agent")
        conversation.prompt(str(options.get("instructions") or ""), agent=self._run.agent)
        conversation.offer([offered(tool) for name, tool in tools.items() if name not in self._own])
        shown = [one for one in context.messages if one.text != self._block or not self._block]
        conversation.context(entries_of(shown))

    def _said(self, response: ChatResponse, tools: Mapping[str, FunctionTool]) -> None:
        contents = [content for message in response.messages for content in message.contents]
        text, outside = said_in(contents)
        self._run.conversation.said(text, from_outside=outside)
        self._run.conversation.turn([call for call in calls_in(contents, tools) if call.name not in self._own])


def _notice(conversation: MediatedConversation, tool: Any) -> None:
    """Say so if a tool's calls do not pass the guard."""
    if not isinstance(tool, FunctionTool):
        name = tool.get("name") or tool.get("type") if isinstance(tool, Mapping) else getattr(tool, "name", None)
        conversation.provider_side(str(name or "A tool"))
    elif tool.declaration_only:
        conversation.provider_side(f"'{tool.name}'", where="in the program around the agent")
    elif (agent := agent_behind(tool)) is not None and not _is_protected(agent):
        conversation.provider_side(f"The unprotected agent behind '{tool.name}'", where="beside this one")


def _is_protected(agent: Any) -> bool:
    return any(isinstance(one, TruekeepProvider) for one in getattr(agent, "context_providers", ()))


def _asks_the_owner(agent: Any, session: AgentSession) -> bool:
    """Whether an approval would be the owner's: a ``ToolApprovalMiddleware`` may give it by a rule instead.

    One that is given to a single run is known by what it keeps in the session.
    """
    pipeline = getattr(agent, "_cached_agent_middleware_pipeline", None)
    around = [*(getattr(agent, "middleware", None) or ()), *getattr(pipeline, "_middleware", ())]
    kept = [set(one) if isinstance(one, Mapping) else set(dir(one)) for one in session.state.values()]
    return not any(isinstance(one, ToolApprovalMiddleware) for one in around) and not any(_RULES & one for one in kept)


def _question(call: AgentCall, permit: CallPermit) -> str:
    return hashlib.sha256(f"{call.mark}\n{asked_in_words(permit)}".encode(errors="replace")).hexdigest()


def _memory_tools(conversation: MediatedConversation) -> list[FunctionTool]:
    async def remember_note(note: str) -> str:
        """Write a short note for later conversations. It is a note of yours, not the user's word."""
        text = await asyncio.to_thread(conversation.remember, note)
        conversation.told(text)
        return text

    async def recall_memories(question: str) -> str:
        """Look up what the user said in earlier conversations."""
        return await asyncio.to_thread(conversation.recall, question)

    return [
        FunctionTool(name=one.__name__, description=one.__doc__ or "", func=one)
        for one in (remember_note, recall_memories)
    ]
