"""Records: the house's values as the JSON bodies of sealed rows, and back without trusting what was found.

Decoding never raises. A row that this keep did not write may hold anything; it becomes an unverified memory
whose text is whatever can be shown to a person.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from truekeep.stores.ledger import Sealed
from truekeep.types import (
    Approval,
    Effects,
    Finding,
    Item,
    Memory,
    Origin,
    Response,
    Severity,
    Snapshot,
    Standing,
    Threat,
    Tombstone,
    utc_moment,
    utc_text,
)

_ID = re.compile(r"(mem|rev|obs|exp|tkt|inc)_[0-9a-f]{20}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def new_id(prefix: str) -> str:
    """A fresh id: ``mem_…`` for memories, ``rev_…`` for review items, ``obs_…`` for observations, and so on."""
    return f"{prefix}_{secrets.token_hex(10)}"


def own_id(row_id: object, seq: int) -> str:
    """The row's id if truekeep made it; otherwise a handle that carries nothing a stranger wrote."""
    return row_id if isinstance(row_id, str) and _ID.fullmatch(row_id) else f"row-{seq}"


def memory_body(memory: Memory) -> dict[str, Any]:
    """A memory as stored; its id and place are the row's."""
    body: dict[str, Any] = {
        "v": 1,
        "text": memory.text,
        "standing": memory.standing.label,
        "origin": memory.origin.as_dict(),
        "kind": memory.kind,
        "created_at": utc_text(memory.created_at),
        "as_of": utc_text(memory.as_of),
        "version": memory.version,
        "screened": memory.screened,
    }
    if memory.topics:
        body["topics"] = list(memory.topics)
    if memory.entities:
        body["entities"] = list(memory.entities)
    if memory.metadata:
        body["metadata"] = dict(memory.metadata)
    if memory.expires_at:
        body["expires_at"] = utc_text(memory.expires_at)
    if memory.valid_from:
        body["valid_from"] = utc_text(memory.valid_from)
    if memory.valid_until:
        body["valid_until"] = utc_text(memory.valid_until)
    if memory.claim:
        body |= {"claim": memory.claim, "keys": list(memory.keys)}
    if memory.order:
        body["order"] = memory.order
    if memory.approval:
        body["approval"] = _approval_body(memory.approval)
    return body


def memory_from(sealed: Sealed) -> Memory:
    """The memory in a row; one that cannot be read is an unverified memory of nobody's."""
    row = sealed.row
    if sealed.verified:
        return _memory(json.loads(row.body), row.id, row.seq)
    return _foreign(row.body, own_id(row.id, row.seq), row.seq)


def item_body(item: Item) -> dict[str, Any]:
    """A review item as stored."""
    effects = {"effects": asdict(item.effects)} if item.effects else {}
    return effects | {
        "v": 1,
        "kind": item.kind,
        "state": item.state,
        "memory": memory_body(item.memory) | {"id": item.memory.id},
        "code": item.code,
        "reason": item.reason,
        "findings": [_finding_body(finding) for finding in item.findings],
        "created_at": utc_text(item.created_at),
        "expires_at": utc_text(item.expires_at),
        "target": item.target,
        "contests": list(item.contests),
        "decided_by": item.decided_by,
        "decided_reason": item.decided_reason,
        "decided_at": _text(item.decided_at),
    }


def item_from(sealed: Sealed) -> Item | None:
    """The review item in a row; one that this keep did not write is not shown as one."""
    if not sealed.verified:
        return None
    body = json.loads(sealed.row.body)
    return Item(
        id=sealed.row.id,
        kind=body["kind"],
        state=body["state"],
        memory=_memory(body["memory"], body["memory"]["id"], 0),
        code=body["code"],
        reason=body["reason"],
        findings=tuple(_finding(entry) for entry in body["findings"]),
        created_at=utc_moment(body["created_at"]),
        expires_at=utc_moment(body["expires_at"]),
        target=body["target"],
        contests=tuple(body["contests"]),
        decided_by=body["decided_by"],
        decided_reason=body["decided_reason"],
        decided_at=_moment(body["decided_at"]),
        effects=_effects(body["effects"]) if "effects" in body else None,
    )


def _effects(body: dict[str, Any]) -> Effects:
    return Effects(
        made=(body["made"][0], body["made"][1]) if body["made"] else None,
        took=(body["took"][0], body["took"][1]) if body["took"] else None,
        stones=tuple(body["stones"]),
        fallen=tuple(body["fallen"]),
        cleared=tuple(body["cleared"]),
        tag=body["tag"],
    )


