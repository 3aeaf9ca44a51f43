"""What a consolidation did, or would do, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truekeep.consolidation.groups import Group
from truekeep.incident import Incident, Report, Section


def report_of(incident: Incident, merged: Sequence[Group], left: Mapping[str, int], *, dry_run: bool) -> Report:
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
        Section("One memory each", ("group", "id", "says"), ones),
        Section("Which stands for", ("group", "id", "standing", "from", "says"), tuple(rows)),
    ]
    return Report(title, facts, sections, data)


def _entry(group: Group, *, dry_run: bool) -> dict[str, Any]:
    chosen = next(one for one in group.shown if one.memory.text == group.made.text)
    return {
        "id": None if dry_run else group.made.id,
        "content": chosen.text,
        "standing": group.made.standing.label,
        "may_act": chosen.may_act,
        "originals": [{"id": one.memory.id, "from": one.origin, "content": one.text} for one in group.shown],
    }
