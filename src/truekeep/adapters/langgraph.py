"""LangChain and LangGraph: ``create_agent(..., middleware=[TruekeepMiddleware(keep)])``.

What the framework does not show a middleware is the program's: the system prompt that ``create_agent`` was given, and
tools that are Python functions described by their own docstrings. Everything else that enters the context is reported.
A call that the owner has to confirm interrupts the graph in the shape that LangChain's own approval has, if there is a
checkpointer to resume from; without one the model is told that the call waits.

Put it last in the list of middleware, so that what the others put into the context passes it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from truekeep.adapters.calls import AgentCall, CallPermit, ContextEntry, EntryKind, OfferedTool, asked_in_words
from truekeep.adapters.mediator import MediatedConversation, Mediator
from truekeep.errors import MissingExtra

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import ModelRequest, ModelResponse, PrivateStateAttr
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command, interrupt
except ImportError:
    raise MissingExtra("langgraph") from None

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from truekeep.keep import Keep
    from truekeep.trust.flow.tools import Tool

_SESSION = "truekeep_session"
_CHECKPOINTER = "__pregel_checkpointer"
_SUMMARY = "summarization"
_MOST_DEFINITIONS = 1_024
"""Definitions that are kept at hand; one more is put together again."""
NOTE, RECALL = "remember_note", "recall_memories"


class ProtectedState(AgentState[Any]):
    """The agent's state, with the name of its session; callers can neither set nor see it."""

    truekeep_session: NotRequired[Annotated[str, PrivateStateAttr]]


