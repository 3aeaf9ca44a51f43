"""Plans: the calls a model intends for the owner's last message, made from a view that holds nothing foreign.

The model sees the owner's own words, memories that may act, and the declared tools; it keeps nothing from one plan to
the next. What it lists is checked: a literal must stand whole in the owner's words or in a memory that may act, and a
result must be of a declared tool. So a plan can at most choose among what the owner has said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest
from truekeep.extract.failure import ModelError
from truekeep.stores.records import new_id
from truekeep.trust.flow.evidence import PlanEntry, SessionEvidence
from truekeep.trust.flow.index import stands_whole
from truekeep.trust.flow.moments import moment_of
from truekeep.trust.flow.reading import read
from truekeep.trust.flow.roles import widens
from truekeep.trust.influence import Reader

if TYPE_CHECKING:
    from truekeep.act.boundary import Boundary
    from truekeep.sessions.sessions import Sessions
    from truekeep.trust.flow.tools import Tool

_CHOICE = re.compile(r"[a-z]+(?:[_ -][a-z]+){0,3}")
"""A few plain words: no address, account, path or number, which only the owner's own words give."""
_MOST_CALLS = 32  # a plan for one request; a longer one is no plan but a fishing net
_MOST_MESSAGES = 40  # what fits into a small model's view
_MOST_TOOLS = 128  # as many as providers accept
_ORDER = (
    'List the tool calls you intend for the user\'s last message, as JSON: {"calls": [{"tool": name, '
    '"arguments": {name: {"literal": value} | {"result": [tool, field]} | {"content": true}}}]}. '
    "A literal is copied from the messages or memories. A result is a field of an earlier call's result. "
    "Content is text you will write. List only what the user asked for."
)
PLAN_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"calls": {"type": "array", "items": {"type": "object"}}},
    "required": ["calls"],
}

Recalls = Callable[[str, Reader], list[str]]
"""The texts that may act for a reader and answer a query."""


class Planner:
    """Makes plans in the sessions of one keep."""

    def __init__(self, sessions: Sessions, boundary: Boundary, recalls: Recalls) -> None:
        self._sessions = sessions
        self._boundary = boundary
        self._recalls = recalls

    def asked(self, session: str, whom: Reader) -> list[dict[str, str]]:
        """What a model is asked for a plan with: messages that hold nothing foreign."""
        owners = self._sessions.owners(session)
        if not owners:
            raise InvalidRequest("The owner has said nothing to plan for yet.", code="nothing_to_plan")
        evidence = self._boundary.evidence(session)
        said = [seen.own for seen in owners if seen.own.strip()][-_MOST_MESSAGES:]
        view = {
            "messages": said,
            "memories": self._recalls(said[-1] if said else "", whom),
            "tools": [_shown(tool) for tool in list(evidence.tools.values())[:_MOST_TOOLS]],
        }
        return [
            {"role": "system", "content": _ORDER},
            {"role": "user", "content": json.dumps(view, ensure_ascii=False)},
        ]

    def intend(self, session: str, reply: str) -> tuple[PlanEntry, ...]:
        """Check what a model listed, and keep that for the owner's last message."""
        entries = tuple(_checked(planned_calls(reply), self._boundary.evidence(session)))
        self._sessions.intend(session, entries)
        return entries


def _shown(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": json.loads(_plain(tool.schema))}


def _plain(value: object) -> str:
    return json.dumps(value, default=dict)


def planned_calls(reply: str) -> list[Any]:
    """The calls in a model's answer. Raises ``ModelError`` for what is no plan."""
    try:
        parsed = json.loads(reply)
    except (ValueError, RecursionError):
        raise ModelError("The model's plan is not JSON.", code="model_broken_json", may_retry=True) from None
    if not isinstance(parsed, dict) or not isinstance(parsed.get("calls"), list):
        raise ModelError("The model's plan has the wrong form.", code="model_wrong_form", may_retry=True)
    if len(parsed["calls"]) > _MOST_CALLS:
        raise ModelError(f"The model listed more than {_MOST_CALLS} calls.", code="model_too_many")
    calls: list[Any] = parsed["calls"]
    return calls


def _checked(calls: Sequence[Any], evidence: SessionEvidence) -> Iterator[PlanEntry]:
    for call in calls:
        if not isinstance(call, dict) or call.get("tool") not in evidence.tools:
            continue
        arguments = call.get("arguments")
        if isinstance(arguments, dict) and all(_is_sound(one, evidence) for one in arguments.values()):
            yield PlanEntry(new_id("pln"), call["tool"], arguments)


def _is_sound(argument: Any, evidence: SessionEvidence) -> bool:
    if not isinstance(argument, dict) or len(argument) != 1:
        return False
    ((kind, value),) = argument.items()
    if kind == "literal":
        return all(_is_said(part, evidence) for part in _parts(value))
    if kind == "result":
        return isinstance(value, list) and len(value) == 2 and value[0] in evidence.tools
    return kind == "content" and value is True


def _parts(value: Any) -> Iterator[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inner is None:
        yield value
    else:
        for one in inner:
            yield from _parts(one)


def _is_composed(text: str) -> bool:
    """Whether a literal is a choice or a moment, which a model that has seen nothing foreign may word itself."""
    is_choice = _CHOICE.fullmatch(text) is not None and not widens("", text)
    return is_choice or moment_of(text) != (None, None)


def _is_said(value: Any, evidence: SessionEvidence) -> bool:
    """Whether a literal stands whole in the owner's words or in a memory that may act; a choice need not."""
    if isinstance(value, bool) or value is None or (isinstance(value, str) and _is_composed(value)):
        return True
    reading = read(str(int(value)) if isinstance(value, float) and value.is_integer() else str(value), evidence.now)
    spoken = any(stands_whole(message.reading, reading) for message in evidence.requests.messages)
    return spoken or next(evidence.memories.holding(reading), None) is not None
