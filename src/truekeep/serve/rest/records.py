"""Records: a memory as a client of the Agent Memory Server sees it, with what truekeep knows beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from truekeep.read.reader import sanitised_json
from truekeep.serve.rest.models import EditBody, NewMemory
from truekeep.types import Memory, Recalled, Verdict, utc_text

_KINDS = {"semantic": "semantic", "episodic": "episodic", "message": "episodic"}
_NAMES = ("user_id", "namespace", "client_id")


def type_of(kind: str, metadata: Mapping[str, Any]) -> str:
    """What a client calls this kind of memory."""
    return "message" if metadata.get("memory_type") == "message" else kind


def record_of(shown: Mapping[str, Any]) -> dict[str, Any]:
    """A memory of a listing as a record."""
    metadata, origin = shown["metadata"], shown["origin"]
    names = {name: metadata.get(name) if isinstance(metadata.get(name), str) else None for name in _NAMES}
    return {
        "id": shown["id"],
        "text": shown["content"],
        "session_id": origin.get("session"),
        **names,
        "created_at": shown["created_at"],
        "updated_at": shown["created_at"],
        "last_accessed": shown.get("accessed_at") or shown["created_at"],
        "persisted_at": shown["created_at"],
        "event_date": shown["as_of"],
        "topics": shown["topics"],
        "entities": shown["entities"],
        "memory_type": type_of(shown["kind"], metadata),
        "memory_hash": hashlib.sha256(shown["content"].encode()).hexdigest(),
        "discrete_memory_extracted": "t",
        "extracted_from": None,
        **{name: shown[name] for name in _OWN},
    }


_OWN = (
    "standing",
    "may_act",
    "why",
    "blocked",
    "block_reason",
    "origin",
    "metadata",
    "as_of",
    "kind",
    "expires_at",
    "fades_at",
    "valid_from",
    "valid_until",
    "retired_by",
    "contests",
    "version",
)


def hit_of(hit: Recalled) -> dict[str, Any]:
    """One hit of a recall as a record, with its distance."""
    shown = _shown(hit, hit.memory)
    return record_of(shown) | {
        "dist": round(max(0.0, 1.0 - hit.score), 6),
        "score": hit.score,
        "gist": hit.gist,
        "question": hit.question,
        "newer": hit.newer,
        "window": list(hit.window) if hit.window is not None else None,
    }


def _shown(hit: Recalled, memory: Memory) -> dict[str, Any]:
    origin = {name: sanitised_json(value) for name, value in memory.origin.as_dict().items() if name != "quote"}
    return {
        "id": memory.id,
        "content": hit.text,
        "created_at": utc_text(memory.created_at),
        "as_of": utc_text(hit.as_of),
        "kind": memory.kind,
        "topics": sanitised_json(memory.topics),
        "entities": sanitised_json(memory.entities),
        "metadata": sanitised_json(memory.metadata),
        "origin": origin if memory.verified else {"channel": "unknown"},
        "standing": memory.standing.label,
        "may_act": hit.may_act,
        "why": hit.why,
        "blocked": hit.blocked,
        "block_reason": [],
        "expires_at": utc_text(memory.expires_at) if memory.expires_at else None,
        "fades_at": None,
        "valid_from": utc_text(memory.begins),
        "valid_until": utc_text(hit.valid_until) if hit.valid_until else None,
        "retired_by": hit.retired_by,
        "contests": list(hit.contests),
        "version": memory.version,
    }


def entry_of(memory: NewMemory) -> dict[str, Any]:
    """What a client sends of one memory, as the keep takes it. Nothing in it says whose words they are."""
    entry: dict[str, Any] = {
        "text": memory.text,
        "kind": _KINDS[memory.memory_type],
        "topics": memory.topics or (),
        "entities": memory.entities or (),
        "metadata": _metadata(memory.metadata or {}, memory),
        "as_of": memory.as_of or memory.event_date,
        "expires_at": memory.expires_at,
        "principal": memory.principal,
        "quote": memory.quote,
        "parents": memory.parents or (),
    }
    if memory.session_id:
        entry["session"] = memory.session_id
    return entry


def _metadata(given: Mapping[str, Any], memory: NewMemory) -> dict[str, Any]:
    names = {"client_id": memory.id, "user_id": memory.user_id, "namespace": memory.namespace}
    kind = {"memory_type": "message"} if memory.memory_type == "message" else {}
    return {**given, **{name: value for name, value in names.items() if value}, **kind}


def edited(shown: Mapping[str, Any], edit: EditBody) -> tuple[str, dict[str, Any]]:
    """The text and the fields of a memory after an edit; what the edit leaves out stays."""
    changed = {"user_id": edit.user_id, "namespace": edit.namespace}
    metadata = dict(shown["metadata"] if edit.metadata is None else edit.metadata)
    metadata |= {name: value for name, value in changed.items() if value is not None}
    kind = shown["kind"]
    if edit.memory_type is not None:
        kind = _KINDS[edit.memory_type]
        metadata.pop("memory_type", None)
        metadata |= {"memory_type": "message"} if edit.memory_type == "message" else {}
    fields: dict[str, Any] = {
        "kind": kind,
        "topics": shown["topics"] if edit.topics is None else edit.topics,
        "entities": shown["entities"] if edit.entities is None else edit.entities,
        "metadata": metadata,
        "as_of": edit.event_date,
    }
    if edit.principal is not None:
        fields["principal"] = edit.principal
    return (shown["content"] if edit.text is None else edit.text), fields


def verdict_of(verdict: Verdict, memory: NewMemory | None = None) -> dict[str, Any]:
    """A verdict as JSON members, with the id that the client gave."""
    client_id = memory.id if memory is not None else None
    return verdict.as_dict() | ({"client_id": client_id} if client_id else {})
