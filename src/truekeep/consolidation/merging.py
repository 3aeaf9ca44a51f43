"""Merge groups of kin, each only if nothing changes for anybody, and write down how to take it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.consolidation.groups import DuplicateGroup, Groups
from truekeep.incident import records
from truekeep.incident.records import Incident, rehearsing
from truekeep.incident.report import IncidentReport, ReportSection
from truekeep.stores.records import memory_from, new_id
from truekeep.trust.candidate import checked_reason
from truekeep.trust.influence import Reader
from truekeep.trust.origin import person_name

if TYPE_CHECKING:
    from truekeep.claims.may_act_now import MayActNow
    from truekeep.quarantine.removal import Removal
    from truekeep.records.catalog import Catalog
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger
    from truekeep.types import Memory, Progress

_GROUPS_AT_ONCE = 64
"""So many groups share a transaction; other writers get in between."""


def report_of(
    incident: Incident, merged: Sequence[DuplicateGroup], left: Mapping[str, int], *, dry_run: bool
) -> IncidentReport:
    """The report; nothing was done in a dry run, so nothing has an id yet."""
    groups = [_entry(group, dry_run=dry_run) for group in merged]
    has_done = bool(groups) and not dry_run
    originals = sum(len(group["originals"]) for group in groups)
    data: dict[str, Any] = {
        "incident": incident.id if has_done else None,
        "dry_run": dry_run,
        "groups": groups,
        "left": dict(left),
    }
    facts = {
        "By": incident.by,
        "Reason": incident.reason,
        "Memories": f"{originals} that say the same as another become {len(groups)}",
        "Left as they are": ", ".join(f"{count} ({code})" for code, count in left.items()) or "none",
    } | ({"Undo": f"truekeep undo {incident.id}"} if has_done else {})
    rows = [
        (str(number), one["id"], group["standing"], one["from"], one["content"])
        for number, group in enumerate(groups, 1)
        for one in group["originals"]
    ]
    ones = tuple((str(number), group["id"] or "", group["content"]) for number, group in enumerate(groups, 1))
    title = "What consolidating would do" if dry_run else "Consolidation"
    sections = [
        ReportSection("One memory each", ("group", "id", "says"), ones),
        ReportSection("Which stands for", ("group", "id", "standing", "from", "says"), tuple(rows)),
    ]
    return IncidentReport(title, facts, sections, data)


def _entry(group: DuplicateGroup, *, dry_run: bool) -> dict[str, Any]:
    chosen = next(one for one in group.shown if one.memory.text == group.made.text)
    return {
        "id": None if dry_run else group.made.id,
        "content": chosen.text,
        "standing": group.made.standing.label,
        "may_act": chosen.may_act,
        "originals": [{"id": one.memory.id, "from": one.origin, "content": one.text} for one in group.shown],
    }


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
    readers: Sequence[Reader]
    merged: list[DuplicateGroup] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    """How many groups were left as they are, by the reason."""


class Consolidator:
    """Merges what one keep remembers more than once."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        removal: Removal,
        groups: Groups,
        may_act_now: MayActNow,
        readers: Callable[[], Sequence[Reader]],
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._removal = removal
        self._groups = groups
        self._may_act_now = may_act_now
        self._readers = readers
        """For whom memories act: for each of them nothing may change."""
        self._clock = clock

    def run(self, *, by: str, reason: str, dry_run: bool, progress: Progress | None = None) -> IncidentReport:
        """Merge what may be merged, or only say what that is: a dry run does all of it and throws it away."""
        who, why = person_name(by), checked_reason(reason)
        incident = Incident(new_id("inc"), records.CONSOLIDATE, who, why, self._clock(), {})
        run = _Run(incident, dry_run, self._readers())
        alike = self._groups.alike()
        for start in range(0, len(alike), _GROUPS_AT_ONCE):
            batch = alike[start : start + _GROUPS_AT_ONCE]
            self._merge_all(list(self._with_vectors(self._groups.made(batch, run.left))), run)
            if progress is not None:
                progress(start + len(batch), len(alike))
        return report_of(run.incident, run.merged, run.left, dry_run=dry_run)

    def _with_vectors(self, groups: Iterable[DuplicateGroup]) -> Iterator[DuplicateGroup]:
        listed = list(groups)
        for place, vector in self._catalog.vectors([group.made for group in listed]):
            yield replace(listed[place], vector=vector)

    def _merge_all(self, groups: Sequence[DuplicateGroup], run: _Run) -> None:
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

    def _carried_out(self, groups: Sequence[DuplicateGroup], run: _Run) -> Incident:
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

    def _merge(self, entry: Entry, group: DuplicateGroup, run: _Run) -> None:
        rows = [row for one in group.originals if (row := self._ledger.get("memories", one.id)) is not None]
        if [memory_from(row) for row in rows] != group.originals or self._groups.is_involved(group.ids):
            raise _Refused("changed_meanwhile")
        views = {self._view(memory, group, run) for memory in group.originals}
        contradictions = {link.rival for memory in group.originals for link in self._may_act_now.links(memory)}
        before = [self._view_of(rival, group, run) for rival in sorted(contradictions)]
        stored = self._removal.merge(entry, group.made, group.vector, rows, run.incident.id)
        after = [self._view_of(rival, group, run) for rival in sorted(contradictions)]
        if views != {self._view(stored, group, run)} or before != after:
            raise _Refused("would_change_who_acts")

    def _view_of(self, memory_id: str, group: DuplicateGroup, run: _Run) -> Hashable:
        sealed = self._ledger.get("memories", memory_id)
        return self._view(memory_from(sealed), group, run) if sealed is not None and sealed.verified else None

    def _view(self, memory: Memory, group: DuplicateGroup, run: _Run) -> Hashable:
        """What a merge leaves as it is: what a memory may do for every reader, and where it stands among its rivals."""

        def named(ids: Iterable[str]) -> frozenset[str]:
            return frozenset(group.made.id if one in group.ids else one for one in ids)

        now = self._clock()
        links = {(named([link.rival]), link.is_newer, link.is_whole) for link in self._may_act_now.links(memory)}
        answers: list[Hashable] = []
        for whom in run.readers:
            settled = self._may_act_now.settled(memory, whom, now)
            place = settled.place
            contradictions = (place.retired_by, place.outdated_by, place.held_by, place.contests)
            answers.append((settled.may_act, settled.influence.code, place.until, *map(named, contradictions)))
        return frozenset(links), tuple(answers)
