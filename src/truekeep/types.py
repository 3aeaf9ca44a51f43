"""The vocabulary of the house: frozen values that every other room passes around."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

_EMPTY: Mapping[str, Any] = MappingProxyType({})
Progress = Callable[[int, int], None]
"""Told how much of long work is done, of how much."""
MEMBER = "member:"
"""How the channel of a person in a shared keep is named: ``member:eva``."""
EARLIEST, LATEST = datetime(2, 1, 1, tzinfo=UTC), datetime(9899, 12, 31, tzinfo=UTC)
"""Moments that can be reckoned with: from the outermost ones Python has, a zone or a life span leads to none at all."""


class Standing(IntEnum):
    """How far a memory's origin is proven. It comes from the authenticated channel and from nothing else."""

    HEARSAY = 0
    ENROLLED = 1
    OWNER = 2

    label: str
    """The lower-case name used in JSON, configuration and the terminal."""

    def __init__(self, _: int) -> None:
        self.label = self.name.lower()


class Decision(StrEnum):
    """What the policy decided about a candidate. The act boundary answers a call with ``Answer``."""

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

    label: str
    """The lower-case name used in rules and JSON."""

    def __init__(self, _: int) -> None:
        self.label = self.name.lower()


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
    prompt: str | None = None
    """The hash of the custom prompt that extracted it, so that a bad prompt can be revoked with all it made."""

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
            "prompt": self.prompt,
        }
        return {name: value for name, value in members.items() if value not in (None, [])}


@dataclass(frozen=True, slots=True)
class Gist:
    """The agent's reading of what the owner said. It helps to find the words and proves nothing."""

    text: str
    is_plain: bool = False
    """Whether a prompt may show it: it was worded from those words alone, in a clean session, and adds no value."""
    prompt: str | None = None
    """The hash of the custom prompt that made it, so that a bad prompt can be revoked with all it made."""


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
    gist: Gist | None = None
    question: str = ""
    """What a bare answer ("yes", "the 14th") answers, where the agent asked it in a clean session."""


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's decision to let an item in, with its limits."""

    by: str
    reason: str
    at: datetime
    until: datetime | None = None
    inform_only: bool = False
    purpose: str | None = None
    rules: tuple[str, ...] = ()
    """The findings the reviewer saw; a rule that is added later is not waived by an old approval."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered text, as it is stored: what it says, where it came from and how it was let in."""

    id: str
    text: str
    standing: Standing
    origin: Origin
    created_at: datetime
    as_of: datetime
    kind: str = "semantic"
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    expires_at: datetime | None = None
    version: int = 1
    screened: str = ""
    """The digest of the screens that found nothing in this text when it was written."""
    valid_from: datetime | None = None
    """Since when it holds, where its text says so; otherwise that is ``as_of``."""
    valid_until: datetime | None = None
    """From when on it no longer holds, where its text says so."""
    claim: str = ""
    """The keyed digest of what it states; nothing for a text about nobody."""
    keys: tuple[str, ...] = ()
    """The keyed digests of the questions it answers."""
    order: int = 0
    """The number of the event with which it was written."""
    approval: Approval | None = None
    gist: Gist | None = None
    question: str = ""
    """What the text answers, where it says little without that."""
    said: int = 1
    """How often the owner said it; ``as_of`` is when they said it last."""
    pinned: bool = False
    """Whether the owner wants it in every prompt."""
    seq: int = 0
    verified: bool = True

    @property
    def begins(self) -> datetime:
        """Since when it holds."""
        return self.valid_from or self.as_of


@dataclass(frozen=True, slots=True)
class Effects:
    """What a decision did to the keep, so that it can be taken back for a while."""

    made: tuple[str, int] | None = None
    """The memory, and its version, that is there because of it."""
    took: tuple[str, int] | None = None
    """The one that it put into history."""
    stones: tuple[str, ...] = ()
    """The tombstones it left."""
    fallen: tuple[str, ...] = ()
    """The items of what fell with what was rejected."""
    cleared: tuple[str, ...] = ()
    """The marks of values first met as hearsay that it cleared."""
    tag: str = ""
    """The tag that the item had while it waited."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that waits for a person, or waited: a held text, a proposed deletion or a proposed change."""

    id: str
    kind: str
    state: str
    memory: Memory
    code: str
    reason: str
    findings: tuple[Finding, ...]
    created_at: datetime
    expires_at: datetime
    target: str | None = None
    contests: tuple[str, ...] = ()
    """Memories that it contradicts."""
    decided_by: str | None = None
    decided_reason: str | None = None
    decided_at: datetime | None = None
    effects: Effects | None = None
    """What the decision did, as long as it can be taken back."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A claim that a person rejected or forgot; planting it again with this standing or less is refused."""

    claim: str
    standing: Standing
    by: str
    reason: str
    at: datetime
    keys: tuple[str, ...] = ()
    """All hashes under which the same claim is buried."""
    fallen: tuple[str, ...] = ()
    """Review items of what was derived from it and fell with it."""


