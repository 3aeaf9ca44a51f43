"""Two keeps that live the same life, one of them with hearsay in it, and which memories of theirs are the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.promises.record import Outcome, PromiseBroken
from tests.promises.side import Side
from tests.promises.vocabulary import Call, Fact
from tests.promises.world import World
from truekeep.act.boundary import ActionAnswer
from truekeep.types import Item, Memory

_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - a private directory is made in it
_QUEUE_FULL = "queue_full"
_HEARSAYS_OWN = {_QUEUE_FULL, "rejected_claim_rejected"}
"""Refusals that more hearsay may earn hearsay: its source's share of the queue is full, or a person turned it down."""


@dataclass
class Pair:
    """One memory of the shared life, by its id on either side."""

    plain: str
    laden: str


@dataclass
class ItemPair(Pair):
    """One review item of the shared life, by its id on either side."""


@dataclass
class IncidentPair(Pair):
    """One revocation or rewind of the shared life, by its id on either side."""


@dataclass
class TicketPair:
    """One answer of the act boundary on either side."""

    session: str
    call: Call
    run: str
    plain: ActionAnswer
    laden: ActionAnswer
    is_spent: bool = False
    used: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """The memories as they read when they were matched, for each side."""


@dataclass
class Twins:
    """``plain`` lives without the extra hearsay, ``laden`` with it; the clock is one."""

    world: World
    now: datetime = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    known: list[Pair] = field(default_factory=list)
    """Every memory that both ever had."""
    pairs: list[Pair] = field(default_factory=list)
    """Those that both have now."""
    items: list[ItemPair] = field(default_factory=list)
    incidents: list[IncidentPair] = field(default_factory=list)
    tickets: list[TicketPair] = field(default_factory=list)
    extra_items: list[str] = field(default_factory=list)
    known_items: dict[str, set[str]] = field(default_factory=lambda: {"plain": set(), "laden": set()})
    echoed: set[str] = field(default_factory=set)
    """Sessions in which the person's own words were held to be a copy of hearsay that had come in before."""
    left: set[str] = field(default_factory=set)
    """Sessions in whose working memory hearsay left something."""
    taken_back: set[Fact] = field(default_factory=set)
    """What hearsay said and hearsay itself replaced: the keep no longer holds it."""
    books: dict[str, Any] = field(default_factory=dict)
    """What was seen of each keep after the last step, for ``holding``."""
    neighbour: Any = None
    """Another keep beside the laden one, for ``neighbours``."""
    has_echo: bool = False
    """Whether an enrolled system repeated what only hearsay says."""

    def __post_init__(self) -> None:
        self.began = self.now
        root = _MEMORY_DISK if _MEMORY_DISK.is_dir() else None
        self.home = Path(tempfile.mkdtemp(prefix="truekeep-promises-", dir=root))
        self.plain = Side("plain", self.world, lambda: self.now, home=self.home / "plain")
        self.laden = Side("laden", self.world, lambda: self.now, home=self.home / "laden")

    def close(self) -> None:
        """Let go of both keeps and their files."""
        for side in self.sides:
            side.keep.close()
        if self.neighbour is not None:
            self.neighbour.keep.close()
        shutil.rmtree(self.home)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.plain, self.laden

    def advance(self, **span: float) -> None:
        """Let time pass for both."""
        self.now += timedelta(**span)

    def pick(self, which: int) -> Pair | None:
        """One of the memories that both have."""
        return self.pairs[which % len(self.pairs)] if self.pairs else None

    def both(self, run: Callable[[Side], Outcome]) -> tuple[Outcome, Outcome]:
        """Do something on both sides."""
        return run(self.plain), run(self.laden)

    # Writes of the shared life

    def wrote(self, plain: Outcome, laden: Outcome, what: Any) -> None:
        """Match what a write left on both sides, and insist that hearsay did not change the verdict."""
        # A system that repeated hearsay as its own has used up its own room for what waits for a person anyway.
        is_crowded = self.has_echo and plain.item_id is not None and laden.code == _QUEUE_FULL
        if plain.code != laden.code and not self.is_hearsays_own(plain, laden) and not is_crowded:
            raise PromiseBroken(f"P2: {what} is answered {plain.code!r} without hearsay, {laden.code!r} with it")
        if plain.memory_id and laden.memory_id and all(pair.plain != plain.memory_id for pair in self.known):
            self.known.append(Pair(plain.memory_id, laden.memory_id))
            self.pairs.append(self.known[-1])

    def is_hearsays_own(self, plain: Outcome, laden: Outcome) -> bool:
        """Whether more hearsay earned hearsay a refusal.

        What was turned down on one side leaves more room in the queue of its source for what comes next.
        """
        return plain.is_doubtful and (laden.code in _HEARSAYS_OWN or plain.code == _QUEUE_FULL)

    def match_items(self) -> None:
        """Match the review items that a step left on both sides; what only the laden side has is the hearsay's."""
        plain, laden = self._new_items(self.plain), self._new_items(self.laden)
        mine = {pair.plain: pair.laden for pair in self.known}
        theirs = {pair.laden: pair.laden for pair in self.known}
        for item in plain:
            wanted = _looks(item, mine)
            if (other := next((one for one in laden if _looks(one, theirs) == wanted), None)) is not None:
                laden.remove(other)
                self.items.append(ItemPair(item.id, other.id))
        # A question about a memory of the shared life may fit in only where hearsay was taken back; it is not extra.
        self.extra_items += [item.id for item in laden if item.memory.id not in theirs]

    def _new_items(self, side: Side) -> list[Item]:
        known = self.known_items[side.name]
        fresh = [item for item in side.keep.review.list(None) if item.id not in known]
        known |= {item.id for item in fresh}
        return fresh

    def prune(self) -> tuple[dict[str, Memory], dict[str, Memory]]:
        """Forget pairs that are gone on both sides; one side alone is a broken promise. Gives what is there."""
        plain, laden = self.plain.memories(), self.laden.memories()
        self.plain.follow(plain)
        self.laden.follow(laden)
        for pair in list(self.known):
            if (pair.plain in plain) != (pair.laden in laden):
                self._part(pair, "plain" if pair.plain in plain else "laden")
        self.pairs = [pair for pair in self.known if pair.plain in plain]
        return plain, laden

    def _part(self, pair: Pair, where: str) -> None:
        """Hearsay that a person took back may be there on one side only, because more hearsay agreed with it."""
        if not self.plain.written[pair.plain].is_hearsay or not self.laden.written[pair.laden].is_hearsay:
            raise PromiseBroken(f"P2: {self.plain.written[pair.plain]} is only on the {where} side")
        self.known.remove(pair)
        self.laden.set_apart(pair.laden)


def _looks(item: Item, ids: Mapping[str, str]) -> tuple[str | None, ...]:
    """What two review items have in common that ask the same: ``ids`` are the memories that both sides have."""
    memory, target = item.memory, item.target
    named = ids.get(target, target) if target else None
    return item.kind, memory.text, memory.origin.channel, memory.origin.principal, ids.get(memory.id), named