class TruekeepMiddleware(AgentMiddleware[ProtectedState, Any, Any]):
    """Mediates an agent's conversations with a keep.

    ``keep`` is one keep, or a function from a run's configuration to the keep of the user it is for. A conversation is
    a thread; without a thread each run is one. ``tools``, ``pins``, ``trust_hints`` and ``learn`` are the mediator's.
    """

    state_schema = ProtectedState

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
        super().__init__()
        self._keep = keep
        self._options: dict[str, Any] = {
            "tools": tuple(tools),
            "pins": tuple(pins),
            "trust_hints": trust_hints,
            "learn": learn,
        }
        self._mediators: dict[int, Mediator] = {}
        self._definitions = ToolDefinitions()
        self.tools = _memory_tools() if memory_tools else []

    # What the framework calls; each has a twin that is awaited, and does the same in a thread.

    def before_agent(self, state: ProtectedState, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ARG002
        """A run starts: what stands at the end of its messages is the owner's."""
        conversation = self._conversation(state)
        _reported(conversation, lambda: conversation.context(_entries(state["messages"]), starts=True))
        return {_SESSION: conversation.name}

    async def abefore_agent(self, state: ProtectedState, runtime: Runtime[Any]) -> dict[str, Any]:
        """As ``before_agent``."""
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the model its memories, and report what it puts out."""
        conversation = self._conversation(request.state)
        response = handler(self._shown(conversation, request))
        _reported(conversation, lambda: self._said(conversation, response.result))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """As ``wrap_model_call``."""
        conversation = self._conversation(request.state)
        response = await handler(await asyncio.to_thread(self._shown, conversation, request))
        await asyncio.to_thread(_reported, conversation, lambda: self._said(conversation, response.result))
        return response

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Carry a call out if it may be, with the arguments that were judged, and report what it gave."""
        conversation, call = self._conversation(request.state), _call(request.tool_call)
        if (own := self._own(conversation, call, request)) is not None:
            return own
        permit = _answered(conversation, call, conversation.judge(call), request)
        if not permit.is_allowed:
            return _refusal(conversation, call, permit)
        try:
            with conversation.running(call):
                result = handler(_judged(request, permit))
        except GraphBubbleUp:
            conversation.again(call, permit)  # it stops to be resumed, and has not been carried out yet
            raise
        except Exception as error:
            conversation.ran(call, str(error))
            raise
        _reported(conversation, lambda: _ran(conversation, call, result))
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """As ``wrap_tool_call``."""
        conversation, call = self._conversation(request.state), _call(request.tool_call)
        if (own := await asyncio.to_thread(self._own, conversation, call, request)) is not None:
            return own
        permit = _answered(conversation, call, await conversation.judged(call), request)
        if not permit.is_allowed:
            return _refusal(conversation, call, permit)
        try:
            with conversation.running(call):
                result = await handler(_judged(request, permit))
        except GraphBubbleUp:
            conversation.again(call, permit)
            raise
        except Exception as error:
            await asyncio.to_thread(conversation.ran, call, str(error))
            raise
        await asyncio.to_thread(_reported, conversation, lambda: _ran(conversation, call, result))
        return result

    def after_agent(self, state: ProtectedState, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """A run is over: what the owner said is remembered."""
        self._conversation(state).ended()

    async def aafter_agent(self, state: ProtectedState, runtime: Runtime[Any]) -> None:
        """As ``after_agent``."""
        await asyncio.to_thread(self.after_agent, state, runtime)

    # Inside

    def conversation(self, thread_id: str) -> MediatedConversation:
        """The conversation of a thread, for a program that wants to look at it."""
        return self._mediator(get_config() if callable(self._keep) else None).conversation(thread_id)

    def _conversation(self, state: Any) -> MediatedConversation:
        config = get_config()
        known = state.get(_SESSION) if isinstance(state, dict) else None
        thread = config.get("configurable", {}).get("thread_id")
        name = str(thread) if thread else known
        parent = known if known and name != known else None
        return self._mediator(config).conversation(name, parent=parent)

    def _mediator(self, config: Any) -> Mediator:
        keep = self._keep(config) if callable(self._keep) else self._keep
        if id(keep) not in self._mediators:
            self._mediators[id(keep)] = Mediator(keep, **self._options)
        return self._mediators[id(keep)]

    def _shown(self, conversation: MediatedConversation, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """The request with the memories as a message of its own, which is data and not the system's word."""
        _reported(conversation, lambda: self._offer(conversation, request))
        _reported(conversation, lambda: _take_in(conversation, request.messages))
        block = conversation.memory_block()
        return request.override(messages=[HumanMessage(block), *request.messages]) if block else request

    def _offer(self, conversation: MediatedConversation, request: ModelRequest[Any]) -> None:
        for tool in request.tools:
            if isinstance(tool, dict) and tool.get("type") != "function" and "name" not in tool.get("function", {}):
                conversation.provider_side(str(tool.get("type") or tool.get("name") or "A tool"))
        conversation.prompt(request.system_prompt or "")
        conversation.offer([self._definitions.of(tool) for tool in request.tools if isinstance(tool, BaseTool)])

    def _said(self, conversation: MediatedConversation, messages: Sequence[Any]) -> None:
        for message in messages:
            if isinstance(message, AIMessage):
                conversation.said(_text(message.content), from_outside=_from_outside(message))
                calls = [_call(one) for one in message.tool_calls]
                conversation.turn([call for call in calls if call.name not in (NOTE, RECALL) or not self.tools])
            else:
                conversation.told(_text(message.content))

    def _own(self, conversation: MediatedConversation, call: AgentCall, request: ToolCallRequest) -> ToolMessage | None:
        """The answer of one of truekeep's own tools, which need no guard."""
        if not any(request.tool is one for one in self.tools):
            return None
        arguments = request.tool_call["args"]
        text = (
            conversation.recall(arguments.get("question"))
            if call.name == RECALL
            else conversation.remember(arguments.get("note"))
        )
        conversation.told(text)
        return ToolMessage(text, tool_call_id=call.id, name=call.name)


class ToolDefinitions:
    """Tools as the model is shown them, put together once: the framework offers the same objects at every call."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[BaseTool, tuple[Any, ...], OfferedTool]] = OrderedDict()

    def of(self, tool: BaseTool) -> OfferedTool:
        """The definition; put together anew if the tool is another one, or was given other words."""
        words = (tool.name, tool.description, str(tool.metadata), tool.args_schema)
        known = self._known.get(id(tool))  # the tool is held as well, so that no other one gets its number
        if known is not None and known[0] is tool and known[1] == words and not isinstance(tool.args_schema, dict):
            return known[2]
        made = _offered(tool)
        self._known[id(tool)] = (tool, words, made)
        while len(self._known) > _MOST_DEFINITIONS:
            self._known.popitem(last=False)
        return made


def _memory_tools() -> list[BaseTool]:
    def remember_note(note: str) -> str:
        """Write a short note for later conversations. It is a note of yours, not the user's word."""
        return note

    def recall_memories(question: str) -> str:
        """Look up what the user said in earlier conversations."""
        return question

    return [StructuredTool.from_function(remember_note), StructuredTool.from_function(recall_memories)]


def _reported(conversation: MediatedConversation, report: Callable[[], object]) -> None:
    """Make a report; whatever goes wrong in it, something came in that nobody looked at."""
    try:
        report()
    except Exception as error:
        conversation.missed(error)


def _take_in(conversation: MediatedConversation, messages: Sequence[Any]) -> None:
    for message in messages:
        if _is_summary(message):
            conversation.stands_for_earlier(_entry(message))
    conversation.context(_entries(messages))


def _is_summary(message: Any) -> bool:
    """Whether it stands for earlier messages: a model wrote it, though the framework shows it as a user's."""
    return isinstance(message, HumanMessage) and message.additional_kwargs.get("lc_source") == _SUMMARY


def _call(tool_call: Any) -> AgentCall:
    return AgentCall(str(tool_call.get("id") or ""), tool_call["name"], tool_call["args"])


def _judged(request: ToolCallRequest, permit: CallPermit) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": permit.arguments})


def _answered(
    conversation: MediatedConversation, call: AgentCall, permit: CallPermit, request: ToolCallRequest
) -> CallPermit:
    """The permit after the owner was asked, if there is a way to ask: the run stops here until it is resumed."""
    if not permit.waits or not request.runtime.config.get("configurable", {}).get(_CHECKPOINTER):
        return permit
    action = {"name": call.name, "args": permit.arguments, "description": asked_in_words(permit)}
    review = {"action_name": call.name, "allowed_decisions": ["approve", "reject"]}
    answer = interrupt({"action_requests": [action], "review_configs": [review]})
    return conversation.decided(call, yes=_is_yes(answer))


def _is_yes(answer: Any) -> bool:
    """Whether an answer is a plain yes. Whatever else it is, it is a no."""
    if isinstance(answer, dict) and "decisions" in answer:
        answer = answer["decisions"]
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    return answer is True or (isinstance(answer, dict) and answer.get("type") == "approve")


def _refusal(conversation: MediatedConversation, call: AgentCall, permit: CallPermit) -> ToolMessage:
    conversation.told(permit.message)
    return ToolMessage(permit.message, tool_call_id=call.id, name=call.shown_name, status="error")


def _ran(conversation: MediatedConversation, call: AgentCall, result: ToolMessage | Command[Any]) -> None:
    if isinstance(result, ToolMessage):
        conversation.ran(call, _text(result.content))
        return
    # A command writes into the state; its messages come into the context, the rest may.
    update = cast("Any", result).update
    messages = update.get("messages", []) if isinstance(update, dict) else []
    texts = [_text(one.content) for one in messages if isinstance(one, ToolMessage)]
    conversation.ran(call, "\n".join(texts) or str(update or ""), texts[0] if len(texts) == 1 else None)
    for text in texts if len(texts) > 1 else ():
        conversation.told(text)


def _entries(messages: Sequence[Any]) -> list[ContextEntry]:
    return [_entry(message) for message in messages]


def _entry(message: AnyMessage) -> ContextEntry:
    if isinstance(message, HumanMessage) and not _is_summary(message):
        attached = tuple(_blocks(message.content, texts=False))
        return ContextEntry(EntryKind.OWNER, "\n".join(_blocks(message.content, texts=True)), attached=attached)
    if isinstance(message, AIMessage | HumanMessage):
        return ContextEntry(EntryKind.AGENT, _text(message.content))
    kind = EntryKind.RESULT if isinstance(message, ToolMessage) else EntryKind.OTHER
    return ContextEntry(kind, _text(message.content), tool=str(message.name or ""))


def _text(content: Any) -> str:
    """Everything of a message's content as text; what is no text is named by its kind."""
    return "\n".join([*_blocks(content, texts=True), *_blocks(content, texts=False)])


def _blocks(content: Any, *, texts: bool) -> list[str]:
    found = [content] if isinstance(content, str) else content if isinstance(content, list) else [str(content)]
    as_text = [_of_block(block) for block in found]
    return [text for is_text, text in as_text if is_text is texts and text]


def _of_block(block: Any) -> tuple[bool, str]:
    if isinstance(block, str):
        return True, block
    if isinstance(block, dict) and isinstance(block.get("text"), str) and block.get("type") in ("text", "output_text"):
        return True, block["text"]
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in ("reasoning", "thinking", "tool_use", "tool_call", "function_call", "input_json_delta"):
        return True, ""  # the model's own, or a call that is judged when it is made
    return False, f"[{kind or 'content'}]"


def _from_outside(message: AIMessage) -> str:
    """What of a model's answer the provider put there: results of tools that it ran itself."""
    return "\n".join(str(block) for block in message.content if not isinstance(block, str) and not _of_block(block)[0])


def _offered(tool: BaseTool) -> OfferedTool:
    function = convert_to_openai_tool(tool)["function"]
    hints = (tool.metadata or {}).get("annotations") or tool.metadata or {}
    reads = hints.get("readOnlyHint") if isinstance(hints, dict) else None
    description = function.get("description", "")
    return OfferedTool(
        tool.name, description, function.get("parameters", {}), _is_programs(tool), reads if reads is True else None
    )


def _is_programs(tool: BaseTool) -> bool:
    """Whether a tool's description stands in the program: as its function's docstring, or in its own class."""
    wanted = " ".join(tool.description.split())
    if isinstance(tool, StructuredTool):
        written = inspect.getdoc(tool.func or tool.coroutine) or ""
        return bool(wanted) and wanted in " ".join(written.split())
    declared = type(tool).model_fields.get("description")
    return declared is not None and declared.default == tool.description
