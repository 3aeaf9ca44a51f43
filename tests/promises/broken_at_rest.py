"""Gates broken on purpose at rest: snapshots, seals, anchors and the audit log; ``holes`` says which promise falls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from truekeep import Keep
from truekeep.read.snapshots import Snapshots
from truekeep.records.rows import MemoryRows
from truekeep.stores import inspection
from truekeep.stores.anchor import Anchors
from truekeep.stores.entry import Entry
from truekeep.stores.records import memory_from
from truekeep.stores.seal import Seal
from truekeep.trust.influence import Reader
from truekeep.types import Snapshot, Verdict

Patch = pytest.MonkeyPatch


def snapshots_follow_the_memories(patch: Patch) -> None:
    """Whoever asks for a snapshot gets what is true now."""
    frozen = Snapshots.of

    def of(self: Snapshots, session: str, whom: Reader, *, refresh: bool = False) -> Snapshot:
        return frozen(self, session, whom, refresh=True)

    patch.setattr(Snapshots, "of", of)


def a_write_drops_snapshots(patch: Patch) -> None:
    """What is out of date is thrown away."""
    remember = Keep.remember

    def remembered(self: Keep, text: str, **fields: Any) -> Verdict:
        verdict = remember(self, text, **fields)
        if verdict.accepted:
            with self._ledger.writing() as entry:
                for sealed in self._ledger.all("snapshots"):
                    entry.remove("snapshots", sealed.row)
                entry.event("snapshots.dropped")
        return verdict

    patch.setattr(Keep, "remember", remembered)


def snapshots_list_the_deleted(patch: Patch) -> None:
    """Of what was deleted the index keeps a trace, and a snapshot is made of the index."""
    removed, build, gone = MemoryRows.remove, Snapshots._build, list[Any]()

    def remove(self: MemoryRows, entry: Entry, sealed: Any, *given: Any, **options: Any) -> None:
        gone.append(sealed)
        removed(self, entry, sealed, *given, **options)

    def built(self: Snapshots, session: str, shown: Any, left_out: int) -> Snapshot:
        extra = [self._reader.shown(memory_from(sealed)) for sealed in gone[-1:]]
        return build(self, session, [*shown, *extra], left_out)

    patch.setattr(MemoryRows, "remove", remove)
    patch.setattr(Snapshots, "_build", built)


def rows_are_believed(patch: Patch) -> None:
    """Whatever bytes are there are the keep's."""
    whole = inspection.inspect_rows

    def inspected(*given: Any, **options: Any) -> inspection.Inspection:
        return whole(*given, **options)._replace(altered=(), foreign=(), cards=())

    patch.setattr(inspection, "inspect_rows", inspected)
    patch.setattr(Seal, "holds", lambda *_: True)


def gaps_are_overlooked(patch: Patch) -> None:
    """Rows that are gone are nobody's loss."""
    patch.setattr(inspection.Inspection, "require_nothing_lost", lambda *_: None)


def anchors_are_not_asked(patch: Patch) -> None:
    """The newest event in the store is the newest there was."""
    patch.setattr(Anchors, "heads", lambda _: [])


def the_store_tidies_up(patch: Patch) -> None:
    """With every tenth write the oldest memory makes room, and the log says only that there was tidying."""
    remember = Keep.remember

    def remembered(self: Keep, text: str, **fields: Any) -> Verdict:
        verdict = remember(self, text, **fields)
        if verdict.accepted and self._ledger.head.seq % 5 == 0:
            with self._ledger.writing() as entry:
                entry.remove("memories", self._ledger.all("memories")[0].row)
                entry.event("keep.tidied")
        return verdict

    patch.setattr(Keep, "remember", remembered)


def deletions_are_private(patch: Patch) -> None:
    """Which memory was deleted is nobody's business."""
    event = Entry.event

    def told(self: Entry, kind: str, **body: Any) -> None:
        event(self, kind, **({} if kind == "memory.deleted" else body))

    patch.setattr(Entry, "event", told)


def nobody_else_writes(patch: Patch) -> None:
    """Whoever has a keep open has it to themselves."""
    viewed = inspection.Verified._viewed

    def looked(self: inspection.Verified, check: Callable[[], None]) -> ExitStack:
        return viewed(self, (lambda: None) if check == self.catch_up else check)

    patch.setattr(inspection.Verified, "_viewed", looked)
