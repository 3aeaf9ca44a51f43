"""What the owner reads before saying yes to a call: each value with where it came from, and what would leave.

One text for the terminal, the console and MCP, so that nobody is asked in kinder words elsewhere. Values and the names
of foreign sources are quoted by whoever shows them; the words here are fixed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truekeep.trust.fence import one_line
from truekeep.trust.flow.evidence import ValueOrigin
from truekeep.trust.flow.roles import leaves
from truekeep.trust.flow.tools import Tool

if TYPE_CHECKING:
    from truekeep.act.tickets import TicketRecord

_WORDS: Mapping[str, str] = {
    ValueOrigin.NEITHER: "a default or a format",
    ValueOrigin.PLAN: "in the plan made from your own words",
    ValueOrigin.GRANT: "covered by a standing permission of yours",
    ValueOrigin.REQUEST: "in your own words",
    ValueOrigin.CONFIRMED: "confirmed by you before",
    ValueOrigin.MEMORY: "in a memory that may act",
    ValueOrigin.RECORD: "of the one record you named",
    ValueOrigin.COMPOSED: "written by the agent",
    ValueOrigin.MENTION: "only mentioned by you",
    ValueOrigin.NOTE: "only in notes of the agent's or in what may not act",
    ValueOrigin.NOWHERE: "found nowhere",
    ValueOrigin.PRIVATE: "a private value of yours",
    ValueOrigin.POINTED: "only in a document you pointed at",
    ValueOrigin.HEARSAY: "ONLY IN WHAT OTHERS WROTE",
}
_DOUBTFUL = frozenset(
    {ValueOrigin.MENTION, ValueOrigin.NOTE, ValueOrigin.NOWHERE, ValueOrigin.PRIVATE, ValueOrigin.POINTED}
)


@dataclass(frozen=True, slots=True)
class AskedValue:
    """One value of the call: where it stands, what it is, and where it came from."""

    path: str
    text: str
    origin: str
    sources: tuple[str, ...] = ()
    """Who wrote it, where others did."""

    @property
    def words(self) -> str:
        """Where it came from, in words."""
        return _WORDS[self.origin]

    @property
    def is_doubtful(self) -> bool:
        """Whether nothing that the owner asked for gives it."""
        return self.origin in _DOUBTFUL or self.is_hearsay

    @property
    def is_hearsay(self) -> bool:
        """Whether only others wrote it; it is shown in red."""
        return self.origin == ValueOrigin.HEARSAY


@dataclass(frozen=True, slots=True)
class ConfirmQuestion:
    """What the owner is asked about one call."""

    tool: str
    values: tuple[AskedValue, ...]
    leaving: tuple[str, ...]
    """Private values that would leave with the call, and that the owner did not call for."""
    reasons: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The question as JSON members."""
        return {
            "tool": self.tool,
            "values": [
                {"path": one.path, "text": one.text, "from": one.origin, "words": one.words, "sources": [*one.sources]}
                for one in self.values
            ],
            "leaving": list(self.leaving),
            "reasons": list(self.reasons),
        }


def question_about(record: TicketRecord) -> ConfirmQuestion:
    """The question that a ticket puts to the owner; doubtful values come first."""
    found = leaves(Tool(record.action), json.loads(record.arguments))
    values = [_asked(record, one_line(leaf.path), one_line(leaf.text)) for leaf in found]
    values.sort(key=lambda one: (not one.is_hearsay, not one.is_doubtful))
    return ConfirmQuestion(record.action, tuple(values), record.leaving, record.reasons)


def _asked(record: TicketRecord, path: str, text: str) -> AskedValue:
    origin = record.origins.get(path, ValueOrigin.COMPOSED)
    return AskedValue(path, text, origin if origin in _WORDS else ValueOrigin.NOWHERE, record.sources.get(path, ()))
