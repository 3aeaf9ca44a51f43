"""Calls: every method of a served keep as a value, written once for the synchronous and the asynchronous client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from truekeep.boundary import ActionAnswer
from truekeep.client import values
from truekeep.client.wire import Call
from truekeep.errors import InvalidRequest
from truekeep.recall import Filters, Recall
from truekeep.types import AuditEvent, Snapshot, Verdict, Verification

_MEMORIES = "/v1/long-term-memory"
_PLAIN = ("principal", "quote", "metadata", "topics", "entities", "parents")


def _part(name: str) -> str:
    return quote(name, safe="")


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def _entry(text: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A text with its fields, as the service takes them."""
    known = {*_PLAIN, "kind", "as_of", "expires_at", "session"}
    if unknown := set(fields) - known:
        raise InvalidRequest(f"{len(unknown)} unknown fields were passed.", hint=f"Fields: {', '.join(sorted(known))}.")
    entry: dict[str, Any] = {"text": text, "memory_type": fields.get("kind", "semantic")}
    entry |= {name: fields[name] for name in _PLAIN if fields.get(name) is not None}
    entry |= {name: list(entry[name]) for name in ("topics", "entities", "parents") if name in entry}
    entry |= {name: _moment(fields[name]) for name in ("as_of", "expires_at") if fields.get(name) is not None}
    return entry | ({"session_id": fields["session"]} if fields.get("session") else {})


def remember_many(
    entries: Iterable[str | Mapping[str, Any]], via: str | None, shared: Mapping[str, Any]
) -> Call[list[Verdict]]:
    """Put a batch through the gate: all of it is stored, or nothing."""
    listed = [{"text": entry} if isinstance(entry, str) else dict(entry) for entry in entries]
    memories = [_entry(str(one.pop("text", "")), {**shared, **one}) for one in listed]
    body = {"memories": memories}
    return Call("POST", f"{_MEMORIES}/", values.verdicts, body=body, rejections=True, via=via)


def update_memory(memory_id: str, text: str, via: str | None, fields: Mapping[str, Any]) -> Call[Verdict]:
    """Give a memory new content."""
    body = {
        "text": text,
        **{name: fields[name] for name in ("topics", "entities", "metadata", "principal") if name in fields},
    }
    body |= {"session_id": fields.get("session"), "memory_type": fields.get("kind")}
    path = f"{_MEMORIES}/{_part(memory_id)}"
    return Call("PATCH", path, values.verdict, body=body, rejections=True, via=via)


def delete_memory(memory_id: str, via: str | None) -> Call[Verdict]:
    """Delete a memory, or propose it."""
    params = {"memory_ids": memory_id}
    return Call("DELETE", _MEMORIES, lambda body: values.verdict(body["memories"][0]), params=params, via=via)


def recall(query: str, session: str | None, options: Mapping[str, Any]) -> Call[Recall]:
    """The memories that answer a query."""
    taken = {"k", "influence_only", "min_score", "half_life_days", "as_of", "filters"}
    if unknown := set(options) - taken:
        raise InvalidRequest(
            f"{len(unknown)} unknown options were passed.", hint=f"Options: {', '.join(sorted(taken))}."
        )
    least, half_life = options.get("min_score"), options.get("half_life_days")
    body: dict[str, Any] = {
        "text": query,
        "limit": options.get("k", 5),
        "influence_only": options.get("influence_only", False),
        "as_of": _moment(options.get("as_of")),
        "distance_threshold": 1.0 - least if least is not None else None,
        "session": session,
        **_filters(options.get("filters")),
    }
    if half_life:
        body |= {"recency_boost": True, "recency_half_life_created_days": half_life, "recency_recency_weight": 0.0}
    return Call("POST", f"{_MEMORIES}/search", values.recall, body=body)


def _filters(filters: Filters | None) -> dict[str, Any]:
    if filters is None:
        return {}
    if filters.where is not None or filters.channels or set(filters.metadata) - {"user_id", "namespace"}:
        raise InvalidRequest("A served keep filters by kind, topic, entity, time, user_id and namespace only.")
    limits: dict[str, Any] = {name: {"eq": value} for name, value in filters.metadata.items()}
    limits |= {"topics": {"any": sorted(filters.topics)}} if filters.topics else {}
    limits |= {"entities": {"any": sorted(filters.entities)}} if filters.entities else {}
    limits |= {"memory_type": {"in_": sorted(filters.kinds)}} if filters.kinds else {}
    when = {"gte": _moment(filters.since), "lt": _moment(filters.until)}
    return limits | ({"event_date": when} if any(when.values()) else {})


