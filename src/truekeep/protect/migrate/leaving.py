"""The way out: memories in the shapes that other stores read, and that ``migrate from`` reads back.

Pure. Texts come as any listing shows them, screened and sanitised. What is blocked, or was replaced by a newer word,
stays here: another store could not know that it no longer holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Memory = Mapping[str, Any]
_CARRIED = ("as_of", "expires_at", "kind", "topics", "entities", "metadata")


def leaving(memories: Iterable[Memory]) -> list[Memory]:
    """Those that hold, and may be shown."""
    return [one for one in memories if not one["blocked"] and not one["retired_by"]]


def as_mem0(memories: Iterable[Memory]) -> str:
    """What mem0's ``get_all`` answers."""
    results = [
        {
            "id": one["id"],
            "memory": one["content"],
            "created_at": one["as_of"],
            "updated_at": one["as_of"],
            "expiration_date": one["expires_at"],
            "categories": one["topics"],
            "metadata": one["metadata"],
        }
        for one in memories
    ]
    return json.dumps({"results": results}, ensure_ascii=False, indent=1) + "\n"


def as_jsonl(memories: Iterable[Memory]) -> str:
    """JSON lines with everything that ``truekeep import`` takes."""
    lines = (
        {"id": one["id"], "text": one["content"], **{name: one[name] for name in _CARRIED if one[name]}}
        for one in memories
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def as_markdown(memories: Iterable[Memory]) -> str:
    """A bullet for each, with its date, under its first topic. Expiry, metadata and further topics stay behind."""
    topics: dict[str, list[str]] = {}
    for one in memories:
        topic = " ".join(one["topics"][0].split()) if one["topics"] else ""
        text = " ".join(one["content"].split())
        topics.setdefault(topic, []).append(f"- [{one['as_of'][:10]}] {text}\n")
    parts = [f"## {topic}\n\n{''.join(lines)}" if topic else "".join(lines) for topic, lines in sorted(topics.items())]
    return "\n".join(parts)


WRITERS: dict[str, Callable[[Iterable[Memory]], str]] = {"mem0": as_mem0, "jsonl": as_jsonl, "markdown": as_markdown}
