"""Memory stores: mem0, LangGraph's SQLite store, Redis' agent memory server and the MCP reference server's graph."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from truekeep.errors import InvalidRequest
from truekeep.protect.migrate.entries import Read, Skipped, SourceEntry, entry_of, moment
from truekeep.protect.migrate.source import asked, database, lines_of, parsed, require_shallow, table_names

PAGE = 100
"""Entries that a service is asked for at once; no service refuses so few."""
_LISTS = ("results", "memories", "items", "data", "entries")
_TEXTS = ("text", "content", "memory", "data", "value", "fact")
_MOST_PAGES = 10_000
"""Pages of a service, so that one that never ends is left after a million entries."""


def mem0(text: str) -> Read:
    """What mem0's ``get_all`` answers, its platform's export, or the payloads of its vector store."""
    for record in _records(parsed(text), "mem0"):
        name = next((name for name in ("memory", "data", "text") if isinstance(record.get(name), str)), "memory")
        yield entry_of(
            record,
            text=name,
            as_of=("updated_at", "created_at"),
            expires_at=("expiration_date",),
            topics=("categories",),
            dropped=("hash", "score", "event", "text_lemmatized"),
        )


def mem0_history(path: Path) -> Read:
    """The memories that mem0's ``history.db`` has as the last state of each."""
    with database(path) as connection:
        _require_table(connection, "history", "mem0")
        rows = connection.execute(
            "SELECT memory_id, new_memory, event, created_at, updated_at, is_deleted FROM history "
            "ORDER BY COALESCE(updated_at, created_at), rowid"
        )
        last = {str(row[0]): row for row in rows}
    for named, text, event, created, updated, deleted in last.values():
        if deleted or str(event).upper() == "DELETE":
            yield Skipped("deleted_there")
        elif not isinstance(text, str) or not text.strip():
            yield Skipped("no_text")
        else:
            at = moment(updated) or moment(created)
            yield SourceEntry(text, str(named), at, mapped=("memory_id", "new_memory", "created_at", "updated_at"))


def langgraph(path: Path) -> Read:
    """The items of LangGraph's SQLite store."""
    with database(path) as connection:
        _require_table(connection, "store", "LangGraph's store")
        names = [row[1] for row in connection.execute("PRAGMA table_info(store)")]
        ends = "expires_at" if "expires_at" in names else "NULL"
        rows = connection.execute(f"SELECT prefix, key, value, created_at, updated_at, {ends} FROM store")  # noqa: S608
        for prefix, key, value, created, updated, expires in rows:
            yield _item(str(prefix), str(key), value, moment(updated) or moment(created), moment(expires))


def _item(prefix: str, key: str, value: object, at: Any, ends: Any) -> SourceEntry | Skipped:
    try:
        found = json.loads(value) if isinstance(value, str | bytes) else None
    except (ValueError, RecursionError):
        return Skipped("value_not_json")
    require_shallow(found)
    text, rest = _said(found)
    if not text.strip():
        return Skipped("no_text")
    return SourceEntry(
        text=text,
        id=f"{prefix}/{key}",
        as_of=at,
        expires_at=ends,
        topics=tuple(part for part in prefix.split(".") if part),
        metadata=rest,
        mapped=("key", "namespace", "value", "updated_at", *(("expires_at",) if ends else ())),
    )


def _said(value: object) -> tuple[str, dict[str, Any]]:
    """The text of an item: its one text, the one under a usual name, or all members as "name: value"."""
    if isinstance(value, str):
        return value, {}
    if not isinstance(value, Mapping):
        return "", {}
    for name in _TEXTS:
        inner = value.get(name)
        if isinstance(inner, Mapping) and len(value) <= 2:  # {"kind": "Memory", "content": {"content": "…"}}
            return _said(inner)
        if isinstance(inner, str) and inner.strip():
            return inner, {str(key): one for key, one in value.items() if key != name}
    plain = {key: one for key, one in value.items() if isinstance(one, str | int | float) and one != ""}
    return "; ".join(f"{key}: {one}" for key, one in plain.items()), {
        str(key): one for key, one in value.items() if key not in plain
    }


