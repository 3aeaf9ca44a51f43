"""What an adapter and the mediator tell each other: what came into a context, which calls are made, the answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from truekeep.act.calls import checked_name, plain_arguments
from truekeep.act.question import ConfirmQuestion
from truekeep.errors import InvalidRequest
from truekeep.trust.flow.decide import Answer
from truekeep.trust.flow.tools import Tool

WAITS = "Not done yet: the owner has to confirm '{name}' (ticket {ticket}). {why} Do not work around it."
DENIED = "Not done: '{name}' is denied. {why} Do not try it in another way; tell the owner."
DECLINED = "Not done: the owner turned '{name}' down. Do not try it in another way."
FAILED = "Not done: '{name}' could not be judged ({code}), so it was not carried out. Other things can go on."


class EntryKind(StrEnum):
    """Whose a part of a context is, as the framework has it. It is a claim, and the mediator judges it."""

    OWNER = "owner"
    AGENT = "agent"
    RESULT = "result"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """One message of a context."""

    kind: EntryKind
    text: str
    tool: str = ""
    """The tool whose result it is."""
    attached: tuple[str, ...] = ()
    """What stands beside the text and is no text of the owner's: a file, an image, a quotation."""

    @property
    def mark(self) -> str:
        """What it is recognised by when the same context is shown again."""
        return mark_of(self.kind, self.whole)

    @property
    def whole(self) -> str:
        """Everything of it that is text."""
        if not self.attached:
            return self.text if self.text.strip() else ""
        return "\n".join(one for one in (self.text, *self.attached) if one.strip())


def mark_of(kind: EntryKind, text: str) -> str:
    """A hash of a message; the text itself is not held in memory."""
    return hashlib.sha256(f"{kind}\n{text}".encode(errors="replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the framework describes it to the model."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    is_programs: bool = False
    """Whether its definition stands in the program itself; another's, such as an MCP server's, is foreign text."""
    reads: bool | None = None
    """The server's own hint; it counts only where the operator trusts the server."""

    @property
    def texts(self) -> str:
        """Everything of it that a model reads."""
        return f"{self.name}\n{self.description}\n{as_json(dict(self.schema))}"

    def declared(self, known: Tool, *, trust_hints: bool = False) -> Tool:
        """Its declaration: the operator's word on what it does, the framework's on what it looks like."""
        reads = known.reads if known.reads is not None or not trust_hints else self.reads
        said = {one.name: getattr(known, one.name) for one in fields(Tool)}
        shape = {"name": self.name, "description": self.description, "schema": self.schema}
        return Tool(**said | shape | {"reads": reads})

    @property
    def digest(self) -> str:
        """The hash that an operator pins."""
        return self.declared(Tool(self.name)).digest


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A call that a model makes. The arguments are whatever it wrote: an object, or JSON text."""

    id: str
    name: str
    arguments: object

    @property
    def mark(self) -> str:
        """What the call is recognised by."""
        return as_json([self.name, self.arguments])

    @property
    def shown_name(self) -> str:
        """The name as it can be printed and reported; one that is none is not repeated."""
        try:
            return checked_name(self.name)
        except InvalidRequest:
            return "a_tool_without_a_name"

    def plain(self) -> dict[str, Any]:
        """The arguments as a copy in JSON's own types: what is judged, and what the tool is given."""
        checked_name(self.name)
        given = self.arguments
        if isinstance(given, str):
            try:
                given = json.loads(given or "{}")
            except (ValueError, RecursionError):
                raise InvalidRequest("The arguments are not JSON.", code="arguments_not_json") from None
        return plain_arguments(given)


@dataclass(frozen=True, slots=True)
class CallPermit:
    """The answer to a call. Only one that is allowed is carried out, with these arguments and no others."""

    decision: Answer
    arguments: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    """What the model is told instead of a result."""
    ticket: str = ""
    question: ConfirmQuestion | None = None
    """What the owner is asked."""
    has_effects: bool = True

    @property
    def is_allowed(self) -> bool:
        """Whether the call is carried out now."""
        return self.decision is Answer.ALLOW

    @property
    def waits(self) -> bool:
        """Whether the owner is asked first."""
        return self.decision is Answer.CONFIRM


def asked_in_words(permit: CallPermit) -> str:
    """What a framework's approval dialog says. Values and who wrote them are quoted; the words are fixed."""
    question = permit.question
    if question is None:
        return permit.message
    lines = [f"The agent wants to call '{question.tool}'."]
    for one in question.values:
        by = (
            f" (by {', '.join(json.dumps(source, ensure_ascii=False) for source in one.sources)})"
            if one.sources
            else ""
        )
        lines.append(f"- {one.path}: {json.dumps(one.text, ensure_ascii=False)}, {one.words}{by}")
    lines += [f"Private, and would leave: {json.dumps(one, ensure_ascii=False)}" for one in question.leaving]
    return "\n".join([*lines, *question.reasons])


def as_json(value: object) -> str:
    """A value as JSON text, or as it prints where it is none."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)
