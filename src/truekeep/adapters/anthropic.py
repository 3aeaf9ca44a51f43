"""Anthropic's SDK: ``tool_runner(client, keep, conversation="a", model=…, messages=…, tools=[…])``.

It is the SDK's own tool runner with truekeep around it. Each request is looked at on its way out, for what is new in
its messages, tools and system prompt, and gets the memories as a message of its own. Each tool is behind the boundary.
Tools that run at Anthropic (any definition that is no function of the program's) are noticed. A call that the owner
has to confirm is put to ``ask``; without it the model is told that the call waits.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from truekeep.adapters.anthropic_memory import TruekeepAsyncMemoryTool, TruekeepMemoryTool
from truekeep.adapters.calls import AgentCall, CallPermit, ContextEntry, EntryKind, OfferedTool, as_json, asked_in_words
from truekeep.adapters.mediator import MediatedConversation, Mediator
from truekeep.errors import InvalidRequest, MissingExtra

try:
    from anthropic import AsyncAnthropic, Middleware
    from anthropic.lib.tools import BetaAsyncFunctionTool, BetaFunctionTool, ToolError
except ImportError:
    raise MissingExtra("anthropic") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.trust.flow.tools import Tool

__all__ = ["ProtectedRunner", "TruekeepAsyncMemoryTool", "TruekeepMemoryTool", "tool_runner"]

_OWN_BLOCKS = frozenset({"text", "tool_use", "thinking", "redacted_thinking"})
Ask = Callable[[str], Any]


def tool_runner(
    client: Any,
    keep: Keep,
    *,
    conversation: str | None = None,
    declared: Iterable[Tool] = (),
    pins: Iterable[str] = (),
    learn: bool = True,
    ask: Ask | None = None,
    tools: Iterable[Any] = (),
    **params: Any,
) -> ProtectedRunner:
    """The SDK's tool runner for one conversation, mediated. ``params`` are those of ``beta.messages.tool_runner``.

    ``declared`` is what the operator says of the tools, ``pins`` are hashes of definitions that come from elsewhere.
    ``ask`` is given the question in words and says whether the owner said yes; for an awaited client it may be awaited.
    """
    mediator = Mediator(keep, tools=declared, pins=pins, learn=learn)
    talk = mediator.conversation(conversation)
    guard = ToolGuard(talk, ask)
    wrapped = [guard.wrapped(tool) for tool in tools]
    protected = client.with_middleware(RequestReports(talk, guard))
    params["thread"] = False  # the whole history is sent each time, so that all of it is looked at
    return ProtectedRunner(protected.beta.messages.tool_runner(tools=wrapped, **params), guard)


class ToolGuard:
    """The boundary before the tools of one conversation."""

    def __init__(self, talk: MediatedConversation, ask: Ask | None) -> None:
        self.talk = talk
        self._ask = ask
        self.offered: dict[str, OfferedTool] = {}
        self.own: set[str] = set()
        self._due: list[AgentCall] = []
        self._lock = threading.Lock()

    def wrapped(self, tool: Any) -> Any:
        """The same tool behind the boundary. What truekeep cannot stand before is refused."""
        if isinstance(tool, TruekeepMemoryTool | TruekeepAsyncMemoryTool):
            bound = copy(tool)
            bound.commands = copy(tool.commands)
            bound.commands.conversation = self.talk
            self.own.add("memory")
            self._after(bound)
            return bound
        if isinstance(tool, Mapping):
            return tool  # a definition: it runs at the provider, which is noticed when it is sent
        if not isinstance(tool, BetaFunctionTool | BetaAsyncFunctionTool):
            raise InvalidRequest(
                "This tool cannot be guarded.", code="tool_not_guardable", hint="Put what it does into a function tool."
            )
        self.offered[tool.name] = OfferedTool(tool.name, tool.description, tool.input_schema, _is_programs(tool))
        bound = copy(tool)
        inner = tool.call
        bound.call = (
            (lambda given: self._awaited(tool.name, given, inner))
            if isinstance(tool, BetaAsyncFunctionTool)
            else (lambda given: self._called(tool.name, given, inner))
        )
        return bound

    def _after(self, tool: Any) -> None:
        """Say of each answer of the memory tool's that it is known; what in it is foreign was reported already."""
        inner = tool.call
        if isinstance(tool, TruekeepMemoryTool):

            def call(given: object) -> Any:
                return self._told(lambda: inner(given))

            tool.call = call
            return

        async def awaited(given: object) -> Any:
            try:
                text = await inner(given)
            except ToolError as error:
                self.talk.told(str(error))
                raise
            self.talk.told(text)
            return text

        tool.call = awaited

    def _told(self, step: Callable[[], Any]) -> Any:
        try:
            text = step()
        except ToolError as error:
            self.talk.told(str(error))
            raise
        self.talk.told(text)
        return text

    def answered(self, message: Any) -> None:
        """The model has answered: its words, what the provider put beside them, and the calls of this turn."""
        try:
            texts = [block.text for block in message.content if block.type == "text"]
            outside = [str(block) for block in message.content if block.type not in _OWN_BLOCKS]
            self.talk.said("\n".join(texts), from_outside="\n".join(outside))
            calls = [AgentCall(one.id, one.name, one.input) for one in message.content if one.type == "tool_use"]
            with self._lock:
                self._due = [call for call in calls if call.name not in self.own]
            self.talk.turn(self._due)
        except Exception as error:
            self.talk.missed(error)

    def _call(self, name: str, given: object) -> AgentCall:
        """The call that is made: one of this turn's, else one that nobody announced, and that is judged now."""
        with self._lock:
            for call in self._due:
                if call.name == name and as_json(call.arguments) == as_json(given):
                    self._due.remove(call)
                    return call
        return AgentCall(uuid4().hex, name, given)

    def _called(self, name: str, given: object, inner: Callable[[object], Any]) -> Any:
        call = self._call(name, given)
        permit = self.talk.judge(call)
        if permit.waits and self._ask is not None:
            permit = self.talk.decided(call, yes=self._ask(asked_in_words(permit)) is True)
        self._require(permit)
        try:
            with self.talk.running(call):
                result = inner(permit.arguments)
                result = result if isinstance(result, str) else list(result)
        except Exception as error:
            self.talk.ran(call, *_failure(error))
            raise
        self.talk.ran(call, _plain(result), _shown(result))
        return result

    async def _awaited(self, name: str, given: object, inner: Callable[[object], Any]) -> Any:
        call = self._call(name, given)
        permit = await self.talk.judged(call)
        if permit.waits and self._ask is not None:
            said = self._ask(asked_in_words(permit))
            yes = (await said if inspect.isawaitable(said) else said) is True
            permit = await asyncio.to_thread(lambda: self.talk.decided(call, yes=yes))
        self._require(permit)
        try:
            with self.talk.running(call):
                result = await inner(permit.arguments)
                result = result if isinstance(result, str) else list(result)
        except Exception as error:
            await asyncio.to_thread(self.talk.ran, call, *_failure(error))
            raise
        await asyncio.to_thread(self.talk.ran, call, _plain(result), _shown(result))
        return result

    def _require(self, permit: CallPermit) -> None:
        if not permit.is_allowed:
            self.talk.told(permit.message)
            raise ToolError(permit.message)


