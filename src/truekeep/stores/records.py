"""Records: the house's values as the JSON bodies of sealed rows, and back without trusting what was found.

A row that this keep did not write may hold anything; it becomes an unverified memory whose text is whatever can be
shown to a person. One that it wrote and that cannot be read was written by another version.
"""

from __future__ import annotations

import json
import re
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from truekeep.errors import StoreError
from truekeep.stores.codec import Shape, others
from truekeep.types import Approval, Finding, Item, Memory, Origin, Snapshot, Standing, Tombstone

if TYPE_CHECKING:
    from truekeep.stores.ledger import Sealed

T = TypeVar("T")
_ID = re.compile(r"(mem|rev|obs|exp|tkt|inc|gnt|pln)_[0-9a-f]{20}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def new_id(prefix: str) -> str:
    """A fresh id: ``mem_…`` for memories, ``rev_…`` for review items, ``obs_…`` for observations, and so on."""
    return f"{prefix}_{secrets.token_hex(10)}"


def own_id(row_id: object, seq: int) -> str:
    """The row's id if truekeep made it; otherwise a handle that carries nothing a stranger wrote."""
    return row_id if isinstance(row_id, str) and _ID.fullmatch(row_id) else f"row-{seq}"


def unreadable() -> StoreError:
    """What is said of a genuine row whose members are not those that this version writes."""
    return StoreError(
        "A row of this keep has a form that this version does not know.",
        code="unknown_row_format",
        hint="Open the keep with the version of truekeep that wrote it, or a newer one.",
    )


def stored(kind: type[T], **options: Any) -> Shape[T]:
    """The shape of a kind of rows."""
    return Shape(kind, version=1, refuse=unreadable, **options)


_ALWAYS = ("text", "standing", "origin", "kind", "created_at", "as_of", "version", "screened")
_SOMETIMES = others(Memory, *_ALWAYS, "id", "seq", "verified")
_WORDS = ("topics", "entities", "metadata", "gist", "question")
_ORIGIN = Shape(Origin, sparse=others(Origin, "channel"))
_PARTS = (_ORIGIN, Shape(Approval))
_FINDING = Shape(
    Finding,
    first=("rule_id", "threat", "severity", "field", "span", "screen", "reason"),
    names={"rule_id": "rule", "threat": "class"},
)
_MEMORY = stored(Memory, given=("id", "seq", "verified"), first=_ALWAYS, sparse=_SOMETIMES, shapes=_PARTS)
_HELD = stored(Memory, given=("seq", "verified"), first=_ALWAYS, sparse=(*_SOMETIMES, "id"), shapes=_PARTS)
_ITEM = stored(Item, given=("id",), sparse=("effects",), shapes=(_HELD, _FINDING))
_TOMBSTONE = stored(Tombstone, given=("claim",))
_SNAPSHOT = stored(Snapshot, given=("session", "stale"))


def memory_body(memory: Memory) -> dict[str, Any]:
    """A memory as stored; its id and place are the row's."""
    return _MEMORY.write(memory)


def memory_from(sealed: Sealed) -> Memory:
    """The memory in a row; one that cannot be read is an unverified memory of nobody's."""
    row = sealed.row
    if sealed.verified:
        return _MEMORY.read(json.loads(row.body), id=row.id, seq=row.seq)
    return _foreign(row.body, own_id(row.id, row.seq), row.seq)


def memory_without_text(sealed: Sealed) -> Memory:
    """What the memory in a verified row is and where it came from, without what it says."""
    row, body = sealed.row, json.loads(sealed.row.body)
    for name in _WORDS:
        body.pop(name, None)
    body["origin"].pop("quote", None)
    body["text"] = ""
    return _MEMORY.read(body, id=row.id, seq=row.seq)


def item_body(item: Item) -> dict[str, Any]:
    """A review item as stored."""
    return _ITEM.write(item)


def item_from(sealed: Sealed) -> Item | None:
    """The review item in a row; one that this keep did not write is not shown as one."""
    return _ITEM.read(json.loads(sealed.row.body), id=sealed.row.id) if sealed.verified else None


def tombstone_body(stone: Tombstone) -> dict[str, Any]:
    """A tombstone as stored; the claim itself is only there as the row's keyed hash."""
    return _TOMBSTONE.write(stone)


def tombstone_from(sealed: Sealed) -> Tombstone | None:
    """The tombstone in a row; a forged one suppresses nothing."""
    return _TOMBSTONE.read(json.loads(sealed.row.body), claim=sealed.row.id) if sealed.verified else None


def snapshot_body(snapshot: Snapshot, memory_ids: list[str]) -> dict[str, Any]:
    """A snapshot as stored, with the memories it shows."""
    return _SNAPSHOT.write(snapshot) | {"memories": memory_ids}


def snapshot_from(sealed: Sealed) -> tuple[Snapshot, list[str]]:
    """The snapshot in a verified row, and the ids of the memories it shows."""
    body = json.loads(sealed.row.body)
    return _SNAPSHOT.read(body, session=sealed.row.id), body["memories"]


def _foreign(body: object, row_id: str, seq: int) -> Memory:
    text = body if isinstance(body, str) else ""
    try:
        parsed = json.loads(text)
        if isinstance(parsed, dict) and isinstance(parsed.get("text"), str):
            text = parsed["text"]
    except (ValueError, RecursionError):
        pass
    return Memory(row_id, text, Standing.HEARSAY, Origin("unknown"), _EPOCH, _EPOCH, seq=seq, verified=False)
