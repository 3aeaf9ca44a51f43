"""``protect_memory(memory, keep, channel=…)``: mem0's ``Memory`` over a protected vector store.

Everything mem0 remembers passes the vector store's seam, also what it searches to show its own model, so that the seam
is what is wrapped. Its history is a table of its own, of which nothing is known here: it is read as hearsay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from truekeep.errors import NotAllowed
from truekeep.protect.wrap.sidecar import SHADOW, GivenEntry, SeenEntry, Sidecar
from truekeep.protect.wrap.values import MEMBER

if TYPE_CHECKING:
    from truekeep.keep import Keep

_FOUND_BY = frozenset({"user_id", "agent_id", "run_id", "actor_id", "role", "hash", "created_at", "updated_at"})
"""Members of a payload by which mem0 itself finds and orders entries."""
_SEAM_PASSED = frozenset(
    {"client", "collection_name", "create_col", "list_cols", "col_info", "delete_col", "embedding_model_dims", "path"}
)
_MEMORY_PASSED = frozenset({"close", "config", "api_version", "collection_name"})
_MOST = 10_000
"""One answer of a vector store is held in memory as a whole."""
_DEEPER = 10


def protect_vector_store(
    vector_store: Any,
    keep: Keep,
    *,
    channel: str,
    mode: str = SHADOW,
    name: str = "mem0",
    session: str | None = None,
    principal: str | None = None,
    influence_only: bool = False,
) -> ProtectedVectorStore:
    """The object behind ``memory.vector_store``, with an origin for every entry."""
    sidecar = Sidecar(
        keep,
        store=name,
        channel=channel,
        mode=mode,
        session=session,
        principal=principal,
        influence_only=influence_only,
        kept=_FOUND_BY,
    )
    return ProtectedVectorStore(vector_store, sidecar)


def protect_memory(memory: Any, keep: Keep, *, channel: str, **options: Any) -> ProtectedMemory:
    """mem0's ``Memory`` with its vector store protected; the options are those of ``protect_vector_store``."""
    seam = protect_vector_store(memory.vector_store, keep, channel=channel, **options)
    memory.vector_store = seam
    return ProtectedMemory(memory, seam)


class ProtectedVectorStore:
    """A vector store of mem0's behind a sidecar. In enforce mode what is not known here is refused."""

    def __init__(self, vector_store: Any, sidecar: Sidecar) -> None:
        self._vectors = vector_store
        self.sidecar = sidecar

    def insert(self, vectors: Any, payloads: Any = None, ids: Any = None) -> Any:
        """Add entries. Without ids nobody could tell later which entry is which, so they are needed."""
        if not self.sidecar.enforces and (ids is None or payloads is None):
            return self._vectors.insert(vectors=vectors, payloads=payloads, ids=ids)
        if ids is None or payloads is None:
            raise NotAllowed("A protected vector store takes entries with ids and payloads.", code="entry_without_id")
        rows = list(zip(vectors, payloads, map(str, ids), strict=True))
        plan = self.sidecar.begin(
            [GivenEntry(self._namespace, key, dict(payload), _vector(vector)) for vector, payload, key in rows]
        )
        if not self.sidecar.enforces:
            result = self._vectors.insert(vectors=vectors, payloads=payloads, ids=ids)
        else:
            allowed = {one.key: one.value for one in plan.allowed}
            kept = [(vector, allowed[key], key) for vector, _, key in rows if key in allowed]
            columns = [list(column) for column in zip(*kept, strict=True)]
            result = (
                self._vectors.insert(**dict(zip(("vectors", "payloads", "ids"), columns, strict=True)))
                if kept
                else None
            )
        self.sidecar.settle(plan)
        return result

    def update(self, vector_id: Any, vector: Any = None, payload: Any = None) -> Any:
        """Change an entry."""
        if payload is None:
            return self._vectors.update(vector_id=vector_id, vector=vector, payload=payload)
        plan = self.sidecar.begin([GivenEntry(self._namespace, str(vector_id), dict(payload), _vector(vector))])
        result = None
        if plan.allowed:
            chosen = plan.allowed[0].value if self.sidecar.enforces else payload
            result = self._vectors.update(vector_id=vector_id, vector=vector, payload=chosen)
        self.sidecar.settle(plan)
        return result

    def delete(self, vector_id: Any) -> Any:
        """Delete an entry."""
        rows = self.sidecar.begin_removal([(self._namespace, str(vector_id))])
        result = self._vectors.delete(vector_id=vector_id)
        self.sidecar.settle_removal(rows)
        return result

    def get(self, vector_id: Any) -> Any:
        """One entry, as it may be used."""
        found = self._vectors.get(vector_id=vector_id)
        return next(iter(self._shown([found])), None) if found is not None else None

    def search(self, query: Any, vectors: Any, top_k: int = 5, filters: Any = None) -> Any:
        """The nearest entries, as they may be used."""
        found = self._vectors.search(query=query, vectors=vectors, top_k=self._depth(top_k), filters=filters)
        return self._first(found, top_k)

    def keyword_search(self, query: Any, top_k: int = 5, filters: Any = None) -> Any:
        """The entries that share words, as they may be used; some stores know no such search."""
        found = self._vectors.keyword_search(query=query, top_k=self._depth(top_k), filters=filters)
        return self._first(found, top_k) if found is not None else None

    def search_batch(self, queries: Any, vectors_list: Any, top_k: int = 1, filters: Any = None) -> Any:
        """Several searches."""
        return [
            self.search(query, vectors, top_k=top_k, filters=filters)
            for query, vectors in zip(queries, vectors_list, strict=True)
        ]

    def list(self, filters: Any = None, top_k: Any = None) -> Any:
        """Entries that fit, as they may be used, in the shape in which the store gives them."""
        found = self._vectors.list(filters=filters, **({"top_k": top_k} if top_k is not None else {}))
        if isinstance(found, list | tuple) and found and isinstance(found[0], list | tuple):
            shown = self._shown(list(found[0]))
            if not self.sidecar.enforces:
                return found
            return type(found)([shown, *found[1:]])
        shown = self._shown(list(found))
        return shown if self.sidecar.enforces else found

    def reset(self) -> Any:
        """Empty the store; reconcile drops the rows about it."""
        return self._vectors.reset()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (self.sidecar.enforces and name not in _SEAM_PASSED):
            raise AttributeError("A protected vector store does not pass this on.")
        return getattr(self._vectors, name)

    @property
    def _namespace(self) -> tuple[str, ...]:
        return (str(getattr(self._vectors, "collection_name", "")),)

    def _depth(self, top_k: int) -> int:
        return top_k * (_DEEPER if self.sidecar.enforces and self.sidecar.influence_only else 1)

    def _first(self, found: Any, top_k: int) -> Any:
        shown = self._shown(list(found))
        return shown[:top_k] if self.sidecar.enforces else found

    def _shown(self, found: Sequence[Any]) -> Any:
        seen = self.sidecar.read([GivenEntry(self._namespace, str(one.id), one.payload or {}) for one in found])
        if not self.sidecar.enforces:
            return [*found]
        pairs = zip(found, seen, strict=True)
        return [_with(one, shown) for one, shown in pairs if not self.sidecar.drops(shown.may_act)]

    # What reconcile needs

    def entries(self) -> Iterator[GivenEntry]:
        """Everything that the store has, as it is."""
        found = self._vectors.list(filters=None, top_k=_MOST)
        rows = found[0] if found and isinstance(found[0], list | tuple) else found
        return (GivenEntry(self._namespace, str(one.id), one.payload or {}) for one in rows)

    def current(self, namespace: tuple[str, ...], key: str) -> Any:  # noqa: ARG002 - the interface
        """The payload of that id as it is, or none."""
        found = self._vectors.get(vector_id=key)
        return (found.payload or {}) if found is not None else None

    def finish(self, one: GivenEntry) -> None:
        """Give the store what was approved, or what a crash kept from it."""
        if one.extra is None:
            self._vectors.update(vector_id=one.key, vector=None, payload=one.value)
        else:
            self._vectors.insert(vectors=[one.extra["vector"]], payloads=[one.value], ids=[one.key])

    def take_out(self, namespace: tuple[str, ...], key: str) -> None:  # noqa: ARG002 - the interface
        """Finish a deletion."""
        self._vectors.delete(vector_id=key)