def get_memories(
    after: str | None, limit: int | None, session: str | None
) -> Call[tuple[list[dict[str, Any]], str | None]]:
    """One page of memories, and the cursor to the next."""
    params = {"cursor": after, "limit": min(limit or 1_000, 1_000), "session_id": session}

    def parse(body: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
        return [values.shown(one) for one in body["memories"]], body["next_cursor"]

    return Call("GET", f"{_MEMORIES}/", parse, params=params)


def get_memory(memory_id: str, session: str | None) -> Call[dict[str, Any]]:
    """One memory."""
    return Call("GET", f"{_MEMORIES}/{_part(memory_id)}", values.shown, params={"session_id": session})


def snapshot(session: str, *, refresh: bool) -> Call[Snapshot]:
    """The frozen text for a session's prompt."""
    return Call("GET", f"/v1/snapshot/{_part(session)}", values.snapshot, params={"refresh": refresh or None})


def begin(session: str, *, mediated: bool, member: str | None) -> Call[None]:
    """Declare what the host knows of a session."""
    body = {"mediated": mediated, "member": member}
    return Call("PUT", f"/v1/sessions/{_part(session)}", _nothing, body=body, needs="write")


def observe(session: str, channel: str | None, text: str, fields: Mapping[str, Any]) -> Call[None]:
    """Report what a session took in."""
    body = {"text": text, **fields, "at": _moment(fields.get("at"))}
    return Call("POST", f"/v1/sessions/{_part(session)}/observe", _nothing, body=body, via=channel)


def check_action(
    session: str, name: str, arguments: Mapping[str, Any], run: str | None, redeem: values.Redeem
) -> Call[ActionAnswer]:
    """May the agent make this call?"""
    body = {"session": session, "name": name, "arguments": dict(arguments), "run": run}
    return Call("POST", "/v1/check-action", values.action(redeem), body=body)


def redeem(ticket: str, name: str, arguments: Mapping[str, Any]) -> Call[None]:
    """Use a ticket up."""
    body = {"name": name, "arguments": dict(arguments)}
    return Call("POST", f"/v1/tickets/{_part(ticket)}/redeem", _nothing, body=body)


def confirm(ticket: str, via: str | None) -> Call[None]:
    """The owner confirms a call."""
    return Call("POST", f"/v1/tickets/{_part(ticket)}/confirm", _nothing, via=via)


def credit(run: str, outcome: str, via: str | None) -> Call[dict[str, Any]]:
    """Say how a run ended."""
    return Call("POST", "/v1/credit", dict, body={"run": run, "outcome": outcome}, via=via)


def review_list(state: str | None) -> Call[list[dict[str, Any]]]:
    """What waits for a person, as JSON members."""
    params = {"state": state or "all", "limit": 1_000}
    return Call("GET", "/v1/review", lambda body: list(body["items"]), params=params, needs="review")


def review_show(item_id: str) -> Call[dict[str, Any]]:
    """One item, as JSON members."""
    return Call("GET", f"/v1/review/{_part(item_id)}", dict, needs="review")


def approve(item_id: str, etag: str, fields: Mapping[str, Any]) -> Call[Verdict]:
    """Let an item in."""
    body = {**fields, "until": _moment(fields.get("until"))}
    path, headers = f"/v1/review/{_part(item_id)}/approve", {"If-Match": f'"{etag}"'}
    return Call("POST", path, values.verdict, body=body, headers=headers, needs="review")


def reject(item_id: str, etag: str, reason: str) -> Call[None]:
    """Turn an item down."""
    path, headers = f"/v1/review/{_part(item_id)}/reject", {"If-Match": f'"{etag}"'}
    return Call("POST", path, _nothing, body={"reason": reason}, headers=headers, needs="review")


def events(after: int, limit: int) -> Call[list[AuditEvent]]:
    """A page of the audit log."""
    return Call("GET", "/v1/audit", values.events, params={"after": after or None, "limit": limit}, needs="admin")


def verify() -> Call[Verification]:
    """Check every row and event again."""
    return Call("GET", "/v1/audit/verify", values.verification, needs="admin")


def looked_up(kind: str, name: str) -> Call[dict[str, Any]]:
    """A trace or a blame."""
    return Call("GET", f"/v1/{kind}/{_part(name)}", dict, needs="admin")


def exposures(memory_id: str) -> Call[list[dict[str, Any]]]:
    """Whom a memory reached."""
    return Call("GET", f"/v1/exposures/{_part(memory_id)}", lambda body: list(body["exposures"]), needs="admin")


def taken_back(kind: str, body: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """A revocation, a rewind or the undoing of one."""
    sent = {name: _moment(value) if isinstance(value, datetime) else value for name, value in body.items()}
    return Call("POST", f"/v1/{kind}", dict, body=sent, needs="admin")


def identity() -> Call[dict[str, Any]]:
    """Who the token is."""
    return Call("GET", "/v1/identity", dict)


def _nothing(body: object) -> None:
    del body