def ams(text: str) -> Read:
    """A dump of Redis' agent memory server: what its search answers, a list of memories, or JSON lines."""
    yield from map(_ams_entry, _records(parsed(text), "the agent memory server"))


def ams_service(url: str, token: str | None = None) -> Read:
    """All memories of a running agent memory server, page by page."""
    address, seen = f"{url.rstrip('/')}/v1/long-term-memory/search", set[str]()
    for page in range(_MOST_PAGES):
        answer = asked(address, {"text": "", "limit": PAGE, "offset": page * PAGE}, token)
        records = _records(answer, "the agent memory server")
        fresh = [one for one in records if str(one.get("id")) not in seen]
        seen.update(str(one.get("id")) for one in fresh)
        yield from map(_ams_entry, fresh)
        if len(records) < PAGE or not fresh:
            return


def _ams_entry(record: Mapping[str, Any]) -> SourceEntry | Skipped:
    return entry_of(
        record,
        text="text",
        ids=("id", "id_"),
        as_of=("event_date", "updated_at", "created_at"),
        expires_at=("expires_at",),
        topics=("topics",),
        entities=("entities",),
        kind="episodic" if record.get("memory_type") == "episodic" else "semantic",
        dropped=("dist", "score", "memory_hash", "last_accessed", "access_count", "discrete_memory_extracted"),
    )


def mcp_memory(text: str) -> Read:
    """The graph of the MCP reference memory server: an entry for each observation and each relation."""
    for record in lines_of(text):
        if record.get("type") == "entity":
            yield from _observations(record)
        elif record.get("type") == "relation":
            yield _relation(record)
        else:
            yield Skipped("unknown_type")


def _observations(record: Mapping[str, Any]) -> Read:
    name, kind, said = record.get("name"), record.get("entityType"), record.get("observations")
    if not isinstance(name, str) or not isinstance(said, list):
        yield Skipped("no_text")
        return
    about, topics = (name,) if name.strip() else (), (kind,) if isinstance(kind, str) and kind.strip() else ()
    for one in said:
        if isinstance(one, str) and one.strip():
            fields = ("name", "entityType", "observations")
            yield SourceEntry(f"{name}: {one}", topics=topics, entities=about, mapped=fields)
        else:
            yield Skipped("no_text")


def _relation(record: Mapping[str, Any]) -> SourceEntry | Skipped:
    ends = [record.get(name) for name in ("from", "relationType", "to")]
    named = [end for end in ends if isinstance(end, str) and end.strip()]
    if len(named) != len(ends):
        return Skipped("no_text")
    begin, kind, to = named
    text = f"{begin} {kind.replace('_', ' ')} {to}"
    return SourceEntry(text, topics=("relation",), entities=(begin, to), mapped=("from", "relationType", "to"))


def _records(found: Any, whose: str) -> list[Mapping[str, Any]]:
    """The records in what a store answered: a list, or an object that has one under a usual name."""
    if isinstance(found, Mapping):
        inner = next((found[name] for name in _LISTS if isinstance(found.get(name), list)), None)
        found = inner if inner is not None else [found]
    if not isinstance(found, list):
        raise InvalidRequest(f"That is no list of memories of {whose}.", code="source_unknown_shape")
    return [_flat(one) if isinstance(one, Mapping) else {} for one in found]


def _flat(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A point of a vector store with what is in its payload."""
    payload = record.get("payload")
    return {"id": record.get("id"), **payload} if isinstance(payload, Mapping) else record


def _require_table(connection: sqlite3.Connection, name: str, whose: str) -> None:
    if name not in table_names(connection):
        raise InvalidRequest(
            f"This database is not {whose}'s: it has no table '{name}'.",
            code="source_unknown_shape",
            hint="Vector stores keep pickled objects, which are never opened; export with get_all() instead.",
        )


Reader = Callable[[str], Read]
