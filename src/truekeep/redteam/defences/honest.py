"""What an honest store holds before an attack, as entries of the defences' protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from truekeep.redteam.defences.store import OWNER, PAGE, SYSTEM, Entry
from truekeep.redteam.influence.arena import batches, page_of
from truekeep.redteam.influence.benign import Fact, facts


def entries(size: int, seed: int = 0) -> list[Entry]:
    """The honest memories of a store of this size, with who said each."""
    return told(facts(size, seed))


def told(said: Sequence[Fact]) -> list[Entry]:
    """Facts as entries, in the order in which an honest keep gets them."""
    return [_entry(via, text) for via, texts in batches(said) for text in texts]


def unproved(entries: Sequence[Entry], by: str = OWNER) -> list[Entry]:
    """The same, but nothing that this writer said has been used, credited or confirmed by anybody yet.

    Defences in which memories earn their standing give it to the others, and to four fifths of all unless told so.
    """
    return [replace(entry, claims={**entry.claims, "credited": entry.by != by}) for entry in entries]


def _entry(via: str, text: str) -> Entry:
    if via == "user":
        return Entry(text, OWNER)
    return Entry(text, PAGE, page_of(text)) if via == "web" else Entry(text, SYSTEM, via)
