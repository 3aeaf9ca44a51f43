"""The review queue: what waits for a person, capped for each source, and never twice about one thing.

``Queue`` puts items in. ``QueueView`` keeps the open ones ready to be counted, filtered, grouped and paged: a row is
decoded when it first appears and when it changes, so that looking at the queue costs what is looked at. What is shown
of an item is read again from its sealed row.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from truekeep.quarantine.noted import (
    MOVED_APART,
    MOVED_IN,
    NOTED_BEFORE,
    NotedGroup,
    goes_with_others,
    is_plain,
    noted_groups,
    noted_key,
)
from truekeep.stores.records import item_body, item_from, new_id
from truekeep.stores.table_view import TableView
from truekeep.text.fold import folded
from truekeep.trust.origin import AGENT, is_moved
from truekeep.trust.policy import Ruling
from truekeep.types import LATEST, Decision, Finding, Item, Memory, Origin, Severity, Standing

if TYPE_CHECKING:
    from truekeep.config import Settings
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

_BAD_OUTCOME = Ruling(Decision.QUARANTINE, "bad_outcome", "An action that relied on it turned out badly.")
_FELL = Ruling(Decision.QUARANTINE, "parent_rejected", "It was derived from something that a person rejected.")
_CONTEST = Ruling(Decision.QUARANTINE, "contests", "It contradicts a memory that acts; a person has to decide.")
_NOTED = Ruling(Decision.QUARANTINE, "noted", "The agent noted it; it counts once it is confirmed.")
WAITING = "waiting"
"""The tag of items that count for no source: an upgrade put them there."""
_LASTING = frozenset({"doubt", "derived", "revoked"})
"""Kinds of item that hold something which was in the keep."""
CLEAN = "none"
"""The severity of an item in which nothing was found."""


class Queue:
    """Puts items into the review queue of one keep, inside the caller's transaction."""

    def __init__(self, ledger: Ledger, settings: Settings, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._settings = settings
        self._clock = clock

    def has_room(self, entry: Entry, tag: str) -> bool:
        """Whether one more item of that source fits; those that nobody looked at in time make room."""
        if self._ledger.count("queue", tag) >= self._settings.queue_per_principal:
            self._expire(entry, tag)
        return self._ledger.count("queue", tag) < self._settings.queue_per_principal

    def put(
        self,
        entry: Entry,
        memory: Memory,
        ruling: Ruling,
        *,
        kind: str,
        tag: str,
        findings: Sequence[Finding] = (),
        target: str | None = None,
        contests: Sequence[str] = (),
        item_id: str | None = None,
    ) -> Item:
        """Add an item; one that has the same id and was settled before is opened again."""
        now = self._clock()
        item = Item(
            id=item_id or new_id("rev"),
            kind=kind,
            state="open",
            memory=memory,
            code=ruling.code,
            reason=ruling.reason,
            findings=tuple(findings),
            created_at=now,
            expires_at=LATEST if ruling is NOTED_BEFORE else self._waits_until(memory, kind),
            target=target,
            contests=tuple(contests),
        )
        entry.set("queue", item.id, item_body(item), tag)
        entry.event("memory.held", item=item.id, what=item.kind, code=item.code, target=item.target)
        return item

    def _waits_until(self, memory: Memory, kind: str) -> datetime:
        """Nothing of the owner's evaporates: what is the owner's, or would take something from the owner, waits.

        So does what the agent noted: the owner may have said it, and is asked when there is a way to. And so does what
        the owner moved in from another memory.
        """
        is_noted = kind == "memory" and (memory.origin.channel == AGENT or is_moved(memory.origin))
        if memory.standing is Standing.OWNER or kind in _LASTING or is_noted:
            return LATEST
        return self._clock() + timedelta(days=self._settings.queue_expiry_days)

    def keep_noted(self, entry: Entry) -> int:
        """Let what an earlier version held of the owner and the agent wait until the owner decides; gives how many."""
        noted = 0
        for sealed in self._ledger.all("queue"):
            item = item_from(sealed)
            if item is None or item.state != "open" or not self._clock() < item.expires_at < LATEST:
                continue
            is_owners, is_noted = item.memory.standing is Standing.OWNER, item.memory.origin.channel == AGENT
            if item.kind == "memory" and (is_owners or is_noted):
                why = (
                    (item.code, item.reason) if item.findings or is_owners else (NOTED_BEFORE.code, NOTED_BEFORE.reason)
                )
                kept = replace(item, expires_at=LATEST, code=why[0], reason=why[1])
                entry.replace("queue", sealed.row, item_body(kept), sealed.row.tag)
                noted += 1
        return noted

    def doubt(self, entry: Entry, memory: Memory) -> None:
        """Ask a person about a memory that led to a bad outcome; once at a time."""
        tag = f"doubt:{memory.id}"
        if not self._ledger.count("queue", tag):
            self.put(entry, memory, _BAD_OUTCOME, kind="doubt", tag=tag, target=memory.id)

    def contest(self, entry: Entry, memory: Memory, elder: str, claim: str) -> None:
        """Ask a person which of two holds. The same contradiction, however often it comes, is one question."""
        item_id = f"rev_{self._ledger.digest('contest', f'{elder} {claim}')[:20]}"
        known = self._ledger.get("queue", item_id)
        item = item_from(known) if known else None
        tag = open_tag(memory.origin.channel, memory.origin.principal)
        is_open = item is not None and item.state == "open" and item.expires_at > self._clock()
        if not is_open and self.has_room(entry, tag):
            self.put(entry, memory, _CONTEST, kind="contest", tag=tag, target=elder, contests=(elder,), item_id=item_id)

    def note(self, entry: Entry, memory: Memory) -> Item | None:
        """Have a note that is in the keep wait for the owner's word; nothing if its source has no room.

        The same words wait once, also if they were noted anew after an earlier note of them was over.
        """
        item_id = f"rev_{self._ledger.digest('noted', folded(memory.text))[:20]}"
        known = self._ledger.get("queue", item_id)
        item = item_from(known) if known is not None else None
        tag = open_tag(memory.origin.channel, memory.origin.principal)
        if item is not None and (item.state != "open" or item.target == memory.id):
            return item
        if item is None and not self.has_room(entry, tag):
            return None
        return self.put(entry, memory, _NOTED, kind="memory", tag=tag, target=memory.id, item_id=item_id)

    def moved_id(self, origin: Origin) -> str:
        """The id of the item of something that was moved in: the same entry of a source always has the same."""
        return f"rev_{self._ledger.digest('moved', origin.message or '')[:20]}"

    def knows_moved(self, origin: Origin) -> bool:
        """Whether that entry of a source came in before, whatever was decided about it."""
        return self._ledger.get("queue", self.moved_id(origin)) is not None

    def put_moved(
        self,
        entry: Entry,
        memory: Memory,
        ruling: Ruling,
        *,
        findings: Sequence[Finding],
        contests: Sequence[str],
        target: str | None,
    ) -> Item:
        """Have something that was moved in wait for its owner. No cap counts it: it is the owner who moves, once."""
        if not findings:
            ruling = MOVED_IN if is_plain(memory.text, findings, contests) else MOVED_APART
        return self.put(
            entry,
            memory,
            ruling,
            kind="memory",
            tag=WAITING,
            findings=findings,
            target=target,
            contests=contests,
            item_id=self.moved_id(memory.origin),
        )

    def fall(self, entry: Entry, memory: Memory, parent: str) -> Item:
        """Hold what was derived from something that a person rejected or forgot; no cap, because a person did it."""
        return self.put(entry, memory, _FELL, kind="derived", tag=f"derived:{parent}", target=parent)

    def stand_up(self, entry: Entry, item_id: str, *, by: str, reason: str) -> Memory | None:
        """Let an item that still waits go back to what it was; gives its memory."""
        sealed = self._ledger.get("queue", item_id)
        item = item_from(sealed) if sealed else None
        if sealed is None or item is None or item.state != "open":
            return None
        settled = replace(item, state="lifted", decided_by=by, decided_reason=reason, decided_at=self._clock())
        entry.replace("queue", sealed.row, item_body(settled))
        entry.event("review.lifted", item=item.id, by=by)
        return item.memory

    def _expire(self, entry: Entry, tag: str) -> None:
        """Close the items of one source that nobody looked at in time, so that they no longer take up its share."""
        lapsed = [
            (sealed, item)
            for sealed in self._ledger.tagged("queue", tag, self._settings.queue_per_principal)
            if (item := item_from(sealed)) is not None and item.expires_at <= self._clock()
        ]
        for sealed, item in lapsed:
            entry.replace("queue", sealed.row, item_body(replace(item, state="expired")))
        if lapsed:
            entry.event("review.expired", items=len(lapsed))


def open_tag(channel: str, principal: str | None) -> str:
    """The tag of open review items of one source, by which they are counted and capped."""
    return f"open:{channel}:{principal or ''}"


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which items somebody looks for; what is empty does not matter."""

    code: str = ""
    kind: str = ""
    channel: str = ""
    principal: str = ""
    severity: str = ""
    group: str = ""
    """The key of one group."""
    noted: str = ""
    """The key of one day and place, for what is confirmed together."""
    text: str = ""
    """Words that occur in the text, its source or its session."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not any(getattr(self, entry.name) for entry in fields(self))


@dataclass(frozen=True)
class QueueCard:
    """What the queue knows of an item without opening it."""

    seq: int
    item: Item

    @cached_property
    def severity(self) -> str:
        """The worst of what was found."""
        worst = max((finding.severity for finding in self.item.findings), default=None)
        return CLEAN if worst is None else Severity(worst).label

    @cached_property
    def group(self) -> str:
        """One key for what is the same question: the same claim, from the same source, about the same."""
        memory = self.item.memory
        about = (memory.claim or self._words, memory.origin.channel, memory.origin.principal or "")
        asked = "\x00".join((self.item.kind, *about, self.item.target or "" if self.item.kind != "memory" else ""))
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:20]

    @cached_property
    def noted(self) -> str:
        """One key for what the owner can confirm together; nothing for what has to be looked at by itself."""
        return noted_key(self.item) if goes_with_others(self.item) else ""

    @cached_property
    def _words(self) -> str:
        return folded(self.item.memory.text)

    def matches(self, wanted: QueueFilter) -> bool:
        """Whether it is one of those looked for."""
        item, origin = self.item, self.item.memory.origin
        return (
            wanted.code in ("", item.code)
            and wanted.kind in ("", item.kind)
            and wanted.channel in ("", origin.channel)
            and wanted.principal in ("", origin.principal or "")
            and wanted.severity in ("", self.severity)
            and wanted.group in ("", self.group)
            and wanted.noted in ("", self.noted)
            and (not wanted.text or self._mentions(folded(wanted.text)))
        )

    def _mentions(self, words: str) -> bool:
        origin = self.item.memory.origin
        named = (origin.principal, origin.session, origin.channel, self.item.id)
        return words in self._words or any(words in name.casefold() for name in named if name)


