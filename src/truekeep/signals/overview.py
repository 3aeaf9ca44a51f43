"""What happens in a keep now: its sessions and their taint, its calls, what waits for a person, how much is written.

It only reads. Of texts nothing is in it: ids, codes, counts, and the names that the host gave sessions and tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from truekeep.errors import StoreTampered
from truekeep.read.reader import sanitised_json
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.act.boundary import Boundary
    from truekeep.act.call_desk import CallDesk
    from truekeep.act.tickets import TicketRecord
    from truekeep.audit.log import Audit
    from truekeep.quarantine.queue import QueueCard, QueueGroup
    from truekeep.signals.places import WebhookPlace
    from truekeep.types import AuditEvent

MOST = 10
"""Sessions, and things that wait, that are named; all are counted."""
_MOST_SESSIONS = 500
"""Sessions that are counted, the latest."""
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)
_PORTION, _MOST_PORTIONS = 500, 8
"""Events that are read back from the newest; of a keep in which more happens in an hour the rest is not counted."""
_WRITES = frozenset({"memory.stored", "memory.held", "memory.rejected", "memory.changed"})
_SHOWN = frozenset({"memories.shown", "snapshot.frozen"})
_LONG = timedelta(days=7)
"""What waits longer has been forgotten by whoever was to decide."""


class WaitingGroups(Protocol):
    """What waits for review, as far as it is counted here."""

    def groups(self) -> list[QueueGroup]:
        """Open items, grouped."""


class SeenKeep(Protocol):
    """A keep, as far as an overview looks at it."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def audit(self) -> Audit:
        """Its log."""

    @property
    def review(self) -> WaitingGroups:
        """What waits for a person."""

    @property
    def actions(self) -> Boundary:
        """Its calls."""

    @property
    def calls(self) -> CallDesk:
        """Its sessions."""


@dataclass(frozen=True, slots=True)
class SessionNow:
    """A session: whether anything foreign is in it, what came in, and how its calls were answered."""

    name: str
    state: str
    """``clean``, ``tainted``, or ``unmediated``: nobody reports all that it takes in."""
    last: str
    entered: int
    foreign: int
    calls: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WaitingNow:
    """Something that waits for a person."""

    id: str
    what: str
    """``call``, or what of a memory is proposed: ``memory``, ``change``, ``deletion``."""
    code: str
    since: str
    about: str
    """Of a call its tool, of everything else the channel that it came over."""
    expires: str = ""


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that went wrong, or that somebody should look at."""

    code: str
    count: int = 1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """One keep at one moment."""

    keep: str
    at: str
    ok: bool = True
    sessions: Mapping[str, int] = field(default_factory=dict)
    """How many are clean, tainted and unmediated, of the latest."""
    latest: tuple[SessionNow, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict)
    """How many calls were allowed, to be confirmed and denied within the last hour."""
    waiting: Mapping[str, int] = field(default_factory=dict)
    waits: tuple[WaitingNow, ...] = ()
    """What waits longest."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """A second, over the last minute: ``writes``, and ``shown``, which is when sessions were shown what they had not
    been shown before. Reading without a session leaves no trace, so it is not counted."""
    alerts: tuple[Alert, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The overview as JSON members, every string of it sanitised."""
        shown: dict[str, Any] = sanitised_json(asdict(self))
        return shown


def overview(keep: SeenKeep, now: datetime, webhooks: Mapping[str, WebhookPlace] | None = None) -> Overview:
    """One keep as it is now. One that was tampered with says just that: nothing else of it can be relied on."""
    at = utc_text(now)
    try:
        found = keep.audit.state()
        cards = [card for group in keep.review.groups() for card in group.cards]
        calls, lines = keep.actions.pending(), keep.calls.sessions(_MOST_SESSIONS)
        recent = _recent(keep, now)
    except StoreTampered as error:
        return Overview(keep.name, at, False, alerts=(Alert("tampered", detail=error.code),))
    sessions = [
        SessionNow(
            line.name,
            _state(line.state),
            utc_text(line.last),
            line.entered,
            line.foreign,
            dict(sorted(line.answers.items())),
        )
        for line in lines
    ]
    waits = sorted((*map(_call, calls), *map(_card, cards)), key=lambda one: one.since)
    return Overview(
        keep=keep.name,
        at=at,
        ok=found.ok,
        sessions=_counted(("clean", "tainted", "unmediated"), (one.state for one in sessions)),
        latest=tuple(sessions[:MOST]),
        calls=_counted(
            ("allow", "confirm", "deny"),
            (str(event.body.get("decision", "")) for event in recent if event.kind == "action.judged"),
        ),
        waiting=_counted(("call", "memory", "change", "deletion"), (one.what for one in waits)),
        waits=tuple(waits[:MOST]),
        rates=_rates(recent, now),
        alerts=(
            *(() if found.ok else (Alert("tampered", len(found.problems), "unverified_record"),)),
            *_alerts(recent, cards, now),
            *(Alert("webhook_failing", one.failures, name) for name, one in (webhooks or {}).items() if one.error),
        ),
    )


def _recent(keep: SeenKeep, now: datetime) -> list[AuditEvent]:
    """The events of the last hour, oldest first, as far back as is looked."""
    found: list[AuditEvent] = []
    after = keep.audit.head
    for _ in range(_MOST_PORTIONS):
        before, after = after, max(0, after - _PORTION)
        if after < before:
            found = [*keep.audit.events(after=after, limit=before - after), *found]
        if not found or not after or found[0].at < now - _HOUR:
            break
    return [event for event in found if event.at >= now - _HOUR]


def _rates(recent: Iterable[AuditEvent], now: datetime) -> dict[str, float]:
    kinds = Counter(event.kind for event in recent if event.at >= now - _MINUTE)
    seconds = _MINUTE.total_seconds()
    return {
        "writes": round(sum(kinds[one] for one in _WRITES) / seconds, 2),
        "shown": round(sum(kinds[one] for one in _SHOWN) / seconds, 2),
    }


def _alerts(recent: Iterable[AuditEvent], cards: Iterable[QueueCard], now: datetime) -> Iterator[Alert]:
    kinds = Counter(event.kind for event in recent)
    denied = sum(event.kind == "action.judged" and event.body.get("decision") == "deny" for event in recent)
    old = sum(now - card.item.created_at > _LONG for card in cards)
    for code, count in (
        ("ticket_refused", kinds["ticket.refused"]),
        ("denied", denied),
        ("rejected", kinds["memory.rejected"]),
        ("revoked", kinds["incident.revoked"]),
        ("waits_long", old),
    ):
        if count:
            yield Alert(code, count)


def _state(state: Any) -> str:
    if not state.is_mediated:
        return "unmediated"
    return "clean" if state.is_clean else "tainted"


def _call(record: TicketRecord) -> WaitingNow:
    return WaitingNow(record.id, "call", record.code, utc_text(record.at), record.action, utc_text(record.expires_at))


def _card(card: QueueCard) -> WaitingNow:
    item = card.item
    return WaitingNow(
        item.id, item.kind, item.code, utc_text(item.created_at), item.memory.origin.channel, utc_text(item.expires_at)
    )


def _counted(names: tuple[str, ...], found: Iterable[str]) -> dict[str, int]:
    """How often each is there; those that are expected also where there are none."""
    return dict.fromkeys(names, 0) | Counter(found)
