"""What a session offers as evidence for a call: plain values that the integrator fills as things happen.

Everything here is added to incrementally. ``SessionEvidence`` refers to the keep's indexes of acting memories and of
remembered hearsay, which all sessions share, and holds what belongs to the session alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest
from truekeep.trust.flow.index import TextIndex
from truekeep.trust.flow.open_requests import OwnerRequests
from truekeep.trust.flow.results import RecordBook
from truekeep.trust.flow.structure import simple_commands

if TYPE_CHECKING:
    from truekeep.trust.flow.tools import Tool


class ValueOrigin(StrEnum):
    """Where a value of a call comes from, from the best to the worst."""

    NEITHER = "neither"
    PLAN = "plan"
    GRANT = "grant"
    REQUEST = "request"
    CONFIRMED = "confirmed"
    MEMORY = "memory"
    RECORD = "record"
    COMPOSED = "composed"
    MENTION = "mention"
    NOTE = "note"
    NOWHERE = "nowhere"
    PRIVATE = "private"
    POINTED = "pointed"
    HEARSAY = "hearsay"


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One call that a model intended while it had seen nothing foreign; single use.

    An argument is ``{"literal": value}``, ``{"result": [tool, field]}`` or ``{"content": True}``.
    """

    id: str
    tool: str
    arguments: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StandingGrant:
    """The owner's standing permission: a tool, patterns for targets, a cap on a number, an end."""

    id: str
    tool: str
    where: Mapping[str, str]
    cap: Mapping[str, str] = field(default_factory=dict)
    until: datetime | None = None

    def __post_init__(self) -> None:
        if not self.where:
            raise InvalidRequest("A grant names at least one target.", hint="Give where={argument: pattern}.")

    def as_dict(self) -> dict[str, Any]:
        """The grant as JSON members."""
        until = self.until.isoformat() if self.until is not None else None
        return {"id": self.id, "tool": self.tool, "where": dict(self.where), "cap": dict(self.cap), "until": until}

    def holds(self, tool: str, now: datetime) -> bool:
        """Whether it speaks of this tool and has not ended."""
        return fnmatchcase(tool, self.tool) and (self.until is None or now < self.until)

    def covers(self, argument: str, text: str) -> bool:
        """Whether a value of that argument fits; of a command line each command has to."""
        pattern = self.where.get(argument)
        if pattern is None or ".." in text.split("/"):
            return False
        return all(_fits(part, pattern) for part in simple_commands(text)) and self._within(argument, text)

    def _within(self, argument: str, text: str) -> bool:
        if argument not in self.cap:
            return True
        try:
            return 0 <= Decimal(text) <= Decimal(self.cap[argument])
        except InvalidOperation:
            return False


def _fits(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern.replace("**", "*")) and ("**" in pattern or text.count("/") == pattern.count("/"))


@dataclass(slots=True)
class SessionEvidence:
    """One session's evidence. ``spent`` maps what redeemed tickets used (requests, plan entries) to the values."""

    now: datetime
    clean: bool
    memories: TextIndex = field(default_factory=TextIndex)
    """Passages that may act."""
    hearsay: TextIndex = field(default_factory=TextIndex)
    """What is remembered and only informs."""
    notes: TextIndex = field(default_factory=TextIndex)
    """What stands above hearsay and may not act: the agent's notes, a lone system's word, another member's."""
    foreign: TextIndex = field(default_factory=TextIndex)
    """What this session took in from others, with foreign spans of the owner's messages."""
    private: TextIndex = field(default_factory=TextIndex)
    """Results of the owner's own systems, as text: what must not leave."""
    public: TextIndex = field(default_factory=TextIndex)
    """Results of other people's systems and pages, which anybody can read."""
    requests: OwnerRequests = field(default_factory=OwnerRequests)
    records: RecordBook = field(default_factory=RecordBook)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    plan: tuple[PlanEntry, ...] = ()
    grants: tuple[StandingGrant, ...] = ()
    confirmed: tuple[frozenset[str], ...] = ()
    """For each call the owner confirmed in this session, its values in their normal form."""
    pointed: frozenset[str] = frozenset()
    """Ids of foreign texts the host knows the owner pointed at."""
    spent: dict[str, frozenset[str]] = field(default_factory=dict)
    is_bare_note: Callable[[str], bool] = lambda _: False
    """Whether remembered hearsay is only a note of the agent's, from a session that reports to nobody."""

    def is_confirmed(self, form: str) -> bool:
        """Whether the owner confirmed a call with this value."""
        return any(form in values for values in self.confirmed)

    def spend(self, uses: Mapping[str, frozenset[str]]) -> None:
        """Note what a redeemed ticket used up."""
        for name, values in uses.items():
            self.spent[name] = self.spent.get(name, frozenset()) | values
