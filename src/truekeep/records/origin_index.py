"""The register: what every memory is and where it came from, without its text. Follows every write.

It says which memories to look at. What one says, and what it may do, is the reader's to tell (``reading.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from truekeep.stores.records import memory_without_text
from truekeep.stores.table_view import Derived, TableView

if TYPE_CHECKING:
    from truekeep.stores.ledger import Ledger
    from truekeep.types import Memory

SOURCES = ("principal", "channel", "session", "prompt")
"""What of an origin a revocation can name."""


class OriginIndex:
    """The memories of one keep, without their texts."""

    def __init__(self, ledger: Ledger) -> None:
        self.view = TableView(ledger, "memories", memory_without_text)
        self._ranked = Derived(_ranked, self.view)

    def memories(self) -> Mapping[int, Memory]:
        """Every verified memory by its place, in the order in which they were stored."""
        return self.view.now()

    def sources(self, most: int) -> dict[str, list[tuple[str, int]]]:
        """By kind, the sources with the most memories, and how many each has."""
        return {name: found[:most] for name, found in self._ranked.now().items()}


def _ranked(memories: Iterable[Memory]) -> dict[str, list[tuple[str, int]]]:
    counts: dict[str, Counter[str]] = {name: Counter() for name in SOURCES}
    for memory in memories:
        origin = memory.origin
        named = zip(SOURCES, (origin.principal, origin.channel, origin.session, origin.prompt), strict=True)
        for name, value in named:
            if value is not None:
                counts[name][value] += 1
    return {name: sorted(found.items(), key=lambda one: (-one[1], one[0])) for name, found in counts.items()}
