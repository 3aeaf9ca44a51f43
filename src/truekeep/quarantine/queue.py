"""The way into the review queue: what waits for a person, capped for each source, and never twice about one thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from truekeep.config import Settings
from truekeep.policy import Ruling
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import item_body, item_from, new_id
from truekeep.types import Decision, Finding, Item, Memory

_BAD_OUTCOME = Ruling(Decision.QUARANTINE, "bad_outcome", "An action that relied on it turned out badly.")
_FELL = Ruling(Decision.QUARANTINE, "parent_rejected", "It was derived from something that a person rejected.")
_CONTEST = Ruling(Decision.QUARANTINE, "contests", "It contradicts a memory that acts; a person has to decide.")


class Holding:
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
            expires_at=now + timedelta(days=self._settings.queue_expiry_days),
            target=target,
            contests=tuple(contests),
        )
        known = self._ledger.get("queue", item.id)
        if known is None:
            entry.put("queue", item.id, item_body(item), tag)
        else:
            entry.replace("queue", known.row, item_body(item), tag)
        entry.event("memory.held", item=item.id, what=item.kind, code=item.code, target=item.target)
        return item

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
