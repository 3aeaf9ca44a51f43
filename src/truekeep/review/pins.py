"""Pins: what the owner wants in every prompt, before everything else, and what is proposed to them for it.

A pin gives a memory room and nothing else: it acts, expires and is blocked as before, and its version stays, with
whatever was credited to it. Only who may confirm pins and unpins; a text cannot, and neither can an agent.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, NotAllowed
from truekeep.records.rows import put_pin
from truekeep.search import WISH
from truekeep.stores.records import memory_from
from truekeep.trust.influence import Reader, may_retire
from truekeep.trust.origin import is_hearsay, own_principal, require
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.read.reader import RecordReader
    from truekeep.records.marks import CardMark, Marks
    from truekeep.sessions.channels import Channels
    from truekeep.stores.ledger import Ledger

_MOST_LOOKED_AT = 200
"""Memories that are looked at for proposals, the newest first."""


class Pins:
    """Pins and unpins the memories of one keep."""

    def __init__(
        self,
        ledger: Ledger,
        channels: Channels,
        reader: RecordReader,
        marks: Marks,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._channels = channels
        self._reader = reader
        self._marks = marks
        self._clock = clock

    def set(self, memory_id: str, *, via: str, pinned: bool) -> Verdict:
        """Pin a memory, or take its pin away; doing it twice is fine."""
        channel = self._channels.get(via)
        require(channel, "confirm")
        with self._ledger.writing() as entry:
            sealed = self._reader.found(memory_id)
            memory = memory_from(sealed)
            if not may_retire(memory, Reader(own_principal(channel), self._channels.is_shared())):
                raise NotAllowed("In a shared keep members pin only their own words.")
            if pinned and (not memory.verified or is_hearsay(memory)):
                raise InvalidRequest(
                    "What was merely read cannot be pinned.", code="pin_hearsay", hint="Approve it in review first."
                )
            if memory.pinned != pinned:
                put_pin(entry, sealed, pinned=pinned)
                entry.event("memory.pinned" if pinned else "memory.unpinned", memory=memory.id, by=channel.name)
            verdict = Verdict(Decision.ACCEPT, *_told(pinned=pinned), memory_id=memory.id)
            entry.told.append(verdict)
        return verdict

    def proposed(self, most: int) -> list[dict[str, Any]]:
        """The owner's own acting words that seem to say what must not be missed, the newest first."""
        now, found = self._clock(), list[dict[str, Any]]()
        with self._ledger.reading():
            marks = self._marks.now()
            places = sorted((seq for seq, mark in marks.items() if _is_proposed(mark)), reverse=True)
            rows = self._ledger.at("memories", places[:_MOST_LOOKED_AT])
            for place in filter(rows.__contains__, places[:_MOST_LOOKED_AT]):
                shown = self._reader.shown(memory_from(rows[place]), now)
                if shown.may_act and not shown.is_over(now):
                    found.append(shown.as_dict() | {"essential": marks[place].essential})
        return found[:most]


def _is_proposed(mark: CardMark) -> bool:
    return mark.essential not in ("", WISH) and not mark.pinned


def _told(*, pinned: bool) -> tuple[str, str]:
    return ("pinned", "It comes first in every prompt.") if pinned else ("unpinned", "It is no longer pinned.")
