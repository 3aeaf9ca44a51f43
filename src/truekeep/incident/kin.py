"""What the kit looks back over: memories and sessions without their texts, read once and followed from then on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from truekeep.archive import Version, merged_in, now_part_of, version_in
from truekeep.exposures import Exposure, exposure_from
from truekeep.followed import Followed
from truekeep.incident.lineage import Lineage
from truekeep.register import Register
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from
from truekeep.transcripts import Observation, observations
from truekeep.types import Memory


class Kin:
    """Who is derived from whom in one keep, and who saw it."""

    def __init__(self, ledger: Ledger, register: Register) -> None:
        self._ledger = ledger
        self._register = register
        self._exposures = Followed(ledger, "exposures", exposure_from)
        self._merged = Followed(ledger, "history", _merged_version)
        self._read = Followed(ledger, "observations", _observed)
        self._lineage: tuple[tuple[int, ...], Lineage] | None = None
        self._shown: tuple[int, Mapping[str, Sequence[Exposure]]] | None = None

    def lineage(self) -> Lineage:
        """The graph over everything that is in the keep now, and what was merged into it; altered rows are left out.

        Its memories have no texts: ``whole`` gives those.
        """
        with self._ledger.reading():
            memories, merged, exposures = self._register.memories(), self._merged.now(), self._exposures.now()
            if any(map(self._ledger.is_changing, ("memories", "history", "exposures"))):
                return _graph(memories.values(), merged.values(), exposures.values())
            state = (self._register.revision, self._merged.revision, self._exposures.revision)
            if self._lineage is None or self._lineage[0] != state:
                self._lineage = state, _graph(memories.values(), merged.values(), exposures.values())
            return self._lineage[1]

    def whole(self, memory: Memory) -> Memory:
        """A memory of the graph with its text; one that was merged as it was before."""
        sealed = self._ledger.get("memories", memory.id)
        if sealed is not None:
            return memory_from(sealed)
        kept = self._ledger.get("history", f"{memory.id}.{memory.version}")
        return replace(memory_from(kept), id=memory.id) if kept is not None and kept.verified else memory

    def read(self) -> Iterable[Observation]:
        """What sessions took in, without the texts, oldest first."""
        return self._read.now().values()

    def exposures(self, memory_id: str) -> Sequence[Exposure]:
        """Every exposure of a memory, oldest first."""
        with self._ledger.reading():
            known = self._exposures.now()
            if self._shown is None or self._shown[0] != self._exposures.revision:
                self._shown = self._exposures.revision, _by_memory(known.values())
            return self._shown[1].get(memory_id, ())

    def merged(self) -> dict[str, set[str]]:
        """By what stands for several memories now, all that were said one by one before any were merged."""
        if not self._merged.now():
            return {}
        into = merged_in(self._ledger)
        merges, found = set(into.values()), defaultdict[str, set[str]](set)
        for original in into.keys() - merges:
            found[now_part_of(original, into)].add(original)
        return {name: said for name, said in found.items() if self._ledger.get("memories", name) is not None}


def _graph(memories: Iterable[Memory], merged: Iterable[Version], exposures: Iterable[Exposure]) -> Lineage:
    listed = list(memories)
    living, versions = {memory.id for memory in listed}, list(merged)
    into = {version.memory.id: version.into for version in versions if version.into is not None}
    parts = [one.memory for one in versions if now_part_of(one.memory.id, into) in living]
    return Lineage.of([*parts, *listed], exposures)


def _by_memory(exposures: Iterable[Exposure]) -> Mapping[str, Sequence[Exposure]]:
    found: defaultdict[str, list[Exposure]] = defaultdict(list)
    for exposure in exposures:
        for memory_id in dict.fromkeys(memory_id for memory_id, _ in exposure.memories):
            found[memory_id].append(exposure)
    return found


def _merged_version(sealed: Sealed) -> Version | None:
    version = version_in(sealed)
    if version is None or version.into is None:
        return None
    return replace(version, memory=replace(version.memory, text="", topics=(), entities=(), metadata={}))


def _observed(sealed: Sealed) -> Observation | None:
    found = observations([sealed])
    return replace(found[0], text="", own="", pasted=()) if found else None
