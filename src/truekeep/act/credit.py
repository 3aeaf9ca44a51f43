"""Credit: an outcome authority says how a run ended, and the memories its redeemed tickets used are the wiser for it.

Good credit lifts. Bad credit opens a review and lowers the rank; it removes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from truekeep.config import Settings
from truekeep.errors import InvalidRequest, NotAllowed, UnknownId
from truekeep.holding import Holding
from truekeep.origin import require, session_name
from truekeep.proofs import Proofs
from truekeep.settlement import Settlement
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from
from truekeep.tickets import Tickets
from truekeep.types import Channel, Memory, utc_moment, utc_text

OUTCOMES = ("good", "bad")
_HOUR = timedelta(hours=1)


class CreditBook:
    """The outcomes of one keep's runs."""

    def __init__(
        self,
        ledger: Ledger,
        tickets: Tickets,
        proofs: Proofs,
        settlement: Settlement,
        holding: Holding,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._tickets = tickets
        self._proofs = proofs
        self._settlement = settlement
        self._holding = holding
        self._settings = settings
        self._clock = clock

    def record(self, run: str, outcome: str, channel: Channel) -> dict[str, Any]:
        """Write down how a run ended; returns the memories that it counts for."""
        require(channel, "credit")
        if outcome not in OUTCOMES:
            raise InvalidRequest("No such outcome.", code="unknown_outcome", hint=f"Outcomes: {', '.join(OUTCOMES)}.")
        now = self._clock()
        with self._ledger.writing() as entry:
            memories = self._used(session_name(run))
            if self._ledger.get("credits", run) is not None:
                raise InvalidRequest("This run was credited already.", code="run_credited")
            self._require_room(channel, now)
            body = {"v": 1, "outcome": outcome, "memories": memories, "via": channel.name, "at": utc_text(now)}
            with self._crediting(entry, memories):
                entry.put("credits", run, body, tag=channel.name)
                entry.event("run.credited", run=run, outcome=outcome, via=channel.name, memories=sorted(memories))
            if outcome == "bad":
                self._doubt(entry, memories)
        return {"run": run, "outcome": outcome, "memories": sorted(memories)}

    def _used(self, run: str) -> dict[str, int]:
        """The memories that the run's redeemed tickets put to the test, with their versions.

        A run that did nothing is not known, and a memory that was changed after its ticket counts for nothing.
        """
        spent = [record for record in self._tickets.spent() if record.run == run]
        if not spent:
            raise UnknownId(
                "No action of that run was carried out.", code="unknown_run", hint="Credit counts for redeemed tickets."
            )
        used = {(memory_id, record.at) for record in spent for memory_id in record.credited}
        found = ((self._ledger.get("memories", memory_id), at) for memory_id, at in used)
        memories = [(memory_from(sealed), at) for sealed, at in found if sealed is not None and sealed.verified]
        return {memory.id: memory.version for memory, at in memories if memory.created_at <= at}

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

    @contextmanager
    def _crediting(self, entry: Entry, memories: Iterable[str]) -> Iterator[None]:
        """Record what a credit changes in who acts; the block writes the credit."""
        with self._settlement.watching(entry, self._verified(memories)):
            yield
            self._proofs.recount()

    def _doubt(self, entry: Entry, memories: Iterable[str]) -> None:
        """Ask a person about memories that led to a bad outcome."""
        for memory in self._verified(memories):
            self._holding.doubt(entry, memory)

    def _verified(self, memories: Iterable[str]) -> list[Memory]:
        found = (self._ledger.get("memories", memory_id) for memory_id in memories)
        return [memory_from(sealed) for sealed in found if sealed is not None and sealed.verified]