_NEXT = {
    Threat.INJECTION: "Say what is so, without the words that speak to the assistant about its instructions.",
    Threat.EXFILTRATION: "Leave out where the data is to go; send it yourself, or ask for it when it is needed.",
    Threat.HIDDEN_TEXT: "Send it again as plain text, without invisible or encoded characters.",
    Threat.AUTHORITY: "If it is your own wish, say it as one: 'I want ...'.",
    Threat.FORGOTTEN: "It was forgotten or turned down before; lift that first, then say it again.",
}
"""What somebody whose text was rejected can do next."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a write: what was decided, by which finding, and what became of the text."""

    decision: Decision
    code: str
    reason: str
    findings: tuple[Finding, ...] = ()
    memory_id: str | None = None
    item_id: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the text is now an active memory."""
        return self.decision is Decision.ACCEPT

    @property
    def hint(self) -> str:
        """What the text was held back for, in plain words, and what to do next; empty for what was accepted."""
        if self.accepted:
            return ""
        cause = next((one for one in self.findings if self.code.startswith(one.threat.value.replace("-", "_"))), None)
        why = f"Seen in it: {cause.reason.rstrip('.')}. " if cause is not None and cause.reason else ""
        if self.decision is Decision.QUARANTINE:
            return f"{why}Nothing is lost: approve it or turn it down in the review queue."
        return why + _NEXT.get(cause.threat if cause is not None else Threat.OTHER, "Say it again in your own words.")

    def as_dict(self) -> dict[str, Any]:
        """The verdict as JSON members; a rejection carries ``error``, the others ``status``."""
        members: dict[str, Any] = {"success": self.decision is not Decision.REJECT}
        if self.decision is Decision.REJECT:
            members["error"] = self.reason
        else:
            members["status"] = "stored" if self.accepted else "quarantined"
            members["reason"] = self.reason
        if self.hint:
            members["hint"] = self.hint
        members |= {"decision": self.decision.value, "code": self.code}
        members["findings"] = [finding.as_dict() for finding in self.findings]
        if self.memory_id is not None:
            members["id"] = self.memory_id
        if self.item_id is not None:
            members["review_id"] = self.item_id
        return members


@dataclass(frozen=True, slots=True)
class Channel:
    """An authenticated way in. The operator's configuration binds its standing; callers cannot."""

    name: str
    standing: Standing | None
    capabilities: frozenset[str]

    def may(self, capability: str) -> bool:
        """Whether this channel holds the capability."""
        return capability in self.capabilities


@dataclass(frozen=True, slots=True)
class Recalled:
    """One hit of a recall, already screened and sanitised: ``text`` is safe to put inside the fence."""

    text: str
    score: float
    may_act: bool
    why: str
    blocked: bool
    as_of: datetime
    memory: Memory
    explain: Mapping[str, float] = field(default_factory=lambda: _EMPTY)
    """What each signal added to the score, if that was asked for."""
    contests: tuple[str, ...] = ()
    """Older memories that it contradicts without having replaced them."""
    retired_by: str | None = None
    """The newer memory that replaced it; only an answer about the past holds such hits."""
    valid_until: datetime | None = None
    """From when on it no longer holds: because its text says so, or because something newer does."""
    gist: str = ""
    """The agent's reading of it, where that was worded from these words alone and adds nothing to them."""
    question: str = ""
    """What it answers, where it says little without that."""
    newer: str | None = None
    """The id of a later hit about the same thing that announces a change: this one is older, and may be outdated."""
    window: tuple[int, int] | None = None
    """Which part of a long passage ``text`` is, where the whole was over the answer's budget."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The frozen text a session's prompt gets. The same bytes until it is refreshed."""

    session: str
    text: str
    digest: str
    ruleset: str
    created_at: datetime
    shows_hearsay: bool = False
    stale: bool = False


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One entry of the audit log."""

    seq: int
    at: datetime
    kind: str
    body: Mapping[str, Any]
    hash: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification of the whole store found."""

    ok: bool
    events: int
    rows: int
    problems: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()


def utc_text(moment: datetime) -> str:
    """A moment as the fixed-width UTC text that is stored and shown."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def utc_moment(text: str) -> datetime:
    """The moment behind ``utc_text``, within the bounds of what can be reckoned with.

    Keeps from before there were bounds may hold moments beyond them; these count as the nearest one that is within.
    """
    return min(max(datetime.fromisoformat(text), EARLIEST), LATEST)
