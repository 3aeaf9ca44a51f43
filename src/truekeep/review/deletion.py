"""Forgetting: people delete memories and bring them back; what an agent wants deleted waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truekeep.errors import NotAllowed
from truekeep.stores.records import memory_from
from truekeep.trust.influence import Reader, may_retire
from truekeep.trust.origin import own_principal, require, standing_of
from truekeep.types import Candidate, Channel, Decision, Memory, Origin, Verdict

if TYPE_CHECKING:
    from truekeep.quarantine.removal import Removal
    from truekeep.quarantine.tombstones import Burial
    from truekeep.read.reader import RecordReader
    from truekeep.records.rows import Versions
    from truekeep.sessions.channels import Channels
    from truekeep.stores.ledger import Ledger
    from truekeep.write.gate import Gate


class Deletion:
    """Deletes and restores the memories of one keep."""

    def __init__(
        self,
        ledger: Ledger,
        channels: Channels,
        reader: RecordReader,
        versions: Versions,
        gate: Gate,
        removal: Removal,
        burial: Burial,
    ) -> None:
        self._ledger = ledger
        self._channels = channels
        self._reader = reader
        self._versions = versions
        self._gate = gate
        self._removal = removal
        self._burial = burial

    def delete(self, memory_id: str, *, via: str, reason: str) -> Verdict:
        """Delete a memory, or propose it, as the channel may; the owner's deletion forgets the claim, too."""
        channel = self._channels.get(via)
        memory = memory_from(self._reader.found(memory_id))
        is_shared = self._channels.is_shared()
        if not channel.may("delete") or (is_shared and own_principal(channel) != memory.origin.principal):
            return self._propose(memory, channel)
        with self._ledger.writing() as entry:
            sealed = self._reader.found(
                memory_id
            )  # another process may have changed or removed it since the look above
            memory = memory_from(sealed)
            self._removal.delete(entry, sealed, by=channel.name)
            if memory.verified and not is_shared:  # no member forgets a claim for the others
                self._burial.bury(entry, memory, by=channel.name, reason=reason or "forgotten")
            verdict = Verdict(Decision.ACCEPT, "deleted", "Deleted.", memory_id=memory.id)
            entry.told.append(verdict)
        return verdict

    def _propose(self, memory: Memory, channel: Channel) -> Verdict:
        require(channel, "delete" if channel.may("delete") else "propose")
        proposal = Candidate(memory.text, standing_of(channel), Origin(channel.name, parents=(memory.id,)))
        return self._gate.propose_deletion(memory, proposal)

    def restore(self, memory_id: str, *, via: str, version: int | None) -> Verdict:
        """Make a version that is kept the newest word again, if the channel may delete."""
        channel = self._channels.get(via)
        require(channel, "delete")
        chosen = self._versions.version(memory_id, version)
        whom = Reader(own_principal(channel), self._channels.is_shared())
        if not may_retire(chosen, whom):
            raise NotAllowed("In a shared keep members bring back only their own words.")
        return self._gate.readmit(chosen, by=channel.name)
