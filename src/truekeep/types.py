"""The vocabulary of the house: frozen values that every other room passes around."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Standing(IntEnum):
    """How far a memory's origin is proven. It comes from the authenticated channel and from nothing else."""

    HEARSAY = 0
    ENROLLED = 1
    OWNER = 2

    @property
    def label(self) -> str:
        """The lower-case name used in JSON, configuration and the terminal."""
        return self.name.lower()


class Decision(StrEnum):
    """What the policy decided about a candidate, or the act boundary about a call."""

    ACCEPT = "accept"
    QUARANTINE = "quarantine"
    REJECT = "reject"


class Severity(IntEnum):
    """How bad a finding would be if it were acted on."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def label(self) -> str:
        """The lower-case name used in rules and JSON."""
        return self.name.lower()


class Threat(StrEnum):
    """The class of a finding; the value is the word used in ``Content blocked: matched <word> pattern``."""

    INJECTION = "prompt-injection"
    EXFILTRATION = "exfiltration"
    HIDDEN_TEXT = "hidden-text"
    AUTHORITY = "authority-directive"
    DIRECTIVE = "directive"
    PREFERENCE = "preference"
    CREDENTIAL = "credential"
    PLANT = "memory-plant"
    STUFFING = "stuffing"
    FORGOTTEN = "rejected-claim"
    SCREEN_FAILURE = "screen-failure"
    OTHER = "threat"


class Response(StrEnum):
    """What a rule of class ``OTHER`` asks for; the classes of the policy table do not consult it."""

    BLOCK = "block"
    QUARANTINE = "quarantine"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a screen saw. Screens report; they never decide."""

    rule_id: str
    threat: Threat
    severity: Severity
    span: tuple[int, int] = (0, 0)
    field: str = "text"
    screen: str = "rules"
    response: Response = Response.BLOCK
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The finding as JSON members; it never contains the matched text."""
        return {
            "rule": self.rule_id,
            "class": self.threat.value,
            "severity": self.severity.label,
            "field": self.field,
            "span": list(self.span),
            "screen": self.screen,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a memory came from. Bound at write time, covered by the record's MAC, never changed."""

    channel: str
    principal: str | None = None
    session: str | None = None
    message: str | None = None
    quote: str | None = None
    parents: tuple[str, ...] = ()
    carrier: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The origin as JSON members, without those that are not set."""
        members = {
            "channel": self.channel,
            "principal": self.principal,
            "session": self.session,
            "message": self.message,
            "quote": self.quote,
            "parents": list(self.parents),
            "carrier": self.carrier,
        }
        return {name: value for name, value in members.items() if value not in (None, [])}


@dataclass(frozen=True, slots=True)
class Candidate:
    """Text on its way in, with everything that will be stored beside it."""

    text: str
    standing: Standing
    origin: Origin
    kind: str = "semantic"
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    as_of: datetime | None = None
    expires_at: datetime | None = None
