"""Newer before older: of passages about the same thing the newest comes first, and the older ones say so.

Pure, and without reading what a sentence means: two passages are compared by how near the parts of them are that answer
the question, and by when they were said.
Only what may act outdates anything, so that nothing merely read can push the owner's words down or call them old.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

APART = timedelta(hours=12)
"""Said at least so much later: within a conversation people go on about a thing without taking it back."""
_REACH = 0.3
"""How far in similarity a newer passage may lie behind an older one that it overtakes, for each degree of likeness."""
_SAME = 0.5
"""Likeness from which on two passages are about the same thing."""

_REPLACED = 1.0
"""Of such passages the one is as like the other as can be, however it was worded."""


@dataclass(frozen=True, slots=True)
class DatedHit:
    """A passage that answers a question, as far as its age matters."""

    closeness: float
    """How near its answering part is to the question, as a cosine."""
    moment: datetime
    may_act: bool


@dataclass(frozen=True, slots=True)
class InOrder:
    """The places of passages, newer before older, and which are older than which other one."""

    places: tuple[int, ...]
    older: dict[int, int]


def newest_first(
    said: Sequence[DatedHit], likeness: Sequence[Sequence[float]], replaces: Set[tuple[int, int]] = frozenset()
) -> InOrder:
    """Passages in the order of how well they answer, reordered; ``likeness`` compares their answering parts.

    ``replaces`` are the places of passages of which the one corrects the other, or names another value or somebody else
    in the same words.
    """
    places = list(range(len(said)))
    older: dict[int, int] = {}
    for newer in sorted(places, key=lambda place: said[place].moment):
        for elder in list(places):
            is_replaced = (newer, elder) in replaces and said[newer].may_act
            alike = _REPLACED if is_replaced else likeness[newer][elder]
            if alike < _SAME or not (is_replaced or _outdates(said[newer], said[elder])):
                continue
            older[elder] = newer
            behind = said[elder].closeness - said[newer].closeness
            if behind <= _REACH * alike and places.index(elder) < places.index(newer):
                places.remove(newer)
                places.insert(places.index(elder), newer)
    return InOrder(tuple(places), older)


def _outdates(one: DatedHit, other: DatedHit) -> bool:
    return one.may_act and one.moment - other.moment >= APART
