"""``TruekeepStore(keep)``: LangGraph's ``BaseStore`` over a keep, sealed and encrypted like everything in it.

What a program or an agent puts there is data of the agent's. The store's interface has no channel, so nothing that is
read from it ever proves, acts or is recalled as a memory: an item that reaches a model does so as a tool's result, or
as text that another middleware adds, and is foreign there. Values are screened when they are put; an attack is refused.

Which items fit a filter, a namespace or an ``index`` is LangGraph's own code, so that it is answered as its own store
would. Reading goes through all items, which is meant for hundreds of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, MissingExtra

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
    )
    from langgraph.store.memory import InMemoryStore
except ImportError:
    raise MissingExtra("langgraph") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep

_PREFIX = "store-"
_MOST_ITEMS = 10_000
"""Items that are read for one answer; a store with more is another kind of store."""
_WORD = re.compile(r"\w{2,40}")
Place = tuple[tuple[str, ...], str]


class TruekeepStore(BaseStore):
    """Items of one keep. ``ttl`` is the framework's own configuration of life spans, in minutes.

    ``index`` is its configuration of vectors: what embeds, and which fields. Without one a query ranks by shared words.
    """

    supports_ttl = True

    def __init__(self, keep: Keep, *, ttl: TTLConfig | None = None, index: IndexConfig | None = None) -> None:
        self._keep = keep
        self._lock = threading.RLock()
        self.ttl_config = ttl
        self.index_config = index
        self.embeddings = InMemoryStore(index=index).embeddings
        self._vectors: dict[str, list[float]] = {}

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry operations out: what is read is how things stood before what is put in the same batch."""
        given = list(ops)
        with self._lock:
            items = self._items() if any(not isinstance(op, PutOp) for op in given) else {}
            results = [self._read(op, items) for op in given]
            for place, op in {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}.items():
                self._put(place, op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As ``batch``, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op, items: Mapping[Place, dict[str, Any]]) -> Result:
        if isinstance(op, PutOp):
            return None
        if isinstance(op, GetOp):
            found = items.get((op.namespace, op.key))
            if found is not None and op.refresh_ttl:
                self._refresh(found)
            return _item(found) if found is not None else None
        if isinstance(op, ListNamespacesOp):
            return _mirror(items).batch([op])[0]
        op = op._replace(namespace_prefix=tuple(op.namespace_prefix))
        chosen = self._nearest(op, items) if op.query and self.embeddings is not None else _found(op, items)
        for one in chosen if op.refresh_ttl else ():
            self._refresh(items[one.namespace, one.key])
        return chosen

    def _nearest(self, op: SearchOp, items: Mapping[Place, dict[str, Any]]) -> list[SearchItem]:
        """What the framework's own store finds by vectors, which are made once for a text and kept in memory."""
        texts = {place: _indexed(row, self.index_config or {}) for place, row in items.items()}
        wanted = {text for one in texts.values() for text in one.values()}
        missing = sorted(wanted - self._vectors.keys())
        if missing and self.embeddings is not None:
            self._vectors |= dict(zip(missing, self.embeddings.embed_documents(missing), strict=True))
        self._vectors = {text: vector for text, vector in self._vectors.items() if text in wanted}
        mirror = _mirror(items, self.index_config)
        for (namespace, key), fields in texts.items():
            mirror._vectors[namespace][key] = {path: self._vectors[text] for path, text in fields.items()}
        found: Any = mirror.batch([op])[0]
        return list(found)

    def _put(self, place: Place, op: PutOp) -> None:
        name, now = _name(place), datetime.now(UTC)
        known = self._row(name)
        self._keep.working.delete(name)
        if op.value is None:
            return
        created = known["created_at"] if known is not None else now.isoformat()
        row: dict[str, Any] = {"namespace": list(op.namespace), "key": op.key, "value": op.value, "ttl": op.ttl}
        row |= {"index": op.index} if op.index is not None else {}
        row |= {"created_at": created, "updated_at": now.isoformat()} | _until(op.ttl, now)
        try:
            self._keep.working.put(name, via="agent", data=row)
        except InvalidRequest:
            if known is not None:  # what was refused leaves the old value as it was
                self._keep.working.put(name, via="agent", data=known)
            raise

    def _refresh(self, row: dict[str, Any]) -> None:
        if row.get("ttl") is not None:
            name = _name((tuple(row["namespace"]), row["key"]))
            self._keep.working.delete(name)
            self._keep.working.put(name, via="agent", data=row | _until(row["ttl"], datetime.now(UTC)))

    def _items(self) -> dict[Place, dict[str, Any]]:
        """Every item that is not over; those that are go now."""
        names = [name for name in self._keep.working.list() if name.startswith(_PREFIX)]
        if len(names) > _MOST_ITEMS:
            raise InvalidRequest(f"The store holds more than {_MOST_ITEMS:,} items.", code="store_too_large")
        rows = [row for name in names if (row := self._row(name)) is not None]
        now = datetime.now(UTC)
        over = [row for row in rows if "until" in row and datetime.fromisoformat(row["until"]) <= now]
        for row in over:
            self._keep.working.delete(_name((tuple(row["namespace"]), row["key"])))
        return {(tuple(row["namespace"]), row["key"]): row for row in rows if row not in over}

    def _row(self, name: str) -> dict[str, Any] | None:
        found = self._keep.working.get(name)
        return json.loads(json.dumps(_thawed(found.data))) if found is not None and found.data else None


def _name(place: Place) -> str:
    """A name that no namespace or key can imitate another's with."""
    return _PREFIX + hashlib.sha256(json.dumps([list(place[0]), place[1]]).encode()).hexdigest()


def _until(ttl: float | None, now: datetime) -> dict[str, str]:
    return {} if ttl is None else {"until": (now + timedelta(minutes=ttl)).isoformat()}


def _mirror(items: Mapping[Place, dict[str, Any]], index: IndexConfig | None = None) -> InMemoryStore:
    mirror = InMemoryStore(index=index)
    for (namespace, key), row in items.items():
        mirror._data[namespace][key] = _item(row)
    return mirror


def _found(op: SearchOp, items: Mapping[Place, dict[str, Any]]) -> list[SearchItem]:
    """What fits; with a query, what shares the most words with it first."""
    found: Any = _mirror(items).batch([op._replace(limit=_MOST_ITEMS, offset=0, query=None)])[0]
    if op.query:
        wanted = _words(op.query)
        scored = [(len(wanted & _words(json.dumps(one.value, ensure_ascii=False))), one) for one in found]
        for score, one in scored:
            one.score = score / max(len(wanted), 1)
        found = [one for _, one in sorted(scored, key=lambda pair: -pair[0])]
    return list(found[op.offset : op.offset + op.limit])


def _indexed(row: Mapping[str, Any], index: Mapping[str, Any]) -> dict[str, str]:
    """The texts of an item that are embedded, by where they stand in it."""
    chosen = row.get("index")
    paths = [] if chosen is False else chosen or index.get("fields") or ["$"]
    found = {path: get_text_at_path(row["value"], path) for path in paths}
    return {f"{path}.{at}": text for path, texts in found.items() for at, text in enumerate(texts)}


def _item(row: Mapping[str, Any]) -> Item:
    return Item(
        value=row["value"],
        key=row["key"],
        namespace=tuple(row["namespace"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
    )


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _thawed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _thawed(one) for name, one in value.items()}
    return [_thawed(one) for one in value] if isinstance(value, list | tuple) else value
