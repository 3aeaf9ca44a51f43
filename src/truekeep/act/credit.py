"""Credit: an outcome authority says how a run ended, and the memories its redeemed tickets used are the wiser for it.

Good credit lifts. Bad credit opens a review and lowers the rank; it removes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, NotAllowed, UnknownId
from truekeep.stores.records import memory_from
from truekeep.trust.flow.reading import WEIGHTY, read
from truekeep.trust.origin import require, session_name
from truekeep.types import Channel, Memory, utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.act.tickets import TicketRecord, Tickets
    from truekeep.claims.may_act_now import Transitions
    from truekeep.config import Settings
    from truekeep.quarantine.queue import Queue
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger

OUTCOMES = ("good", "bad")
_HOUR = timedelta(hours=1)


class CreditBook:
    """The outcomes of one keep's runs."""

    def __init__(
        self,
        ledger: Ledger,
        tickets: Tickets,
        transitions: Transitions,
        queue: Queue,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._tickets = tickets
        self._transitions = transitions
        self._queue = queue
        self._settings = settings
        self._clock = clock

    def record(self, run: str, outcome: str, channel: Channel) -> dict[str, Any]:
        """Write down how a run ended; returns the memories that it counts for."""
        require(channel, "credit")
        if outcome not in OUTCOMES:
            raise InvalidRequest("No such outcome.", code="unknown_outcome", hint=f"Outcomes: {', '.join(OUTCOMES)}.")
        now = self._clock()
        with self._ledger.writing() as entry:
            memories = self._used(session_name(run), is_good=outcome == "good")
            if self._ledger.get("credits", run) is not None:
                raise InvalidRequest("This run was credited already.", code="run_credited")
            self._require_room(channel, now)
            body = {"v": 1, "outcome": outcome, "memories": memories, "via": channel.name, "at": utc_text(now)}
            with self._transitions.watching(entry, self._verified(memories)):
                entry.put("credits", run, body, tag=channel.name)
                entry.event("run.credited", run=run, outcome=outcome, via=channel.name, memories=sorted(memories))
            if outcome == "bad":
                self._doubt(entry, memories)
        return {"run": run, "outcome": outcome, "memories": sorted(memories)}

    def _used(self, run: str, *, is_good: bool) -> dict[str, int]:
        """The memories that the run's redeemed tickets put to the test, with their versions.

        A run that did nothing is not known, and a memory that was changed after its ticket counts for nothing. That it
        went well speaks for the values in the calls alone, so it lifts no memory that gives other ones besides.
        """
        spent = [record for record in self._tickets.spent() if record.run == run]
        if not spent:
            raise UnknownId(
                "No action of that run was carried out.", code="unknown_run", hint="Credit counts for redeemed tickets."
            )
        used = {(memory_id, record.at) for record in spent for memory_id in record.credited}
        found = ((self._ledger.get("memories", memory_id), at) for memory_id, at in used)
        memories = [(memory_from(sealed), at) for sealed, at in found if sealed is not None and sealed.verified]
        return {
            memory.id: memory.version
            for memory, at in memories
            if memory.created_at <= at and not (is_good and _untried(memory, spent))
        }

    def _require_room(self, channel: Channel, now: datetime) -> None:
        """One channel reports only so many outcomes an hour, so that a burst cannot decide anything."""
        most = self._settings.credits_per_hour
        rows = self._ledger.tagged("credits", channel.name, limit=-1)[-most:] if most else []
        recent = [row for row in rows if row.verified and now - utc_moment(json.loads(row.row.body)["at"]) < _HOUR]
        if len(recent) >= most:
            raise NotAllowed(
                "This channel has reported as many outcomes as it may in an hour.",
                code="credit_limit",
                hint="The setting credits_per_hour decides.",
            )

    def _doubt(self, entry: Entry, memories: Iterable[str]) -> None:
        """Ask a person about memories that led to a bad outcome."""
        for memory in self._verified(memories):
            self._queue.doubt(entry, memory)

    def _verified(self, memories: Iterable[str]) -> list[Memory]:
        found = (self._ledger.get("memories", memory_id) for memory_id in memories)
        return [memory_from(sealed) for sealed in found if sealed is not None and sealed.verified]


def _untried(memory: Memory, spent: Iterable[TicketRecord]) -> frozenset[str]:
    """Accounts, addresses and the like that a memory gives and no call of the run used; where it gives none, its names.

    A payment to Northwind says nothing about Northwind's plan.
    """
    said = read(memory.text)
    tried = [read(value) for record in spent for value in record.matched_values.get(memory.id, ())]
    given = frozenset(value.key for value in said.values if value.kind in WEIGHTY)
    if given:
        return given.difference(*(value.keys for value in tried))
    names = (said.flat[start:end] for _, start, end in said.spans[1:] if said.cased[start].isupper())
    return frozenset(names).difference(*(value.words for value in tried))