class RequestReports(Middleware):  # type: ignore[misc] # Any where the SDK is not installed
    """Reports what each request shows the model, and adds the memories to it."""

    def __init__(self, talk: MediatedConversation, guard: ToolGuard) -> None:
        self._talk = talk
        self._guard = guard
        self._starts = True

    def handle(self, request: Any, call_next: Any) -> Any:
        """For a blocking client."""
        return call_next(self._shown(request))

    async def handle_async(self, request: Any, call_next: Any) -> Any:
        """For an awaited one."""
        return await call_next(await asyncio.to_thread(self._shown, request))

    def _shown(self, request: Any) -> Any:
        body = request.json
        if not isinstance(body, Mapping) or "messages" not in body or request.retries_taken:
            return request
        try:
            self._report(body)
        except Exception as error:
            self._talk.missed(error)
        block = self._talk.memory_block()
        if not block:
            return request
        return request.copy(body={**body, "messages": [{"role": "user", "content": block}, *body["messages"]]})

    def _report(self, body: Mapping[str, Any]) -> None:
        for tool in body.get("tools") or ():
            known = self._guard.offered.get(str(tool.get("name")))
            if known is not None and "description" in tool:
                self._talk.offer([known])
            elif tool.get("name") not in self._guard.own:
                self._talk.provider_side(str(tool.get("type") or tool.get("name") or "A tool"))
        if body.get("mcp_servers"):
            self._talk.provider_side("An MCP server")
        self._talk.prompt(_text(body.get("system") or ""))
        entries = [one for message in body["messages"] for one in _entries(message)]
        self._talk.context(entries, starts=self._starts)
        self._starts = False


