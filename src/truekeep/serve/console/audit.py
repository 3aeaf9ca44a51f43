"""The audit log: a timeline with filters, whether the keep still is what it left, and an export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from truekeep.audit.log import EventFilter, actor_of
from truekeep.config import NAME_CAP
from truekeep.read.reader import sanitised_json
from truekeep.review.advice import event_code
from truekeep.serve.console.desk import Desk, DeskEntry, Seated
from truekeep.serve.console.progress import in_steps
from truekeep.types import AuditEvent, Progress, utc_text

router = APIRouter()
ENTRY = DeskEntry("audit", "audit")
_ON_A_PAGE = 50
_TOLD = ("by", "channel", "via")
"""Members of an event that say who; a line begins with them."""

Name = Annotated[str, Query(max_length=NAME_CAP)]
Day = Annotated[str, Query(max_length=10)]
Number = Annotated[int | None, Query(ge=1, lt=1 << 60)]


@router.get("/k/{keep}/audit")
def audit(
    desk: Seated,
    kind: Name = "",
    by: Name = "",
    since: Day = "",
    until: Day = "",
    before: Number = None,
) -> Response:
    """The newest events first."""
    asked = {"kind": kind, "by": by, "since": since, "until": until}
    with desk.open() as keep:
        page = keep.audit.page(_wanted(asked), before=before, limit=_ON_A_PAGE)
        kinds, actors = keep.audit.kinds(), keep.audit.actors()
    return desk.page(
        "audit.html",
        here="audit",
        asked=asked,
        is_filtered=any(asked.values()),
        days=_by_day(page.events),
        total=page.total,
        kinds=kinds,
        actors=actors,
        older=desk.path("audit", **asked, before=page.before) if page.before is not None else "",
        newest=desk.path("audit", **asked) if before is not None else "",
        export=desk.path("audit.jsonl", **asked),
        linked=linked,
    )


@router.post("/k/{keep}/audit/verify")
def verify(desk: Seated) -> Response:
    """Check every row and every event again, and say what was found."""

    def work(_: Progress) -> Response:
        with desk.open() as keep:
            found = keep.audit.verify()
        return desk.page("verified.html", here="audit", found=found)

    return in_steps(desk, desk.words.t("audit.verify"), work, here="audit")


@router.get("/k/{keep}/audit.jsonl")
def export(desk: Seated, kind: Name = "", by: Name = "", since: Day = "", until: Day = "") -> Response:
    """All events of a filter as JSON lines, newest first."""
    wanted = _wanted({"kind": kind, "by": by, "since": since, "until": until})

    def lines() -> Iterator[str]:
        with desk.open() as keep:
            for event in keep.audit.exported(wanted):
                yield json.dumps(_members(event), ensure_ascii=False) + "\n"

    name = f'attachment; filename="audit-{desk.keep_name}.jsonl"'
    return StreamingResponse(lines(), media_type="application/x-ndjson", headers={"Content-Disposition": name})


def _wanted(asked: dict[str, str]) -> EventFilter:
    """What was asked for; a day that is none limits nothing."""
    return EventFilter(asked["kind"] or None, asked["by"] or None, _day(asked["since"]), _day(asked["until"]))


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _members(event: AuditEvent) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "at": utc_text(event.at),
        "kind": event.kind,
        "body": sanitised_json(dict(event.body)),
        "hash": event.hash,
    }


def _by_day(events: tuple[AuditEvent, ...]) -> list[tuple[date, list[dict[str, Any]]]]:
    """Events under their days, as the page shows them."""
    found: dict[date, list[dict[str, Any]]] = {}
    for event in events:
        body = {name: value for name, value in event.body.items() if value not in (None, [], "") and name not in _TOLD}
        line = {"seq": event.seq, "at": event.at, "kind": event.kind, "by": actor_of(event.body), "body": body}
        line["hash"], line["advice"] = event.hash, event_code(event)
        found.setdefault(event.at.date(), []).append(line)
    return list(found.items())


def linked(desk: Desk, name: str, value: object) -> str:
    """Where a member of an event leads, if it names something that has a page."""
    if not isinstance(value, str):
        return ""
    if name in ("memory", "target", "retired_by") and value.startswith("mem_"):
        return desk.path("memories", value)
    if name == "incident" and value.startswith("inc_"):
        return desk.path("incident", value)
    if name == "item" and value.startswith("rev_") and desk.may("reviewer"):
        return desk.path("inbox", value)
    return ""
