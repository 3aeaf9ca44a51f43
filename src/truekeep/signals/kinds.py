"""Kinds of events of the audit log as other systems read them: in words, how serious, and what members may leave.

The table is ``data/signals/kinds.toml``; a test holds it complete. A kind that is not in it (a log written by a newer
version) is still reported, under its name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from truekeep.data import read_table
from truekeep.read.reader import sanitised_json
from truekeep.types import AuditEvent

_LONGEST_BODY = 16_000
"""Characters of an event's body as JSON: receivers of logs cut long lines, and a line cut in two could forge one."""
_INFORMATIONAL = 1


@dataclass(frozen=True, slots=True)
class EventReport:
    """How an event is reported."""

    said: str
    activity: str
    """``create``, ``read``, ``update``, ``delete``, ``other``, or ``finding``."""
    severity: int
    """From 1, informational, to 5, critical."""

    @property
    def is_finding(self) -> bool:
        """Whether something was found that somebody should look at."""
        return self.activity == "finding"


def report_of(event: AuditEvent) -> EventReport:
    """How that event is reported."""
    row = kinds().get(event.kind, {"is": "other", "severity": _INFORMATIONAL})
    said = _words().get(event.kind.replace(".", "_", 1), event.kind)
    severity = row.get("decided", {}).get(event.body.get("decision"))
    if severity is not None:  # a decision that makes an event more serious is what is to be looked at
        return EventReport(said, "finding", severity)
    return EventReport(said, row["is"], row["severity"])


def body_of(event: AuditEvent) -> dict[str, Any]:
    """What an event says, every string of it sanitised and on one line, without what is not set."""
    body = {name: value for name, value in sanitised_json(dict(event.body)).items() if value is not None}
    length = len(json.dumps(body))
    return body if length <= _LONGEST_BODY else {"omitted": f"{length} characters"}


def text_of(event: AuditEvent, *names: str) -> str:
    """The first of those members that is a text, sanitised, on one line; else nothing."""
    body = body_of(event)
    return next((body[name] for name in names if isinstance(body.get(name), str)), "")


@cache
def kinds() -> dict[str, dict[str, Any]]:
    """The table."""
    table: dict[str, dict[str, Any]] = read_table("signals", "kinds.toml")["kinds"]
    return table


@cache
def _words() -> dict[str, str]:
    """The console's words for them."""
    words: dict[str, str] = read_table("console", "en", "audit.toml")["kinds"]
    return words
