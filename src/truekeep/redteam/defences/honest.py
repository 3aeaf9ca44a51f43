"""What an honest store holds before an attack, as entries of the defences' protocol."""

from __future__ import annotations

from truekeep.redteam.defences.store import OWNER, PAGE, SYSTEM, Entry
from truekeep.redteam.influence.benign import facts

_PAGES = "https://pages.example/{number}"
_BY = {"user": OWNER, "web": PAGE}


def entries(size: int, seed: int = 0) -> list[Entry]:
    """The honest memories of a store of this size, with who said each; every page is another one."""
    found: list[Entry] = []
    for fact in facts(size, seed):
        for via, text in fact.said:
            by = _BY.get(via, SYSTEM)
            source = _PAGES.format(number=len(found)) if by == PAGE else via if by == SYSTEM else ""
            found.append(Entry(text, by, source))
    return found
