"""Merge groups of kin, each only if nothing changes for anybody, and write down how to take it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from truekeep.candidate import checked_text
from truekeep.catalog import Catalog
from truekeep.consolidation.groups import Group, Groups
from truekeep.consolidation.report import report_of
from truekeep.custody import Custody
from truekeep.incident import Incident, Report, records
from truekeep.incident.rehearsal import rehearsing
from truekeep.influence import Reader as ForWhom
from truekeep.origin import person_name
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from, new_id
from truekeep.succession import Succession
from truekeep.types import Memory

Progress = Callable[[int, int], None]
"""Told how many groups are done of how many."""
_GROUPS_AT_ONCE = 64
"""So many groups share a transaction; other writers get in between."""
_REASON_CAP = 2_000


class _Refused(Exception):
    """A merge that is not done, and why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True)
class _Run:
    """One consolidation while it goes on."""

    incident: Incident
    dry_run: bool
    readers: Sequence[ForWhom]
    merged: list[Group] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    """How many groups were left as they are, by the reason."""


class Consolidator:
    """Merges what one keep remembers more than once."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        custody: Custody,
        groups: Groups,
        succession: Succession,
        readers: Callable[[], Sequence[ForWhom]],
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._custody = custody
        self._groups = groups
        self._succession = succession
        self._readers = readers
        """For whom memories act: for each of them nothing may change."""
        self._clock = clock

    def run(self, *, by: str, reason: str, dry_run: bool, progress: Progress | None = None) -> Report:
        """Merge what may be merged, or only say what that is: a dry run does all of it and throws it away."""
        who, why = person_name(by), checked_text(reason, _REASON_CAP)
        incident = Incident(new_id("inc"), records.CONSOLIDATE, who, why, self._clock(), {})
        run = _Run(incident, dry_run, self._readers())
        alike = self._groups.alike()
        for start in range(0, len(alike), _GROUPS_AT_ONCE):
            batch = alike[start : start + _GROUPS_AT_ONCE]
            self._merge_all(list(self._with_vectors(self._groups.made(batch, run.left))), run)
            if progress is not None:
                progress(start + len(batch), len(alike))
        return report_of(run.incident, run.merged, run.left, dry_run=dry_run)

    def _with_vectors(self, groups: Iterable[Group]) -> Iterator[Group]:
        listed = list(groups)
        for place, vector in self._catalog.vectors([group.made for group in listed]):
            yield replace(listed[place], vector=vector)

    def _merge_all(self, groups: Sequence[Group], run: _Run) -> None:
        """Merge groups together; if one of them may not be, each by itself."""
        if not groups:
            return
        try:
            run.incident = self._carried_out(groups, run)
            run.merged += groups
        except _Refused as refused:
            if len(groups) == 1:
                run.left[refused.code] += 1
                return
            for group in groups:
                self._merge_all([group], run)

    def _carried_out(self, groups: Sequence[Group], run: _Run) -> Incident:
        removed = [(memory.id, memory.version) for group in groups for memory in group.originals]
        restored = [(group.made.id, group.made.version) for group in groups]
        known = run.incident
        incident = replace(known, removed=(*known.removed, *removed), restored=(*known.restored, *restored))
        with rehearsing(self._ledger, dry_run=run.dry_run) as entry:
            for group in groups:
                self._merge(entry, group, run)
            found = records.find(self._ledger, incident.id)
            if found is None:
                records.put(entry, incident)
            else:
                records.replace(entry, found[0], incident)
            entry.event(
                "incident.consolidated",
                incident=incident.id,
                by=incident.by,
                reason=incident.reason,
                merged=[memory_id for memory_id, _ in restored],
            )
        return incident

    def _merge(self, entry: Entry, group: Group, run: _Run) -> None:
        rows = [row for one in group.originals if (row := self._ledger.get("memories", one.id)) is not None]
        if [memory_from(row) for row in rows] != group.originals or self._groups.is_involved(group.ids):
            raise _Refused("changed_meanwhile")
        views = {self._view(memory, group, run) for memory in group.originals}
        rivals = {link.rival for memory in group.originals for link in self._succession.links(memory)}
        before = [self._view_of(rival, group, run) for rival in sorted(rivals)]
        stored = self._custody.merge(entry, group.made, group.vector, rows, run.incident.id)
        after = [self._view_of(rival, group, run) for rival in sorted(rivals)]
        if views != {self._view(stored, group, run)} or before != after:
            raise _Refused("would_change_who_acts")

    def _view_of(self, memory_id: str, group: Group, run: _Run) -> Hashable:
        sealed = self._ledger.get("memories", memory_id)
        return self._view(memory_from(sealed), group, run) if sealed is not None and sealed.verified else None

    def _view(self, memory: Memory, group: Group, run: _Run) -> Hashable:
        """What a merge leaves as it is: what a memory may do for every reader, and where it stands among its rivals."""

        def named(ids: Iterable[str]) -> frozenset[str]:
            return frozenset(group.made.id if one in group.ids else one for one in ids)

        now = self._clock()
        links = {(named([link.rival]), link.is_newer, link.is_whole) for link in self._succession.links(memory)}
        answers: list[Hashable] = []
        for whom in run.readers:
            settled = self._succession.settled(memory, whom, now)
            place = settled.place
            rivals = (place.retired_by, place.outdated_by, place.held_by, place.contests)
            answers.append((settled.may_act, settled.influence.code, place.until, *map(named, rivals)))
        return frozenset(links), tuple(answers)