class ProtectedMemory:
    """mem0's ``Memory`` as a program uses it."""

    def __init__(self, memory: Any, seam: ProtectedVectorStore) -> None:
        self._memory = memory
        self.vector_store = seam
        self.sidecar = seam.sidecar

    def add(self, *arguments: Any, **options: Any) -> Any:
        """As mem0's."""
        return self._memory.add(*arguments, **options)

    def get(self, *arguments: Any, **options: Any) -> Any:
        """As mem0's."""
        return self._memory.get(*arguments, **options)

    def get_all(self, *arguments: Any, **options: Any) -> Any:
        """As mem0's."""
        return self._memory.get_all(*arguments, **options)

    def search(self, *arguments: Any, **options: Any) -> Any:
        """As mem0's."""
        return self._memory.search(*arguments, **options)

    def update(self, *arguments: Any, **options: Any) -> Any:
        """As mem0's."""
        return self._memory.update(*arguments, **options)

    def delete(self, *arguments: Any, **options: Any) -> Any:
        """As mem0's."""
        return self._memory.delete(*arguments, **options)

    def delete_all(self, *arguments: Any, **options: Any) -> Any:
        """As mem0's."""
        return self._memory.delete_all(*arguments, **options)

    def reset(self) -> Any:
        """As mem0's, which makes a vector store anew: that one is protected again."""
        result = self._memory.reset()
        self.vector_store = ProtectedVectorStore(self._memory.vector_store, self.sidecar)
        self._memory.vector_store = self.vector_store
        return result

    def history(self, memory_id: str) -> Any:
        """What mem0 wrote down about one memory; in enforce mode as hearsay."""
        rows = self._memory.history(memory_id)
        given = [GivenEntry(("history", memory_id), str(one.get("id")), dict(one)) for one in rows]
        seen = self.sidecar.read(given)
        if not self.sidecar.enforces:
            return rows
        return [{**one.value, MEMBER: one.mark} for one in seen if not self.sidecar.drops(one.may_act)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (self.sidecar.enforces and name not in _MEMORY_PASSED):
            raise AttributeError("A protected memory does not pass this on.")
        return getattr(self._memory, name)


def _vector(vector: Any) -> dict[str, Any] | None:
    return {"vector": [float(one) for one in vector]} if vector is not None else None


def _with(found: Any, seen: SeenEntry) -> Any:
    """A copy with the payload that may be shown; the store's own object is left as it is."""
    payload = {**seen.value, MEMBER: seen.mark}
    if hasattr(found, "model_copy"):
        return found.model_copy(update={"payload": payload})
    shown = copy(found)
    shown.payload = payload
    return shown
