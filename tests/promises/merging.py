"""Consolidation: what says the same is merged, and nobody acts for it who did not, nor stops."""

from __future__ import annotations

from dataclasses import dataclass

from tests.promises.comparison import acting
from tests.promises.record import PromiseBroken
from tests.promises.side import Side
from tests.promises.twins import Twins
from tests.promises.vocabulary import Fact, meaning
from truekeep.trust.influence import Reader

Told = set[tuple[Fact | str, str | None]]


@dataclass(frozen=True)
class Consolidate:
    """Merge on each side, see that what acts for whom is what it was, and take it back so that the life goes on.

    With hearsay about, fewer may be merged than without, because what refers to a memory keeps it from that. So not the
    memories are compared but what they tell, and from whom.
    """

    dry_run: bool = False

    def run(self, twins: Twins) -> None:
        for side in twins.sides:
            before = [_told(side, reader) for reader in twins.world.readers]
            report = side.keep.consolidate(by="eva", reason="tidying up", dry_run=self.dry_run)
            if [_told(side, reader) for reader in twins.world.readers] != before:
                raise PromiseBroken(f"P1/P2: merging on the {side.name} side changed who acts")
            if report["incident"] is not None and report["groups"]:
                side.keep.undo(report["incident"], by="eva", reason="as it was")


def _told(side: Side, reader: Reader) -> Told:
    faces = ((shown.memory.text, shown.memory.origin.principal) for shown in acting(side, reader))
    return {(meaning(text) or text, principal) for text, principal in faces}