def tombstone_body(stone: Tombstone) -> dict[str, Any]:
    """A tombstone as stored; the claim itself is only there as the row's keyed hash."""
    return {
        "v": 1,
        "standing": stone.standing.label,
        "by": stone.by,
        "reason": stone.reason,
        "at": utc_text(stone.at),
        "keys": list(stone.keys),
        "fallen": list(stone.fallen),
    }


def tombstone_from(sealed: Sealed) -> Tombstone | None:
    """The tombstone in a row; a forged one suppresses nothing."""
    if not sealed.verified:
        return None
    body = json.loads(sealed.row.body)
    standing = Standing[body["standing"].upper()]
    return Tombstone(
        sealed.row.id,
        standing,
        body["by"],
        body["reason"],
        utc_moment(body["at"]),
        tuple(body["keys"]),
        tuple(body["fallen"]),
    )


def snapshot_body(snapshot: Snapshot, memory_ids: list[str]) -> dict[str, Any]:
    """A snapshot as stored, with the memories it shows."""
    return {
        "v": 1,
        "text": snapshot.text,
        "digest": snapshot.digest,
        "ruleset": snapshot.ruleset,
        "created_at": utc_text(snapshot.created_at),
        "shows_hearsay": snapshot.shows_hearsay,
        "memories": memory_ids,
    }


def snapshot_from(sealed: Sealed) -> tuple[Snapshot, list[str]]:
    """The snapshot in a verified row, and the ids of the memories it shows."""
    body = json.loads(sealed.row.body)
    snapshot = Snapshot(
        session=sealed.row.id,
        text=body["text"],
        digest=body["digest"],
        ruleset=body["ruleset"],
        created_at=utc_moment(body["created_at"]),
        shows_hearsay=body["shows_hearsay"],
    )
    return snapshot, body["memories"]


def _memory(body: dict[str, Any], row_id: str, seq: int) -> Memory:
    return Memory(
        id=row_id,
        text=body["text"],
        standing=Standing[body["standing"].upper()],
        origin=_origin(body["origin"]),
        created_at=utc_moment(body["created_at"]),
        as_of=utc_moment(body["as_of"]),
        kind=body["kind"],
        topics=tuple(body.get("topics", ())),
        entities=tuple(body.get("entities", ())),
        metadata=body.get("metadata", {}),
        expires_at=_moment(body.get("expires_at")),
        version=body["version"],
        approval=_approval(body.get("approval")),
        screened=body["screened"],
        valid_from=_moment(body.get("valid_from")),
        valid_until=_moment(body.get("valid_until")),
        claim=body.get("claim", ""),
        keys=tuple(body.get("keys", ())),
        order=body.get("order", 0),
        seq=seq,
    )


def _foreign(body: object, row_id: str, seq: int) -> Memory:
    text = body if isinstance(body, str) else ""
    try:
        parsed = json.loads(text)
        if isinstance(parsed, dict) and isinstance(parsed.get("text"), str):
            text = parsed["text"]
    except (ValueError, RecursionError):
        pass
    return Memory(row_id, text, Standing.HEARSAY, Origin("unknown"), _EPOCH, _EPOCH, seq=seq, verified=False)


def _origin(body: dict[str, Any]) -> Origin:
    return Origin(
        channel=body["channel"],
        principal=body.get("principal"),
        session=body.get("session"),
        message=body.get("message"),
        quote=body.get("quote"),
        parents=tuple(body.get("parents", ())),
        carrier=body.get("carrier"),
        prompt=body.get("prompt"),
    )


def _approval_body(approval: Approval) -> dict[str, Any]:
    return {
        "by": approval.by,
        "reason": approval.reason,
        "at": utc_text(approval.at),
        "until": _text(approval.until),
        "inform_only": approval.inform_only,
        "purpose": approval.purpose,
        "rules": list(approval.rules),
    }


def _approval(body: dict[str, Any] | None) -> Approval | None:
    if body is None:
        return None
    return Approval(
        by=body["by"],
        reason=body["reason"],
        at=utc_moment(body["at"]),
        until=_moment(body["until"]),
        inform_only=body["inform_only"],
        purpose=body["purpose"],
        rules=tuple(body["rules"]),
    )


def _finding_body(finding: Finding) -> dict[str, Any]:
    return finding.as_dict() | {"response": finding.response.value}


def _finding(body: dict[str, Any]) -> Finding:
    return Finding(
        rule_id=body["rule"],
        threat=Threat(body["class"]),
        severity=Severity[body["severity"].upper()],
        span=(body["span"][0], body["span"][1]),
        field=body["field"],
        screen=body["screen"],
        response=Response(body["response"]),
        reason=body["reason"],
    )


def _text(moment: datetime | None) -> str | None:
    return utc_text(moment) if moment else None


def _moment(text: str | None) -> datetime | None:
    return utc_moment(text) if text else None
