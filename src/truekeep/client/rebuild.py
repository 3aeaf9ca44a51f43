"""Rebuilding: JSON members become the values that an embedded keep returns; memories, verdicts and answers here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from truekeep.action import Answer, Provenance, Traced
from truekeep.boundary import ActionAnswer, Ticket
from truekeep.client.members import Members, as_number, malformed
from truekeep.recall import Recall
from truekeep.types import (
    Decision,
    Finding,
    Item,
    Memory,
    Origin,
    Recalled,
    Severity,
    Snapshot,
    Standing,
    Threat,
    Verdict,
)

STANDINGS = {standing.label: standing for standing in Standing}
_DECISIONS = {decision.value: decision for decision in Decision}
_SEVERITIES = {severity.label: severity for severity in Severity}
_THREATS = {threat.value: threat for threat in Threat}
_ANSWERS = {answer.value: answer for answer in Answer}
_PROVENANCES = {provenance.name.lower(): provenance for provenance in Provenance}

Redeem = Callable[[str, str, Mapping[str, Any]], None]


def verdict(held: object) -> Verdict:
    """What was decided about a text. A rejection says why under ``error``."""
    members = Members(held)
    decision = members.one_of("decision", _DECISIONS)
    return Verdict(
        decision=decision,
        code=members.text("code"),
        reason=members.text("error" if decision is Decision.REJECT else "reason"),
        findings=members.each("findings", finding),
        memory_id=members.maybe_text("id"),
        item_id=members.maybe_text("review_id"),
    )


def finding(held: object) -> Finding:
    """What a screen saw; a class that this version does not know is a threat."""
    members = Members(held)
    span = members.each("span", lambda at: int(as_number(at)))
    if len(span) != 2:
        raise malformed()
    return Finding(
        rule_id=members.text("rule"),
        threat=_THREATS.get(members.text("class"), Threat.OTHER),
        severity=members.one_of("severity", _SEVERITIES),
        span=(span[0], span[1]),
        field=members.text("field"),
        screen=members.text("screen"),
        reason=members.text("reason"),
    )


def recall(held: object) -> Recall:
    """The hits of a recall, and what was withheld."""
    members = Members(held)
    withheld = {name: int(as_number(count)) for name, count in members.mapping("withheld").items()}
    return Recall(members.each("hits", _recalled), withheld, members.text("degraded"))


def _recalled(held: object) -> Recalled:
    members = Members(held)
    return Recalled(
        text=members.text("text"),
        score=members.number("score"),
        may_act=members.flag("may_act"),
        why=members.text("why"),
        blocked=members.flag("blocked"),
        as_of=members.moment("as_of"),
        memory=_memory(members),
        explain={name: as_number(value) for name, value in members.mapping("explain").items()},
        contests=members.texts("contests"),
        retired_by=members.maybe_text("retired_by"),
        valid_until=members.maybe_moment("valid_until"),
    )


def _memory(members: Members) -> Memory:
    return Memory(
        id=members.text("id"),
        text=members.text("text"),
        standing=members.one_of("standing", STANDINGS),
        origin=_origin(members.mapping("origin")),
        created_at=members.moment("created_at"),
        as_of=members.moment("as_of"),
        kind=members.text("kind"),
        topics=members.texts("topics"),
        entities=members.texts("entities"),
        metadata=members.mapping("metadata"),
        expires_at=members.maybe_moment("expires_at"),
        version=members.whole("version"),
        valid_from=members.maybe_moment("valid_from"),
        verified=members.flag("verified"),
    )


def _origin(held: Mapping[str, Any]) -> Origin:
    members = Members(held)
    return Origin(
        channel=members.text("channel"),
        principal=members.maybe_text("principal"),
        session=members.maybe_text("session"),
        message=members.maybe_text("message"),
        quote=members.maybe_text("quote"),
        parents=members.texts("parents") if "parents" in held else (),
        carrier=members.maybe_text("carrier"),
        prompt=members.maybe_text("prompt"),
    )


def item(held: object) -> Item:
    """Something that waits for a person, with as much of its memory as is shown of it."""
    members = Members(held)
    created = members.moment("created_at")
    memory = Memory(
        id=members.maybe_text("target") or members.text("id"),
        text=members.text("content"),
        standing=members.one_of("standing", STANDINGS),
        origin=_origin(members.mapping("origin")),
        created_at=created,
        as_of=created,
    )
    return Item(
        id=members.text("id"),
        kind=members.text("kind"),
        state=members.text("state"),
        memory=memory,
        code=members.text("code"),
        reason=members.text("reason"),
        findings=members.each("findings", finding),
        created_at=created,
        expires_at=members.moment("expires_at"),
        target=members.maybe_text("target"),
        contests=members.texts("contests"),
        decided_by=members.maybe_text("decided_by"),
        decided_reason=members.maybe_text("decided_reason"),
        decided_at=members.maybe_moment("decided_at"),
    )


def action_answer(held: object, redeem: Redeem) -> ActionAnswer:
    """The act boundary's answer; its ticket is redeemed over the same client."""
    members = Members(held)
    ticket = members.maybe_text("ticket")
    traced = members.each("arguments", _traced)
    return ActionAnswer(
        decision=members.one_of("decision", _ANSWERS),
        code=members.text("code"),
        reasons=members.texts("reasons"),
        ticket=Ticket(ticket, redeem) if ticket is not None else None,
        traced=traced,
        is_consequential=members.flag("consequential"),
        matched=tuple(dict.fromkeys(one.memory_id for one in traced if one.memory_id)),
    )


def _traced(held: object) -> Traced:
    members = Members(held)
    provenance = members.one_of("from", _PROVENANCES)
    return Traced(members.text("path"), provenance, "", members.maybe_text("memory"))


def snapshot(held: object) -> Snapshot:
    """The frozen text for a session's prompt."""
    members = Members(held)
    return Snapshot(
        session=members.text("session"),
        text=members.text("text"),
        digest=members.text("digest"),
        ruleset=members.text("ruleset"),
        created_at=members.moment("created_at"),
        shows_hearsay=members.flag("shows_hearsay"),
        stale=members.flag("stale"),
    )


def shown(held: object) -> dict[str, Any]:
    """A memory of a listing, as a dictionary."""
    members = Members(held)
    for name in ("id", "content", "standing", "as_of"):
        members.text(name)
    members.flag("blocked")
    members.flag("may_act")
    members.texts("block_reason")
    return members.everything()
