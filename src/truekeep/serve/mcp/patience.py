"""Patience: how often a person may be asked, so that nobody is worn down into saying yes."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_IN_WINDOW, WINDOW_SECONDS = 20, 600.0
MOST_AT_ONCE = 3
"""Dialogs that a person has open; more are clicked away unread."""
_MOST_PEOPLE, _MOST_DECLINED = 1_000, 500


@dataclass(slots=True)
class _Asked:
    at: deque[float] = field(default_factory=deque)
    open: int = 0
    declined: OrderedDict[str, None] = field(default_factory=OrderedDict)


class Patience:
    """What each person was asked of late. A question they turned down is not put to them again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._people: OrderedDict[str, _Asked] = OrderedDict()

    def refusal(self, who: str, digest: str) -> str:
        """Why this question is not to be asked now, as a code; nothing if it may be."""
        asked, now = self._of(who), self._clock()
        while asked.at and asked.at[0] <= now - WINDOW_SECONDS:
            asked.at.popleft()
        if digest in asked.declined:
            return "declined_before"
        if asked.open >= MOST_AT_ONCE:
            return "other_questions_open"
        return "asked_too_often" if len(asked.at) >= MOST_IN_WINDOW else ""

    def asking(self, who: str) -> None:
        """A question is put to them."""
        asked = self._of(who)
        asked.at.append(self._clock())
        asked.open += 1

    def answered(self, who: str, digest: str, *, declined: bool) -> None:
        """They answered it, or it was given up."""
        asked = self._of(who)
        asked.open = max(0, asked.open - 1)
        if declined:
            asked.declined[digest] = None
            while len(asked.declined) > _MOST_DECLINED:
                asked.declined.popitem(last=False)

    def _of(self, who: str) -> _Asked:
        found = self._people.setdefault(who, _Asked())
        self._people.move_to_end(who)
        while len(self._people) > _MOST_PEOPLE:
            self._people.popitem(last=False)
        return found
