"""What an honest store holds before an attack, as entries of the defences' protocol."""

from __future__ import annotations

from collections.abc import Sequence

from truekeep.redteam.defences.store import OWNER, PAGE, SYSTEM, Entry
from truekeep.redteam.influence.arena import batches, page_of
from truekeep.redteam.influence.benign import Fact, facts


def entries(size: int, seed: int = 0) -> list[Entry]:
    """The honest memories of a store of this size, with who said each."""
    return told(facts(size, seed))


def told(said: Sequence[Fact]) -> list[Entry]:
    """Facts as entries, in the order in which an honest keep gets them."""
    return [_entry(via, text) for via, texts in batches(said) for text in texts]


def _entry(via: str, text: str) -> Entry:
    if via == "user":
        return Entry(text, OWNER)
    return Entry(text, PAGE, page_of(text)) if via == "web" else Entry(text, SYSTEM, via)
