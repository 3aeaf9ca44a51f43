"""Waiting: the open review items of one keep, kept ready to be counted, filtered, grouped and paged.

A row is decoded when it first appears and when it changes, so that looking at the queue costs what is looked at. What
is shown of an item is read again from its sealed row.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property

from truekeep.followed import Followed
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import item_from
from truekeep.text import folded
from truekeep.types import Item, Severity

CLEAN = "none"
"""The severity of an item in which nothing was found."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which items somebody looks for; what is empty does not matter."""

    code: str = ""
    kind: str = ""
    channel: str = ""
    principal: str = ""
    severity: str = ""
    group: str = ""
    """The key of one group."""
    text: str = ""
    """Words that occur in the text, its source or its session."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not any(getattr(self, entry.name) for entry in fields(self))


@dataclass(frozen=True)
class Card:
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
    def _words(self) -> str:
        return folded(self.item.memory.text)

    def matches(self, wanted: Wanted) -> bool:
        """Whether it is one of those looked for."""
        item, origin = self.item, self.item.memory.origin
        return (
            wanted.code in ("", item.code)
            and wanted.kind in ("", item.kind)
            and wanted.channel in ("", origin.channel)
            and wanted.principal in ("", origin.principal or "")
            and wanted.severity in ("", self.severity)
            and wanted.group in ("", self.group)
            and (not wanted.text or self._mentions(folded(wanted.text)))
        )

    def _mentions(self, words: str) -> bool:
        origin = self.item.memory.origin
        named = (origin.principal, origin.session, origin.channel, self.item.id)
        return words in self._words or any(words in name.casefold() for name in named if name)


@dataclass(frozen=True, slots=True)
class Group:
    """Items that ask a person the same thing."""

    key: str
    cards: tuple[Card, ...]

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


class Waiting:
    """Follows the review queue of one keep."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._open = Followed(ledger, "queue", _card)
        self._clock = clock

    def cards(self, wanted: Wanted | None = None) -> list[Card]:
        """The open items that are looked for, oldest first."""
        sought, now = wanted or Wanted(), self._clock()
        found = [card for card in self._open.now().values() if card.item.expires_at > now]
        found = found if sought.is_everything else [card for card in found if card.matches(sought)]
        return sorted(found, key=lambda card: (card.item.created_at, card.seq))

    def groups(self, wanted: Wanted | None = None) -> list[Group]:
        """The same, grouped; the group whose first item has waited longest comes first."""
        found: dict[str, list[Card]] = {}
        for card in self.cards(wanted):
            found.setdefault(card.group, []).append(card)
        return [Group(key, tuple(cards)) for key, cards in found.items()]

    def facets(self) -> Facets:
        """What there is to filter by."""
        cards = self.cards()
        return Facets(
            Counter(card.item.code for card in cards),
            Counter(card.item.memory.origin.channel for card in cards),
            Counter(card.item.memory.origin.principal or "" for card in cards),
            Counter(card.severity for card in cards),
        )


def _card(sealed: Sealed) -> Card | None:
    item = item_from(sealed)
    return Card(sealed.row.seq, item) if item is not None and item.state == "open" else None