@dataclass(frozen=True, slots=True)
class QueueGroup:
    """Items that ask a person the same thing."""

    key: str
    cards: tuple[QueueCard, ...]

    @property
    def first(self) -> Item:
        """The one that has waited longest."""
        return self.cards[0].item

    @property
    def severity(self) -> str:
        """The worst of all of them."""
        labels = [card.severity for card in self.cards if card.severity != CLEAN]
        return max(labels, key=lambda label: Severity[label.upper()], default=CLEAN)


@dataclass(frozen=True, slots=True)
class Facets:
    """How many items there are of each kind that one can filter by."""

    codes: Counter[str]
    channels: Counter[str]
    principals: Counter[str]
    severities: Counter[str]


class QueueView:
    """Follows the review queue of one keep."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._open = TableView(ledger, "queue", _card)
        self._clock = clock

    def cards(self, wanted: QueueFilter | None = None) -> list[QueueCard]:
        """The open items that are looked for, oldest first."""
        sought, now = wanted or QueueFilter(), self._clock()
        found = [card for card in self._open.now().values() if card.item.expires_at > now]
        found = found if sought.is_everything else [card for card in found if card.matches(sought)]
        return sorted(found, key=lambda card: (card.item.created_at, card.seq))

    def groups(self, wanted: QueueFilter | None = None) -> list[QueueGroup]:
        """The same, grouped; the group whose first item has waited longest comes first."""
        found: dict[str, list[QueueCard]] = {}
        for card in self.cards(wanted):
            found.setdefault(card.group, []).append(card)
        return [QueueGroup(key, tuple(cards)) for key, cards in found.items()]

    def noted(self) -> list[NotedGroup]:
        """What waits for the owner's own word, by the day and the place it was noted at."""
        return noted_groups(card.item for card in self.cards())

    def facets(self) -> Facets:
        """What there is to filter by."""
        cards = self.cards()
        return Facets(
            Counter(card.item.code for card in cards),
            Counter(card.item.memory.origin.channel for card in cards),
            Counter(card.item.memory.origin.principal or "" for card in cards),
            Counter(card.severity for card in cards),
        )


def _card(sealed: Sealed) -> QueueCard | None:
    item = item_from(sealed)
    return QueueCard(sealed.row.seq, item) if item is not None and item.state == "open" else None
