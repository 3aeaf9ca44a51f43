"""Values: what the service answers as the library's own types, so that code sees no difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from truekeep.action import Answer, Provenance, Traced
from truekeep.boundary import ActionAnswer, Ticket
from truekeep.recall import Recall
from truekeep.types import (
    AuditEvent,
    Decision,
    Finding,
    Memory,
    Origin,
    Recalled,
    Severity,
    Snapshot,
    Standing,
    Threat,
    Verdict,
    Verification,
    utc_moment,
)

Redeem = Callable[[str, str, Mapping[str, Any]], None]


def verdict(body: Mapping[str, Any]) -> Verdict:
    """A verdict, from an answer or from the problem that a rejection is."""
    return Verdict(
        Decision(body["decision"]),
        body["code"],
        body.get("reason") or body.get("error") or "",
        tuple(_finding(one) for one in body.get("findings", ())),
        body.get("id"),
        body.get("review_id"),
    )


def verdicts(body: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a batch; a rejection stands for the whole of it."""
    return [verdict(one) for one in body["memories"]] if "memories" in body else [verdict(body)]


def _finding(body: Mapping[str, Any]) -> Finding:
    start, end = (*body.get("span", ()), 0, 0)[:2]
    return Finding(
        rule_id=body["rule"],
        threat=Threat(body["class"]),
        severity=Severity[body["severity"].upper()],
        span=(start, end),
        field=body["field"],
        screen=body["screen"],
        reason=body["reason"],
    )


def shown(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as ``Keep.get_memories`` gives it."""
    kept = ("id", "blocked", "block_reason", "standing", "may_act", "why", "as_of", "created_at", "expires_at")
    more = ("fades_at", "valid_from", "valid_until", "retired_by", "contests", "kind", "topics", "entities")
    last = ("metadata", "version", "origin")
    return {"content": record["text"], **{name: record.get(name) for name in (*kept, *more, *last)}}


def memory(record: Mapping[str, Any]) -> Memory:
    """A record as a memory."""
    origin = {**record["origin"], "parents": tuple(record["origin"].get("parents", ()))}
    return Memory(
        id=record["id"],
        text=record["text"],
        standing=Standing[record["standing"].upper()],
        origin=Origin(**origin),
        created_at=utc_moment(record["created_at"]),
        as_of=utc_moment(record["as_of"]),
        kind=record["kind"],
        topics=tuple(record["topics"]),
        entities=tuple(record["entities"]),
        metadata=record["metadata"],
        expires_at=utc_moment(record["expires_at"]) if record["expires_at"] else None,
        version=record["version"],
    )


def recall(body: Mapping[str, Any]) -> Recall:
    """The hits of a search as a recall."""
    hits = [
        Recalled(
            text=one["text"],
            score=one["score"],
            may_act=one["may_act"],
            why=one["why"],
            blocked=one["blocked"],
            as_of=utc_moment(one["as_of"]),
            memory=memory(one),
            contests=tuple(one["contests"]),
            retired_by=one["retired_by"],
            valid_until=utc_moment(one["valid_until"]) if one["valid_until"] else None,
        )
        for one in body["memories"]
    ]
    return Recall(hits, body["withheld"], body["degraded"])


def snapshot(body: Mapping[str, Any]) -> Snapshot:
    """A session's snapshot."""
    return Snapshot(
        session=body["session"],
        text=body["text"],
        digest=body["digest"],
        ruleset=body["ruleset"],
        created_at=utc_moment(body["created_at"]),
        shows_hearsay=body["shows_hearsay"],
        stale=body["stale"],
    )


def action(redeem: Redeem) -> Callable[[Mapping[str, Any]], ActionAnswer]:
    """The boundary's answer, whose ticket redeems itself over the service."""

    def parse(body: Mapping[str, Any]) -> ActionAnswer:
        traced = tuple(
            Traced(one["path"], Provenance[one["from"].upper()], "", one["memory"]) for one in body["arguments"]
        )
        return ActionAnswer(
            decision=Answer(body["decision"]),
            code=body["code"],
            reasons=tuple(body["reasons"]),
            ticket=Ticket(body["ticket"], redeem) if body["ticket"] else None,
            traced=traced,
            is_consequential=body["consequential"],
            matched=tuple(one.memory_id for one in traced if one.memory_id),
        )

    return parse


def events(body: Mapping[str, Any]) -> list[AuditEvent]:
    """A page of the audit log."""
    return [
        AuditEvent(one["seq"], utc_moment(one["at"]), one["kind"], one["body"], one["hash"]) for one in body["events"]
    ]


def verification(body: Mapping[str, Any]) -> Verification:
    """What a verification found."""
    return Verification(body["ok"], body["events"], body["rows"], tuple(body["problems"]), tuple(body["unverified"]))
