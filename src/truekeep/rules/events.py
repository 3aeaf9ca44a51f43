"""What is scanned: an event, the rules its kind is routed to, and which text each rule's field means.

Routing follows the format's reference engine for its own kinds and adds the kinds it lacks. A text goes only
into the fields that its event really has: pouring one text into every field makes rules for tool names and
tool arguments fire on prose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from truekeep.errors import InvalidRequest

_EMPTY: Mapping[str, Any] = MappingProxyType({})
_STORED = ("content", "user_input", "agent_output", "tool_response")


@dataclass(frozen=True, slots=True)
class Route:
    """How one kind of event reaches rules: sources admitted (``None``: all) and fields that mean its text."""

    sources: frozenset[str] | None
    fields: frozenset[str]


def _route(sources: str | None, *fields: str) -> Route:
    return Route(None if sources is None else frozenset(sources.split()), frozenset(fields))


ROUTES: Mapping[str, Route] = MappingProxyType(
    {
        "llm_input": _route("llm_io", "content", "user_input"),
        "llm_output": _route("llm_io", "content", "agent_output"),
        "tool_call": _route(
            "tool_call mcp_exchange skill_lifecycle skill_permission skill_chain", "content", "tool_args"
        ),
        "tool_response": _route("mcp_exchange llm_io", "content", "tool_response", "user_input", "agent_output"),
        "multi_agent_message": _route("multi_agent_comm", "content", "agent_message"),
        "agent_behavior": _route("agent_behavior", "content", "metric"),
        "mcp_exchange": _route(None, "content"),
        # A memory is the user's words, the agent's or a tool's, kept: all three kinds of rules read it.
        "memory_write": _route("memory_access context_window llm_io mcp_exchange", *_STORED),
        "memory_read": _route("memory_access context_window llm_io mcp_exchange", *_STORED),
        "context_window": _route("context_window memory_access llm_io", *_STORED),
        # A skill file is one document that every field means; see Engine for the further gate.
        "skill": _route(None),
    }
)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing an agent did or took in. ``fields["content"]`` is its text; named fields take precedence."""

    kind: str
    fields: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    metrics: Mapping[str, float] = field(default_factory=lambda: _EMPTY)
    trace: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.kind not in ROUTES:
            raise InvalidRequest(
                "no such kind of event", hint=f"Use one of {', '.join(sorted(ROUTES))}.", code="unknown_event"
            )
        if not all(isinstance(value, str) for value in self.fields.values()):
            raise InvalidRequest("an event's fields must be strings")

    @classmethod
    def memory_write(cls, text: str, **fields: str) -> Event:
        """A memory on its way in."""
        return cls("memory_write", {"content": text, **fields})

    @classmethod
    def memory_read(cls, text: str, **fields: str) -> Event:
        """A memory on its way into a prompt."""
        return cls("memory_read", {"content": text, **fields})

    def text_of(self, field_name: str) -> str | None:
        """The text that a rule's ``field`` means in this event, or ``None`` if the event has no such field."""
        if self.kind == "skill":
            return self.fields.get("content")
        own = self.fields.get(field_name)
        if own:
            return own
        return self.fields.get("content") if field_name in ROUTES[self.kind].fields else None

    def admits(self, source: str) -> bool:
        """Whether rules for ``source`` see this event."""
        sources = ROUTES[self.kind].sources
        return sources is None or source in sources or (source == "agent_trace" and self.trace is not None)