class ProtectedRunner:
    """The SDK's runner. Iterate over it (``for`` or ``async for``), or have it run to the end with ``until_done``."""

    def __init__(self, runner: Any, guard: ToolGuard) -> None:
        self.runner = runner
        self._guard = guard

    def __iter__(self) -> Iterator[Any]:
        """What the SDK's runner gives, reported before its tools run."""
        for item in self.runner:
            yield item
            self._guard.answered(item if hasattr(item, "content") else item.get_final_message())
        self._guard.talk.ended()

    async def __aiter__(self) -> AsyncIterator[Any]:
        """As ``__iter__``."""
        async for item in self.runner:
            yield item
            message = item if hasattr(item, "content") else await item.get_final_message()
            await asyncio.to_thread(self._guard.answered, message)
        await asyncio.to_thread(self._guard.talk.ended)

    def until_done(self) -> Any:
        """Run to the end and give the last message; of an awaited client it is awaited."""
        if isinstance(self.runner._client, AsyncAnthropic):
            return self._awaited_end()
        for _ in self:
            pass
        return self.runner.until_done()

    async def _awaited_end(self) -> Any:
        async for _ in self:
            pass
        return await self.runner.until_done()


def _entries(message: Mapping[str, Any]) -> list[ContextEntry]:
    """The parts of a message: a message of the user's may hold results of tools beside what the user said."""
    content, role = message["content"], message["role"]
    blocks: Sequence[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    blocks = [one if isinstance(one, Mapping) else one.model_dump() for one in blocks]
    results = [one for one in blocks if one.get("type") == "tool_result"]
    rest = [one for one in blocks if one.get("type") != "tool_result"]
    found = [ContextEntry(EntryKind.RESULT, _text(one.get("content") or "")) for one in results]
    texts = [str(one["text"]) for one in rest if one.get("type") == "text"]
    others = [f"[{one.get('type')}]" for one in rest if one.get("type") not in _OWN_BLOCKS]
    if role == "assistant" and (texts or others):
        found.append(ContextEntry(EntryKind.AGENT, "\n".join([*texts, *others])))
    elif rest and role != "assistant":
        kind = EntryKind.OWNER if role == "user" else EntryKind.OTHER
        found.append(ContextEntry(kind, "\n".join(texts), attached=tuple(others)))
    return found


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(one.get("text") or f"[{one.get('type')}]") for one in content)


def _plain(result: Any) -> Any:
    return result if isinstance(result, str) else _text(result)


def _shown(result: Any) -> str:
    return str(_plain(result))


def _failure(error: Exception) -> tuple[str, str]:
    """What the model is shown of an error: as the SDK words it."""
    text = str(error) if isinstance(error, ToolError) else repr(error)
    return text, text


def _is_programs(tool: Any) -> bool:
    """Whether a description stands in the program: as the docstring of the tool's function."""
    written = " ".join((tool.func.__doc__ or "").split())
    wanted = " ".join(tool.description.split())
    return bool(wanted) and wanted in written
