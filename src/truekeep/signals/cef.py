"""Events in ArcSight's Common Event Format: one line each, which nothing in an event can end or add to.

A header is separated by ``|``, the extension by ``=``; both are escaped with a backslash, as the format says. Nothing
but printable ASCII leaves; whatever else a text holds stands as JSON writes it.
"""

from __future__ import annotations

import json
import re

from truekeep import __version__
from truekeep.audit.log import actor_of
from truekeep.signals.kinds import body_of, report_of, text_of
from truekeep.types import AuditEvent

_UNUSUAL = re.compile(r"[^ -~]")
_SEVERITY_STEP = 2
"""The format counts to 10, the table of kinds to 5."""


def as_cef(event: AuditEvent, keep: str) -> str:
    """The event as a line, without its end."""
    report = report_of(event)
    head = ("truekeep", "truekeep", __version__, event.kind, report.said, str(report.severity * _SEVERITY_STEP))
    members = {
        "rt": str(round(event.at.timestamp() * 1_000)),
        "externalId": str(event.seq),
        "cat": "finding" if report.is_finding else report.activity,
        "suser": actor_of(body_of(event)),
        "act": text_of(event, "action"),
        "outcome": text_of(event, "decision"),
        "reason": text_of(event, "code"),
        "cs1Label": "keep",
        "cs1": keep,
        "cs2Label": "hash",
        "cs2": event.hash,
        "msg": json.dumps(body_of(event)),
    }
    extension = " ".join(f"{name}={_escaped(value, '=')}" for name, value in members.items() if value)
    return "|".join(["CEF:0", *(_escaped(part, "|") for part in head), extension])


def _escaped(text: str, separator: str) -> str:
    plain = _UNUSUAL.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return plain.replace("\\", "\\\\").replace(separator, f"\\{separator}")
