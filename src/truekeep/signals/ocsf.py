"""Events in the shape of the Open Cybersecurity Schema Framework: a detection finding, or an activity.

One JSON object an event. https://schema.ocsf.io has the classes; what of an event has no place in them is ``unmapped``.
"""

from __future__ import annotations

from typing import Any

from truekeep import __version__
from truekeep.audit.log import actor_of
from truekeep.signals.kinds import EventReport, body_of, report_of
from truekeep.types import AuditEvent

VERSION = "1.4.0"
"""Of the schema."""
_SEVERITIES = ("Unknown", "Informational", "Low", "Medium", "High", "Critical")
_ACTIVITIES = {"create": 1, "read": 2, "update": 3, "delete": 4, "other": 99}
_API, _FINDING = 6003, 2004
_CREATED = 1
"""A finding's activity: each event tells of it once."""


def as_ocsf(event: AuditEvent, keep: str) -> dict[str, Any]:
    """The event as an object of the schema."""
    report, body = report_of(event), body_of(event)
    uid, activity = (_FINDING, _CREATED) if report.is_finding else (_API, _ACTIVITIES[report.activity])
    return {
        "class_uid": uid,
        "category_uid": uid // 1_000,
        "activity_id": activity,
        "type_uid": uid * 100 + activity,
        "time": round(event.at.timestamp() * 1_000),
        "severity_id": report.severity,
        "severity": _SEVERITIES[report.severity],
        "message": report.said,
        "metadata": {
            "version": VERSION,
            "product": {"name": "truekeep", "vendor_name": "truekeep", "version": __version__},
            "uid": f"{keep}-{event.seq}",
            "sequence": event.seq,
            "event_code": event.kind,
            "tenant_uid": keep,
        },
        **(_found(event, keep, report, body) if report.is_finding else _did(event, body)),
        "unmapped": {**body, "hash": event.hash},
    }


def _found(event: AuditEvent, keep: str, report: EventReport, body: dict[str, Any]) -> dict[str, Any]:
    info = {"uid": f"{keep}-{event.seq}", "title": report.said, "types": [event.kind]}
    code = body.get("code")
    return {"finding_info": info, **({"status_code": code} if isinstance(code, str) else {})}


def _did(event: AuditEvent, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "actor": {"user": {"name": actor_of(body) or "truekeep"}},
        "api": {"operation": event.kind, "service": {"name": "truekeep"}},
        "src_endpoint": {"svc_name": "truekeep"},
    }
