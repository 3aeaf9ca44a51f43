"""Pydantic AI: ``Agent(..., capabilities=[TruekeepCapability(keep)])``.

Calls are judged where the toolset carries them out, with the arguments that the tool gets. Only the prompt of a run is
the owner's; whatever else is in the context and was not seen before is foreign. A call that the owner has to confirm
ends the run with ``DeferredToolRequests``, if the agent's ``output_type`` has it, and goes on after
``deferred_tool_results``; otherwise the model is told that the call waits.

Put it last in the list of capabilities, so that what the others put into the context passes it.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from truekeep.adapters.calls import AgentCall, CallPermit, asked_in_words
from truekeep.adapters.mediator import MediatedConversation, Mediator
from truekeep.errors import MissingExtra

try:
    from pydantic_ai import ApprovalRequired, CallDeferred, FunctionToolset, ModelRetry, RunContext, ToolFailed
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelRequest, SystemPromptPart, ToolReturnPart, UserPromptPart
    from pydantic_ai.models import Model
    from pydantic_ai.toolsets import WrapperToolset

    from truekeep.adapters import pydantic_parts as parts
except ImportError:
    raise MissingExtra("pydantic-ai") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.trust.flow.tools import Tool

_SEARCHES_DEFINITIONS = "tool_search"
"""The one tool of providers that brings nothing in: it looks among the definitions of the request itself."""
_MOST_ASKED = 256
"""Calls that wait for an approval; an approval for one that was asked about before all of these is asked for again."""


class TruekeepCapability(AbstractCapability[Any]):
    """Mediates an agent's conversations with a keep.

    ``keep`` is one keep, or a function from a run's context to the keep of the user it is for. A conversation is what
    the framework gives one ``conversation_id``. The other options are the mediator's.
    """

    def __init__(
        self,
        keep: Keep | Callable[[Any], Keep],
        *,
        tools: Iterable[Tool] = (),
        pins: Iterable[str] = (),
        trust_hints: bool = False,
        learn: bool = True,
        memory_tools: bool = True,
    ) -> None:
        self._keep = keep
        self._options: dict[str, Any] = {
            "tools": tuple(tools),
            "pins": tuple(pins),
            "trust_hints": trust_hints,
            "learn": learn,
        }
        self._mediators: dict[int, Mediator] = {}
        self._asked: dict[str, tuple[MediatedConversation, AgentCall]] = {}
        """Calls that the owner was asked about; one that comes without that was approved by nobody."""
        self._origins = parts.ToolOrigins()
        self._memory = FunctionToolset([self.remember_note, self.recall_memories]) if memory_tools else None
        # What follows is one run's.
        self._talk: MediatedConversation | None = None
        self._definitions: dict[str, bool] = {}
        self._own: set[str] = set()
        self._told: set[str] = set()
        self._is_first = False

    # What the framework calls

    async def for_run(self, ctx: Any) -> TruekeepCapability:  # noqa: ARG002
        """A copy for each run: runs of one agent go on at the same time."""
        one = copy.copy(self)
        one._talk, one._definitions, one._own, one._told, one._is_first = None, {}, set(), set(), False
        return one

    def get_toolset(self) -> Any:
        """The two memory tools."""
        return self._memory

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """All tools, each behind the boundary."""
        return GuardedToolset(toolset, self)

    async def wrap_run(self, ctx: Any, *, handler: Callable[[], Awaitable[Any]]) -> Any:
        """When a run is over, however it ended, what the owner said is remembered."""
        try:
            return await handler()
        finally:
            await asyncio.to_thread(self._conversation(ctx).ended)

    async def before_run(self, ctx: Any) -> None:
        """A run starts: its prompt is the owner's, its history only as far as it was seen."""
        self._is_first = not ctx.messages
        await self._reported(ctx, lambda conversation: self._start(conversation, ctx))

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """The model is about to be called: report what it is shown, and show it its memories as data."""
        await self._reported(ctx, lambda conversation: self._report(conversation, ctx, request_context))
        block = await asyncio.to_thread(self._conversation(ctx).memory_block)
        if not block:
            return request_context
        remembered = ModelRequest(parts=[UserPromptPart(block)])
        return replace(request_context, messages=[remembered, *request_context.messages])

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        """The model has answered."""
        outputs = {one.name for one in request_context.model_request_parameters.output_tools}
        await self._reported(ctx, lambda conversation: self._said(conversation, response, outputs | self._own))
        return response

    async def after_tool_validate(self, ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any]) -> dict[str, Any]:
        """A call that the program carries out after the run is judged here; nothing else of it is seen."""
        if tool_def.kind == "external":
            made = AgentCall(call.tool_call_id, call.tool_name, parts.one_spelling(parts.jsonable(args)))
            await self._require(self._conversation(ctx), made, ToolFailed)
        return args

    async def wrap_output_process(
        self, ctx: Any, *, output_context: Any, output: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """An output function is called with what the model wrote, as a tool is."""
        if not output_context.has_function:
            return await handler(output)
        if ctx.partial_output:
            raise ModelRetry("An output function is called with the whole output only.")
        conversation, made = self._conversation(ctx), _output_call(output_context, output)
        await self._require(conversation, made, ModelRetry)
        with conversation.running(made):
            return await handler(output)

    # What the guarded tools call

    def knows(self, tools: Mapping[str, Any]) -> None:
        """The tools of this step, and which of them the program itself defines."""
        for name, tool in tools.items():
            self._definitions[name] = self._origins.is_programs(tool)
            if self._is_own(tool):
                self._own.add(name)

    async def carry_out(
        self, name: str, args: dict[str, Any], ctx: Any, tool: Any, inner: Callable[..., Awaitable[Any]]
    ) -> Any:
        """Carry a call out if it may be, with the arguments that were judged, and report what it gave."""
        if self._is_own(tool):
            return await inner(name, args, ctx, tool)
        conversation = self._conversation(ctx)
        call, args = _call(name, args, ctx, tool)
        permit = await self._permit(conversation, call, is_approved=ctx.tool_call_approved)
        if permit.waits and parts.can_stop(ctx.agent):
            self._ask(conversation, call)
            raise ApprovalRequired({"question": asked_in_words(permit), "ticket": permit.ticket})
        if not permit.is_allowed:
            conversation.told(permit.message)
            return permit.message
        try:
            with conversation.running(call):
                result = await inner(name, args, ctx, tool)
        except (ApprovalRequired, CallDeferred):
            conversation.again(call, permit)  # it stops to be resumed, and has not been carried out yet
            raise
        except Exception as error:
            await asyncio.to_thread(conversation.ran, call, str(error))
            raise
        await self._reported(ctx, lambda conversation: conversation.ran(call, *parts.shown_of(call, result)))
        return result

    async def remember_note(self, ctx: RunContext[Any], note: str) -> str:
        """Write a short note for later conversations. It is a note of yours, not the user's word."""
        return await self._answer(ctx, lambda conversation: conversation.remember(note))

    async def recall_memories(self, ctx: RunContext[Any], question: str) -> str:
        """Look up what the user said in earlier conversations."""
        return await self._answer(ctx, lambda conversation: conversation.recall(question))

    # Inside

    def _conversation(self, ctx: Any) -> MediatedConversation:
        """The conversation of a run; inside a call of another conversation, a sub-agent's."""
        if self._talk is None:
            self._talk = self._mediator(ctx).conversation(ctx.conversation_id)
        return self._talk

    def _mediator(self, ctx: Any) -> Mediator:
        keep = self._keep(ctx) if callable(self._keep) else self._keep
        if id(keep) not in self._mediators:
            self._mediators[id(keep)] = Mediator(keep, **self._options)
        return self._mediators[id(keep)]

    async def _reported(self, ctx: Any, report: Callable[[MediatedConversation], object]) -> None:
        """Make a report; whatever goes wrong in it, something came in that nobody looked at."""
        conversation = self._conversation(ctx)
        try:
            await asyncio.to_thread(report, conversation)
        except Exception as error:
            conversation.missed(error)

    def _start(self, conversation: MediatedConversation, ctx: Any) -> None:
        if not isinstance(ctx.model, Model):
            conversation.provider_side("A realtime session", where="without a hook being shown a word of it")
        history, prompt = list(ctx.messages), []
        if ctx.prompt is not None:
            prompt = [parts.owners(ctx.prompt)]
        elif _ends_with_a_prompt(history):
            prompt = parts.entries_of([history.pop()])
        before = parts.entries_of(history)
        conversation.context(before)  # nothing of it is the owner's, whatever stands at its end
        conversation.context([*before, *prompt], starts=True)

    def _report(self, conversation: MediatedConversation, ctx: Any, request: Any) -> None:
        asked = request.model_request_parameters
        for native in asked.native_tools:
            if native.kind != _SEARCHES_DEFINITIONS:
                conversation.provider_side(str(native.kind))
        agent = str(getattr(ctx.agent, "name", None) or id(ctx.agent))
        conversation.prompt("\n\n".join(part.content for part in asked.instruction_parts or ()), agent=agent)
        conversation.offer(
            [parts.offered(one, from_program=self._definitions.get(one.name, False)) for one in asked.function_tools]
        )
        for message in request.messages:
            for part in message.parts:
                self._known(conversation, part, is_of_run=message.run_id == ctx.run_id)
        conversation.context(parts.entries_of(request.messages))

    def _known(self, conversation: MediatedConversation, part: Any, *, is_of_run: bool) -> None:
        """What the framework wrote in this run, the program's system prompt at its beginning, and a no."""
        if isinstance(part, ToolReturnPart) and part.tool_call_id in self._asked:
            self._turned_down(conversation, part)
        if not is_of_run or not (parts.is_frameworks(part) or (self._is_first and isinstance(part, SystemPromptPart))):
            return
        text = parts.shown_result(part) if isinstance(part, ToolReturnPart) else parts.words_of(part)
        if text not in self._told:
            self._told.add(text)
            conversation.told(text)

    def _turned_down(self, conversation: MediatedConversation, part: Any) -> None:
        """A call that waited has a result without having run: the owner said no."""
        known, call = self._asked.pop(part.tool_call_id)
        if known is conversation and conversation.judge(call).waits:
            conversation.decided(call, yes=False)
            if part.outcome == "denied":
                conversation.told(parts.shown_result(part))

    def _said(self, conversation: MediatedConversation, response: Any, unguarded: set[str]) -> None:
        outside = "\n".join(parts.as_text(part) for part in parts.outside_of(response))
        conversation.said(parts.text_of(response), from_outside=outside)
        calls = [one for one in parts.calls_of([response]).values() if one.tool_name not in unguarded]
        conversation.turn([AgentCall(one.tool_call_id, one.tool_name, parts.one_spelling(one.args)) for one in calls])

    async def _permit(self, conversation: MediatedConversation, call: AgentCall, *, is_approved: bool) -> CallPermit:
        permit = await conversation.judged(call)
        _, asked = self._asked.get(call.id, (None, None))
        if permit.waits and is_approved and asked is not None and asked.mark == call.mark:
            del self._asked[call.id]
            permit = await asyncio.to_thread(lambda: conversation.decided(call, yes=True))
        return permit

    async def _require(
        self, conversation: MediatedConversation, call: AgentCall, refusal: Callable[[str], Exception]
    ) -> None:
        """Refuse a call that no approval of the framework's can hold up."""
        permit = await conversation.judged(call)
        if not permit.is_allowed:
            conversation.told(permit.message)
            raise refusal(permit.message)

    def _ask(self, conversation: MediatedConversation, call: AgentCall) -> None:
        self._asked[call.id] = (conversation, call)
        while len(self._asked) > _MOST_ASKED:
            del self._asked[next(iter(self._asked))]

    def _is_own(self, tool: Any) -> bool:
        return self._memory is not None and parts.source_of(tool).toolset is self._memory

    async def _answer(self, ctx: Any, ask: Callable[[MediatedConversation], str]) -> str:
        conversation = self._mediator(ctx).conversation(ctx.conversation_id)
        text = await asyncio.to_thread(ask, conversation)
        conversation.told(text)
        return text


@dataclass
class GuardedToolset(WrapperToolset[Any]):
    """All tools of a run. Whatever calls one of them, a call passes here."""

    guard: TruekeepCapability

    async def get_tools(self, ctx: Any) -> Any:
        """The tools, noted with where their definitions come from."""
        tools = await self.wrapped.get_tools(ctx)
        self.guard.knows(tools)
        return tools

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Carry a call out if it may be."""
        return await self.guard.carry_out(name, tool_args, ctx, tool, self.wrapped.call_tool)


def _call(name: str, args: dict[str, Any], ctx: Any, tool: Any) -> tuple[AgentCall, dict[str, Any]]:
    """The call as the model wrote it, if that is what the tool is given; else, as the tool is given it."""
    given = parts.jsonable(args)
    written = parts.calls_of(ctx.messages).get(ctx.tool_call_id)
    call = AgentCall(ctx.tool_call_id or "", name, parts.one_spelling(written.args if written else given))
    try:
        fits = parts.validated(tool, call.plain())
    except Exception:  # no JSON: judged so, and denied
        return call, args
    if fits is not None and parts.jsonable(fits) == given:
        return call, fits
    return AgentCall(call.id, name, parts.one_spelling(given)), args


def _output_call(output_context: Any, output: Any) -> AgentCall:
    made, given = output_context.tool_call, parts.jsonable(output)
    name = output_context.function_name or (made.tool_name if made else "output")
    arguments = given if isinstance(given, dict) else {"output": given}
    return AgentCall(made.tool_call_id if made else "", name, parts.one_spelling(arguments))


def _ends_with_a_prompt(messages: list[Any]) -> bool:
    """Whether the program put the owner's prompt at the end of the history; what a run wrote there is no prompt."""
    if not messages or not isinstance(messages[-1], ModelRequest) or messages[-1].run_id is not None:
        return False
    return all(isinstance(part, UserPromptPart | SystemPromptPart) for part in messages[-1].parts)
