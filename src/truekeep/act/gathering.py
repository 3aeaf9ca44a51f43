"""Gather what a session offers as evidence for a call: its texts, memories that may act, plans, grants, what it used.

Nothing is judged here, and nothing is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from truekeep.act.tickets import SPENT
from truekeep.act.value_index import MemoryValueIndex
from truekeep.stores.records import memory_from
from truekeep.trust.flow.evidence import SessionEvidence
from truekeep.trust.flow.stored import ActingTexts, StoredIndex
from truekeep.trust.flow.tools import Tool, tool_for
from truekeep.trust.influence import Reader
from truekeep.trust.origin import AGENT
from truekeep.types import Standing

if TYPE_CHECKING:
    from truekeep.act.grants import Grants
    from truekeep.act.tickets import Tickets
    from truekeep.read.reader import RecordReader
    from truekeep.sessions.channels import Channels
    from truekeep.sessions.sessions import Sessions, SessionState
    from truekeep.stores.ledger import Ledger
    from truekeep.types import Memory


class Gathering:
    """The evidence of one keep's sessions."""

    def __init__(
        self,
        ledger: Ledger,
        channels: Channels,
        sessions: Sessions,
        reader: RecordReader,
        tickets: Tickets,
        grants: Grants,
        tools: Mapping[str, Tool],
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._channels = channels
        self._sessions = sessions
        self._reader = reader
        self._tickets = tickets
        self._grants = grants
        self._tools = tools
        self._clock = clock
        self._values = MemoryValueIndex(ledger)
        self._took_in = False
        """Whether a session took something in already: a process that ends after one text, as a hook does, looks up
        nothing afterwards."""

    def take_in(self, session: str) -> None:
        """Read what a session took in as soon as it is there, so that no call has to wait for it."""
        self._sessions.transcript(session).read_for_calls(self.declared(self._sessions.state(session)))
        for index in self._values.indexes() if self._took_in else ():
            index.postings.settle()
        self._took_in = True

    def evidence(self, session: str, purpose: str | None = None) -> SessionEvidence:
        """Everything this session could have got a value from, for a call of the tool that is its purpose."""
        state, now = self._sessions.state(session), self._clock()
        is_shared = self._channels.is_shared()
        whom = Reader(state.member if is_shared else None, is_shared, purpose)
        tools = self.declared(state)
        seen = self._sessions.transcript(session).read_for_calls(tools)
        proven, hearsay = self._values.indexes()
        acting = self._acting(whom, now)
        mine = self._tickets.used_in(session)
        used = [one for one in mine if one.state == SPENT]
        spent = Counter(one.action for one in used)
        # A reading call whose result nobody has reported: what it brought into the session is not known.
        unreported = any(
            times > seen.results[session, name] for name, times in spent.items() if tool_for(name, tools).is_reading
        )
        evidence = SessionEvidence(
            now=now,
            clean=state.is_clean and not unreported,
            memories=ActingTexts(proven, acting),
            hearsay=hearsay,
            notes=ActingTexts(proven, lambda memory_id: not acting(memory_id)),
            foreign=seen.foreign,
            private=seen.private,
            public=seen.public,
            requests=seen.requests,
            records=seen.records,
            tools=tools,
            plan=state.plan,
            grants=self._grants.standing(whom.principal),
            confirmed=tuple(frozenset(one.values) for one in mine if one.is_confirmed),
            is_bare_note=self._is_bare_note,
        )
        for record in used:
            evidence.spend({name: frozenset(values) for name, values in record.uses.items()})
        return evidence

    def _is_bare_note(self, memory_id: str) -> bool:
        """Whether a memory is the agent's note from a session without a mediator, to which nothing foreign came.

        Where a host reports what is read, a note of a tainted session may hold what was read, and stays hearsay.
        """
        memory = self.memory(memory_id)
        if memory is None or memory.origin.channel != AGENT or memory.origin.session is None:
            return False
        name = memory.origin.session
        if self._sessions.state(name).is_mediated:
            return False
        seen = self._sessions.observations(name)
        return all(one.standing is Standing.OWNER and not one.pasted for one in seen)

    def declared(self, state: SessionState) -> dict[str, Tool]:
        """The operator's declarations, and those of the session's host, which know the tools themselves."""
        return dict(self._tools) | dict(state.tools)

    def indexes(self) -> tuple[StoredIndex, StoredIndex]:
        """The memories by their values: what stands above hearsay, and hearsay."""
        return self._values.indexes()

    def _acting(self, whom: Reader, now: datetime) -> Callable[[str], bool]:
        known: dict[str, bool] = {}

        def acts(memory_id: str) -> bool:
            if memory_id not in known:
                memory = self.memory(memory_id)
                known[memory_id] = memory is not None and self._reader.shown(memory, now, whom=whom).may_act
            return known[memory_id]

        return acts

    def memory(self, memory_id: str) -> Memory | None:
        """One memory from its verified row."""
        sealed = self._ledger.get("memories", memory_id)
        return memory_from(sealed) if sealed is not None and sealed.verified else None
