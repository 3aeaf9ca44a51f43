"""``protect_memory(memory, keep, channel=…)``: mem0's ``Memory`` over a protected vector store.

Everything mem0 remembers passes the vector store's seam, also what it searches to show its own model, so that the seam
is what is wrapped. Its history and its recent messages are tables of its own, of which nothing is known here: they are
read as hearsay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, NotAllowed
from truekeep.protect.wrap.mem0_history import ProtectedHistory
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
HELD = "HELD"
_MOST, _MOST_LISTED = 10_000, 1_000_000
"""One answer of a vector store is held in memory as a whole: of a search, and of all that it has."""
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
        names = [str(one) for one in ids]
        rows = zip(vectors, payloads, names, strict=True)
        given = (GivenEntry(self.namespace, key, dict(payload), _vector(vector)) for vector, payload, key in rows)
        with self.sidecar.writing(given) as plan:
            if not self.sidecar.enforces:
                return self._vectors.insert(vectors=vectors, payloads=payloads, ids=ids)
            allowed = {one.key: one.value for one in plan.allowed}
            kept = [(vector, allowed[key], key) for vector, key in zip(vectors, names, strict=True) if key in allowed]
            columns = [list(column) for column in zip(*kept, strict=True)]
            return self._vectors.insert(vectors=columns[0], payloads=columns[1], ids=columns[2]) if kept else None

    def update(self, vector_id: Any, vector: Any = None, payload: Any = None) -> Any:
        """Change an entry."""
        if payload is None:
            return self._vectors.update(vector_id=vector_id, vector=vector, payload=payload)
        given = (GivenEntry(self.namespace, str(vector_id), dict(one), _vector(vector)) for one in [payload])
        with self.sidecar.writing(given) as plan:
            if not self.sidecar.enforces:
                return self._vectors.update(vector_id=vector_id, vector=vector, payload=payload)
            if not plan.allowed:
                return None
            return self._vectors.update(vector_id=vector_id, vector=vector, payload=plan.allowed[0].value)

    def delete(self, vector_id: Any) -> Any:
        """Delete an entry."""
        with self.sidecar.removing([(self.namespace, str(vector_id))]):
            return self._vectors.delete(vector_id=vector_id)

    def get(self, vector_id: Any) -> Any:
        """One entry, as it may be used."""
        found = self._vectors.get(vector_id=vector_id)
        if not self.sidecar.enforces:
            self._watch([found])
            return found
        return next(iter(self._shown([found])), None) if found is not None else None

    def search(self, query: Any, vectors: Any, top_k: int = 5, filters: Any = None) -> Any:
        """The nearest entries, as they may be used."""
        return self._first(partial(self._vectors.search, query=query, vectors=vectors, filters=filters), top_k)

    def keyword_search(self, query: Any, top_k: int = 5, filters: Any = None) -> Any:
        """The entries that share words, as they may be used; some stores know no such search."""
        return self._first(partial(self._vectors.keyword_search, query=query, filters=filters), top_k)

    def search_batch(self, queries: Any, vectors_list: Any, top_k: int = 1, filters: Any = None) -> Any:
        """Several searches."""
        return [
            self.search(query, vectors, top_k=top_k, filters=filters)
            for query, vectors in zip(queries, vectors_list, strict=True)
        ]

    def list(self, filters: Any = None, top_k: Any = None) -> Any:
        """Entries that fit, as they may be used, in the shape in which the store gives them."""
        if not self.sidecar.enforces:
            found = self._vectors.list(filters=filters, **({"top_k": top_k} if top_k is not None else {}))
            self._watch(_rows(found))
            return found
        # All of it where some is left out, so that entries which may not act do not take the place of others.
        asked = _MOST if self.sidecar.influence_only else top_k
        found = self._vectors.list(filters=filters, **({"top_k": asked} if asked is not None else {}))
        shown = self._shown(_rows(found))[:top_k]
        return type(found)([shown, *found[1:]]) if _is_page(found) else shown

    def reset(self) -> Any:
        """Empty the store; reconcile drops the rows about it."""
        return self._vectors.reset()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (self.sidecar.enforces and name not in _SEAM_PASSED):
            raise AttributeError("A protected vector store does not pass this on.")
        return getattr(self._vectors, name)

    @property
    def namespace(self) -> tuple[str, ...]:
        """Under which the sidecar has the entries of this store."""
        return (str(getattr(self._vectors, "collection_name", "")),)

    def _first(self, ask: Callable[..., Any], top_k: int) -> Any:
        """What a search finds; asked deeper while what is left out takes the place of what may be shown."""
        depth = top_k
        while True:
            found = ask(top_k=depth)
            if found is None or not self.sidecar.enforces:
                self._watch(found or [])
                return found
            shown = self._shown(found)
            if len(shown) >= top_k or len(found) < depth or depth >= _MOST:
                return shown[:top_k]
            depth *= _DEEPER

    def _watch(self, found: Sequence[Any]) -> None:
        self.sidecar.watch(lambda: self._read([one for one in found if one is not None]))

    def _read(self, found: Sequence[Any]) -> Sequence[SeenEntry]:
        return self.sidecar.read([GivenEntry(self.namespace, str(one.id), one.payload or {}) for one in found])

    def _shown(self, found: Sequence[Any]) -> Any:
        pairs = zip(found, self._read(found), strict=True)
        return [_with(one, shown) for one, shown in pairs if not self.sidecar.drops(shown.may_act)]

    # What reconcile needs

    def entries(self) -> Iterator[GivenEntry]:
        """Everything that the store has, as it is."""
        most = _MOST
        while len(rows := _rows(self._vectors.list(filters=None, top_k=most))) >= most:
            most *= _DEEPER  # what is not listed would be taken for gone
            if most > _MOST_LISTED:
                raise InvalidRequest("The store has more entries than can be compared.", code="store_too_large")
        return (GivenEntry(self.namespace, str(one.id), one.payload or {}) for one in rows)

    def current(self, namespace: tuple[str, ...], key: str) -> Any:  # noqa: ARG002 - the interface
        """The payload of that id as it is, or none."""
        found = self._vectors.get(vector_id=key)
        return (found.payload or {}) if found is not None else None

    def finish(self, one: GivenEntry) -> None:
        """Give the store what was approved, or what a crash kept from it."""
        vector = one.extra["vector"] if one.extra is not None else None
        # Not every store takes an insert for a change: some would have the entry twice.
        if vector is None or self._vectors.get(vector_id=one.key) is not None:
            self._vectors.update(vector_id=one.key, vector=vector, payload=one.value)
        else:
            self._vectors.insert(vectors=[vector], payloads=[one.value], ids=[one.key])

    def take_out(self, namespace: tuple[str, ...], key: str) -> None:  # noqa: ARG002 - the interface
        """Finish a deletion."""
        self._vectors.delete(vector_id=key)


class ProtectedMemory:
    """mem0's ``Memory`` or ``AsyncMemory`` as a program uses it."""

    def __init__(self, memory: Any, seam: ProtectedVectorStore) -> None:
        self._memory = memory
        self.sidecar = seam.sidecar
        self._protect(seam)

    def _protect(self, seam: ProtectedVectorStore) -> None:
        self.vector_store = self._memory.vector_store = seam
        self._memory.db = ProtectedHistory(self._memory.db, self.sidecar)

    def add(self, *arguments: Any, **options: Any) -> Any:
        """As mem0's; what waits for a person is said to be ``HELD``, since the store does not have it."""
        return _then(self._memory.add(*arguments, **options), self._told)

    def _told(self, answer: Any) -> Any:
        if not self.sidecar.enforces or not isinstance(answer, dict):
            return answer
        namespace = self.vector_store.namespace
        results = [
            {**one, "event": HELD} if self.sidecar.is_held(namespace, str(one.get("id"))) else one
            for one in answer.get("results", [])
        ]
        return {**answer, "results": results}

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
        return _then(self._memory.reset(), self._protected_anew)

    def _protected_anew(self, answer: Any) -> Any:
        self._protect(ProtectedVectorStore(self._memory.vector_store, self.sidecar))
        return answer

    def history(self, memory_id: str) -> Any:
        """What mem0 wrote down about one memory; in enforce mode as hearsay."""
        return self._memory.history(memory_id)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (self.sidecar.enforces and name not in _MEMORY_PASSED):
            raise AttributeError("A protected memory does not pass this on.")
        return getattr(self._memory, name)


def _then(answer: Any, change: Callable[[Any], Any]) -> Any:
    """What an asynchronous memory answers is changed when it has answered."""
    if not isawaitable(answer):
        return change(answer)

    async def later() -> Any:
        return change(await answer)

    return later()


def _is_page(found: Any) -> bool:
    """Whether a store gives entries with where they go on, as some do."""
    return isinstance(found, list | tuple) and bool(found) and isinstance(found[0], list | tuple)


def _rows(found: Any) -> Any:
    return list(found[0] if _is_page(found) else found)


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
