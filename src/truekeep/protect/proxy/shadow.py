"""What the proxy would have done: each message that passes is judged, and what comes of it is only counted.

The gate, the act boundary, the pins and the marks are the ones that the proxy enforces with. What passes a write's gate
is remembered, so that enforcing later begins with an origin for it; a call is weighed, and leaves neither a ticket nor
a question behind.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, Tool
from pydantic import ValidationError

from truekeep.adapters.calls import AgentCall
from truekeep.adapters.mediator import Mediator
from truekeep.errors import TruekeepError
from truekeep.protect.proxy.held import HeldTools
from truekeep.protect.proxy.maps import MappedTool, MemoryMap, TooDeep
from truekeep.protect.proxy.marking import Marker
from truekeep.protect.proxy.server import UNMEDIATED, declared_tool
from truekeep.protect.proxy.upstream import MOST_TOOLS, ServerAnswer, ServerRefused, answer_of, definition_of
from truekeep.protect.proxy.writes import admitted
from truekeep.trust.flow.decide import Answer
from truekeep.types import Decision

if TYPE_CHECKING:
    from truekeep.keep import Keep

_MOST_OPEN = 1_000
"""Calls without an answer that are remembered; a client that opens more has the oldest forgotten."""
_ASKED_BACK = ("sampling/", "elicitation/", "roots/")
_NOT_OFFERED = ("resources/", "prompts/", "completion/")
_LONGEST_ID, _LONGEST_NAME = 200, 200
"""A call with a longer id or name is judged, and its answer is not looked at for it."""
_COUNTED = {Answer.DENY: "call_denied", Answer.CONFIRM: "call_asked"}
_PLAIN = frozenset({"calls", "reads", "writes"})
_LAZILY = 200


class ShadowWatch:
    """Judges what passes between a client and one server."""

    def __init__(
        self,
        keep: Keep,
        session: str,
        server: str,
        *,
        memory: MemoryMap | None = None,
        trust: bool = False,
        first_use: bool = True,
    ) -> None:
        self._keep = keep
        self._server = server
        self._memory = memory
        self._held = HeldTools(keep, server, first_use=first_use)
        self._marker = Marker(keep, server)
        self._conversation = Mediator(keep, trust_hints=trust, learn=False).conversation(session)
        self._conversation.unmediated = UNMEDIATED
        self._open: dict[str, tuple[str, str]] = {}
        self._listed: dict[str, dict[str, Any]] = {}
        self._offered: set[str] | None = None
        self._known_held: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()

    def look(self, line: bytes, *, is_servers: bool) -> None:
        """Look at one line of either side's."""
        if not line.strip():
            return
        try:
            for message in _messages(line):
                (self._came if is_servers else self._sent)(message)
        except (ValueError, TypeError, RecursionError):
            self._note("answer_refused" if is_servers else "request_refused", "unreadable")
        self.flush(lazily=True)

    def missed(self, what: str) -> None:
        """Something was not looked at."""
        self._counts[what] += 1

    def close(self) -> None:
        """Write down what was counted, and let go of the keep."""
        self.flush()
        self._keep.close()

    def flush(self, *, lazily: bool = False) -> None:
        """Write the counts down; lazily only if there is something in them that would have been stopped."""
        self._counts += self._marker.seen
        self._marker.seen.clear()
        if self._counts and (not lazily or self._counts.keys() - _PLAIN or self._counts.total() >= _LAZILY):
            self._keep.entries.count(f"mcp:{self._server}", "shadow", self._counts, self._reasons)
            self._counts, self._reasons = Counter(), Counter()

    # What the client sends

    def _sent(self, message: Mapping[str, Any]) -> None:
        method, given = message.get("method"), message.get("params")
        params: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        if not isinstance(method, str) or "id" not in message:
            return
        self._opened(_id(message), method, str(params.get("name", "")))
        if method == "tools/call":
            self._call(params)
        elif method == "tools/list" and not params.get("cursor"):
            self._listed = {}
        elif method.startswith(_NOT_OFFERED):
            self._note("request_refused", "not_offered")

    def _opened(self, number: str, method: str, tool: str) -> None:
        """Remember what an answer will be about."""
        if len(number) > _LONGEST_ID or len(tool) > _LONGEST_NAME or method not in ("tools/call", "tools/list"):
            return
        while len(self._open) >= _MOST_OPEN:
            del self._open[next(iter(self._open))]
        self._open[number] = (method, tool)

    def _call(self, params: Mapping[str, Any]) -> None:
        self._counts["calls"] += 1
        call = AgentCall("", str(params.get("name", "")), params.get("arguments") or {})
        try:
            arguments = call.plain()
            if self._offered is not None and call.name not in self._offered:
                self._note("call_denied", "tool_held" if self._held.is_held(call.name) else "unknown_tool")
                return
            mapped = self._memory.tools.get(call.name) if self._memory else None
            if mapped is not None and mapped.does == "write":
                self._write(mapped, arguments)
                return
            judged = self._keep.actions.weigh(self._conversation.name, call.name, arguments)
        except TooDeep:
            self._note("call_denied", "too_deep")
        except TruekeepError as error:
            self._note("call_denied", error.code)
        else:
            if judged.answer in _COUNTED:
                self._note(_COUNTED[judged.answer], judged.code)

    def _write(self, mapped: MappedTool, arguments: Mapping[str, Any]) -> None:
        self._counts["writes"] += 1
        refused = admitted(self._keep, self._conversation.name, mapped.texts_of(arguments))
        if refused is not None:
            self._note("write_held" if refused.decision is Decision.QUARANTINE else "write_rejected", refused.code)
            self._reasons.update({one.rule_id for one in refused.findings})

    # What the server sends

    def _came(self, message: Mapping[str, Any]) -> None:
        method = message.get("method")
        if isinstance(method, str):
            if method.startswith(_ASKED_BACK):
                self._note("request_refused", "server_asked")
            return
        method, tool = self._open.pop(_id(message), ("", ""))
        result = message.get("result")
        try:
            if method == "tools/list" and isinstance(result, Mapping):
                self._list(result)
            elif method == "tools/call" and isinstance(result, Mapping):
                self._answer(tool, result)
        except (ValidationError, TypeError, TooDeep):
            self._note("answer_refused", "server_answer_unreadable")
        except ServerRefused as error:
            self._note("answer_refused", error.code)

    def _list(self, result: Mapping[str, Any]) -> None:
        """A page of the server's tools: which of all so far would have been offered."""
        for tool in result.get("tools") or ():
            one = definition_of(Tool.model_validate(tool))
            self._listed[one["name"]] = one
        if len(self._listed) > MOST_TOOLS:
            raise ServerRefused("The server's list of tools cannot be used.", code="server_tools_unusable")
        passed = self._held.passed(list(self._listed.values()))
        self._offered = {one["name"] for one in passed}
        for held in self._held.held():
            if held.digest not in self._known_held and len(self._known_held) < _MOST_OPEN:
                self._known_held.add(held.digest)
                self._note("tool_held", f"tool_{held.why}")
        self._conversation.offer([declared_tool(one, self._memory) for one in passed])

    def _answer(self, tool: str, result: Mapping[str, Any]) -> None:
        """What a call gave. The session took it in, so what is called next is judged by it."""
        try:
            answer: ServerAnswer = answer_of(CallToolResult.model_validate(result), self._keep.settings.observe_cap)
        except ServerRefused:
            self._conversation.missed("an answer would have been refused")
            raise
        call = AgentCall("", tool, {})
        self._conversation.ran(call, answer.value)
        if answer.has_other_text:
            self._conversation.ran(call, answer.text)
        if self._memory is not None and self._memory.does(tool):
            self._marker.shown(answer.value)

    def _note(self, count: str, reason: str) -> None:
        self._counts[count] += 1
        self._reasons[reason] += 1


def _messages(line: bytes) -> Iterator[Mapping[str, Any]]:
    found = json.loads(line)
    for one in found if isinstance(found, list) else [found]:
        if not isinstance(one, dict):
            raise TypeError
        yield one


def _id(message: Mapping[str, Any]) -> str:
    """The id of a request, as its answer has it: 1 and "1" are two."""
    return json.dumps(message.get("id"))
