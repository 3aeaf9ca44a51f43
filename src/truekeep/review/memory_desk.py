"""The desk for one memory: a person takes its voice away, gives it back, shares it, or looks at what a rule blocks.

Limits and shares are approvals in the sense of ``may_act``, written as a new version of the same words: what was there
before is in the history, and lifting a limit puts just that approval back, so that nobody gains what they never had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from truekeep.errors import InvalidRequest, NotAllowed
from truekeep.screens.credentials import redact
from truekeep.stores.records import memory_from
from truekeep.trust.candidate import checked_reason
from truekeep.trust.influence import Reader, may_retire
from truekeep.trust.origin import own_principal, person_name, require
from truekeep.types import Approval, Memory, Standing

if TYPE_CHECKING:
    from truekeep.claims.may_act_now import Transitions
    from truekeep.read.reader import RecordReader
    from truekeep.records.catalog import Catalog
    from truekeep.records.rows import MemoryRows
    from truekeep.sessions.channels import Channels
    from truekeep.stores.ledger import Ledger


class MemoryDesk:
    """What people do with single memories of one keep, beside changing and deleting them."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        channels: Channels,
        reader: RecordReader,
        rows: MemoryRows,
        transitions: Transitions,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._channels = channels
        self._reader = reader
        self._rows = rows
        self._transitions = transitions
        self._clock = clock

    def restrict(self, memory_id: str, *, via: str, by: str, reason: str) -> None:
        """Leave a memory as background: it informs from here on, and drives no action. Only who may confirm does."""
        self._require_own(memory_id, via)
        memory = self._verified(memory_id)
        if memory.approval is not None and memory.approval.inform_only:
            raise InvalidRequest("It is background only already.", code="already_restricted")
        before = memory.approval or Approval(by, reason, self._clock())
        approval = replace(before, by=person_name(by), reason=checked_reason(reason), inform_only=True)
        self._put(memory, approval, "memory.restricted", by=by, reason=reason)

    def share(self, memory_id: str, *, via: str, by: str, reason: str) -> None:
        """In a shared keep, let a member's own words count for every member. Only who may review does."""
        require(self._channels.get(via), "review")
        memory = self._verified(memory_id)
        if not self._channels.is_shared() or memory.standing is not Standing.OWNER:
            raise InvalidRequest(
                "Only a member's own words in a shared keep can be shared.",
                code="not_shareable",
                hint="What others said is let in by a review.",
            )
        if memory.approval is not None:
            raise InvalidRequest("A decision limits or shares it already.", code="already_shared")
        approval = Approval(person_name(by), checked_reason(reason), self._clock())
        self._put(memory, approval, "memory.shared", by=by, reason=reason)

    def lift(self, memory_id: str, *, via: str, by: str, reason: str) -> None:
        """Take a limit or a share back: the memory counts again for what it counted before."""
        person_name(by)
        checked_reason(reason)
        if not self._channels.get(via).may("review"):
            self._require_own(memory_id, via)
        memory = self._verified(memory_id)
        before = self._before(memory)
        if before is None:
            raise InvalidRequest("Nothing limits it that could be lifted.", code="not_restricted")
        self._put(memory, before.approval, "memory.unlimited", by=by, reason=reason)

    def blocked_text(self, memory_id: str, *, via: str, by: str) -> str:
        """What stands in an entry that is blocked, without passwords, keys and codes: for a reviewer's eyes alone.

        It is as hostile as it ever was; whoever shows it has to escape it. That it was looked at is in the log.
        """
        require(self._channels.get(via), "review")
        memory = memory_from(self._reader.found(memory_id))
        if not self._reader.shown(memory).blocked:
            raise InvalidRequest("No rule blocks this memory.", code="not_blocked")
        with self._ledger.writing() as entry:
            entry.event("memory.revealed", memory=memory.id, by=person_name(by))
        return redact(memory.text)

    def is_liftable(self, memory_id: str) -> bool:
        """Whether the last change of a memory was a limit or a share."""
        sealed = self._reader.found(memory_id)
        return sealed.verified and self._before(memory_from(sealed)) is not None

    def _before(self, memory: Memory) -> Memory | None:
        """The version before, if it says the same and only its approval is another one."""
        sealed = self._ledger.get("history", f"{memory.id}.{memory.version - 1}")
        if memory.approval is None or sealed is None or not sealed.verified:
            return None
        before = memory_from(sealed)
        is_same = (before.text, before.origin, before.standing) == (memory.text, memory.origin, memory.standing)
        return before if is_same and before.approval != memory.approval else None

    def _require_own(self, memory_id: str, via: str) -> None:
        channel = self._channels.get(via)
        require(channel, "confirm")
        memory = memory_from(self._reader.found(memory_id))
        if not may_retire(memory, Reader(own_principal(channel), self._channels.is_shared())):
            raise NotAllowed("In a shared keep members limit only their own words.")

    def _verified(self, memory_id: str) -> Memory:
        sealed = self._reader.found(memory_id)
        if not sealed.verified:
            raise InvalidRequest("Its record fails its integrity check.", code="unverified_record")
        return memory_from(sealed)

    def _put(self, memory: Memory, approval: Approval | None, kind: str, *, by: str, reason: str) -> None:
        changed = replace(memory, approval=approval)
        ((_, vector),) = self._catalog.vectors([changed])
        with self._ledger.writing() as entry, self._transitions.watching(entry, [memory]) as related:
            stored = self._rows.replace(entry, memory, changed, vector, related)
            entry.event(kind, memory=stored.id, version=stored.version, by=by, reason=reason)
