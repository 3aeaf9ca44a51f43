"""``protect_collection(collection, keep, channel=…)``: a Chroma collection, kept and watched.

An entry is its document and metadata together. What a query finds is read again by its id, whole, so that what is
compared with what was written through us is what is given out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truekeep.errors import NotAllowed
from truekeep.protect.wrap.sidecar import SHADOW, GivenEntry, SeenEntry, Sidecar
from truekeep.protect.wrap.values import MEMBER

if TYPE_CHECKING:
    from truekeep.keep import Keep

_PASSED = frozenset({"name", "id", "metadata", "count", "configuration", "schema", "tenant", "database", "modify"})
_WHOLE = ["documents", "metadatas"]
_PAGE = 500
_DEEPER, _MOST = 10, 10_000
"""How many times more is asked for, again and again, while entries that are left out take the place of others."""


def protect_collection(
    collection: Any,
    keep: Keep,
    *,
    channel: str,
    mode: str = SHADOW,
    name: str = "chroma",
    session: str | None = None,
    principal: str | None = None,
    influence_only: bool = False,
) -> ProtectedCollection:
    """The same collection, with an origin for every entry. ``channel`` is whose words are added."""
    sidecar = Sidecar(
        keep,
        store=name,
        channel=channel,
        mode=mode,
        session=session,
        principal=principal,
        influence_only=influence_only,
    )
    return ProtectedCollection(collection, sidecar)


class ProtectedCollection:
    """A Chroma collection behind a sidecar. In enforce mode what is not known here is refused."""

    def __init__(self, collection: Any, sidecar: Sidecar) -> None:
        self._collection = collection
        self.sidecar = sidecar

    def add(self, ids: Any, **fields: Any) -> None:
        """Add entries."""
        self._write("add", ids, fields)

    def upsert(self, ids: Any, **fields: Any) -> None:
        """Add or replace entries."""
        self._write("upsert", ids, fields)

    def update(self, ids: Any, **fields: Any) -> None:
        """Change entries; what is not given stays as it is."""
        self._write("update", ids, fields)

    def delete(self, ids: Any = None, where: Any = None, where_document: Any = None) -> Any:
        """Delete entries by their ids, or those that fit."""
        fits = {"ids": ids, "where": where, "where_document": where_document}
        if all(one is None for one in fits.values()):
            return self._collection.delete(**fits)  # which says what is wrong; to get so would be to get everything
        chosen = self._collection.get(**fits, include=[])["ids"]
        with self.sidecar.removing([(self._namespace, one) for one in chosen]):
            return self._collection.delete(**fits)

    def query(self, *, n_results: int = 10, **asked: Any) -> dict[str, Any]:
        """What is nearest, as it may be used."""
        if not self.sidecar.enforces:
            plain = self._collection.query(n_results=n_results, **asked)
            self.sidecar.watch(lambda: [self._seen(ids) for ids in plain["ids"]])
            return dict(plain)
        depth = n_results
        while True:
            found = self._collection.query(n_results=depth, **asked)
            pages = [self._seen(ids) for ids in found["ids"]]
            shown = min((sum(one is not None for one in page) for page in pages), default=n_results)
            # An index that searches roughly may give fewer than it was asked for, and have more.
            if shown >= n_results or depth >= min(_MOST, self._collection.count()):
                return {name: _paged(name, lists, pages, n_results) for name, lists in found.items()}
            depth *= _DEEPER

    def get(self, ids: Any = None, **asked: Any) -> dict[str, Any]:
        """Entries by their ids, or those that fit."""
        found = self._collection.get(ids=ids, **asked)
        if not self.sidecar.enforces:
            self.sidecar.watch(lambda: self._seen(found["ids"]))
            return dict(found)
        seen = self._seen(found["ids"])
        return {name: _column(name, one, seen, len(found["ids"])) for name, one in found.items()}

    def peek(self, limit: int = 10) -> dict[str, Any]:
        """The first entries."""
        return self.get(limit=limit)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (self.sidecar.enforces and name not in _PASSED):
            raise NotAllowed("A protected collection does not pass this on.", code="not_protected")
        return getattr(self._collection, name)

    @property
    def _namespace(self) -> tuple[str, ...]:
        return (str(self._collection.name),)

    def _write(self, how: str, ids: Any, fields: Mapping[str, Any]) -> None:
        names = [ids] if isinstance(ids, str) else list(ids)
        columns = {name: [one] if isinstance(one, str | dict) else one for name, one in fields.items()}
        with self.sidecar.writing(self._all_given(how, names, columns)) as plan:
            if not self.sidecar.enforces:
                getattr(self._collection, how)(ids=ids, **fields)
                return
            allowed = {one.key: one for one in plan.allowed}
            kept = [at for at, name in enumerate(names) if name in allowed]
            if kept:
                chosen = {name: [one[at] for at in kept] for name, one in columns.items() if one is not None}
                chosen |= _values([allowed[names[at]].value for at in kept], columns)
                getattr(self._collection, how)(ids=[names[at] for at in kept], **chosen)

    def _all_given(self, how: str, names: Sequence[str], columns: Mapping[str, Any]) -> Iterator[GivenEntry]:
        """The entries as they will be: an update and an upsert leave what is not given as it is."""
        known = {} if how == "add" else self._raw(names)
        for at, name in enumerate(names):
            yield self._given(name, at, columns, known.get(name))

    def _given(self, name: str, at: int, columns: Mapping[str, Any], known: Any) -> GivenEntry:
        def of(column: str) -> Any:
            return columns[column][at] if columns.get(column) is not None else None

        before = known or {"document": None, "metadata": None}
        merged = {**(before["metadata"] or {}), **(of("metadatas") or {})}
        value = {"document": of("documents") or before["document"], "metadata": merged or None}
        vector = of("embeddings")
        extra = {"embedding": [float(one) for one in vector]} if vector is not None else None
        is_whole = of("documents") is not None and not set(before["metadata"] or {}) - set(of("metadatas") or {})
        return GivenEntry(self._namespace, name, value, extra, before=None if is_whole else known)

    def _raw(self, ids: Sequence[str]) -> dict[str, Any]:
        if not ids:
            return {}
        found = self._collection.get(ids=list(ids), include=_WHOLE)
        rows = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        return {name: {"document": text, "metadata": dict(data) if data else None} for name, text, data in rows}

    def _seen(self, ids: Sequence[str]) -> list[SeenEntry | None]:
        """What may be shown of each id, in their order; nothing for what is left out or is gone by now."""
        raw = self._raw(ids)
        here = [name for name in ids if name in raw]
        seen = self.sidecar.read([GivenEntry(self._namespace, name, raw[name]) for name in here])
        shown = {name: one for name, one in zip(here, seen, strict=True) if not self.sidecar.drops(one.may_act)}
        return [shown.get(name) for name in ids]

    # What reconcile needs

    def entries(self) -> Iterator[GivenEntry]:
        """Everything that the collection has, as it is."""
        start = 0
        while ids := self._collection.get(limit=_PAGE, offset=start, include=[])["ids"]:
            yield from (GivenEntry(self._namespace, name, value) for name, value in self._raw(ids).items())
            start += len(ids)

    def current(self, namespace: tuple[str, ...], key: str) -> Any:  # noqa: ARG002 - the interface
        """The entry of that id as it is, or none."""
        return self._raw([key]).get(key)

    def finish(self, one: GivenEntry) -> None:
        """Give the collection what was approved, or what a crash kept from it."""
        fields: dict[str, Any] = {"documents": [one.value["document"]]} if one.value["document"] is not None else {}
        fields |= {"metadatas": [one.value["metadata"]]} if one.value["metadata"] else {}
        fields |= {"embeddings": [one.extra["embedding"]]} if one.extra else {}
        self._collection.upsert(ids=[one.key], **fields)

    def take_out(self, namespace: tuple[str, ...], key: str) -> None:  # noqa: ARG002 - the interface
        """Finish a deletion."""
        self._collection.delete(ids=[key])


def _values(values: Sequence[Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Documents and metadata as they were judged, where the caller gave any."""
    found = {"documents": [one["document"] for one in values], "metadatas": [one["metadata"] for one in values]}
    return {name: one for name, one in found.items() if columns.get(name) is not None}


def _paged(name: str, lists: Any, pages: Sequence[Sequence[SeenEntry | None]], most: int) -> Any:
    if not isinstance(lists, list) or len(lists) != len(pages):
        return lists
    return [_column(name, one, page, len(page))[:most] for one, page in zip(lists, pages, strict=True)]


def _column(name: str, column: Any, seen: Sequence[SeenEntry | None], size: int) -> Any:
    """One column of an answer without what is left out, texts as they may be shown."""
    if column is None or name == "included" or len(column) != size:
        return column
    rows = [(one, shown) for one, shown in zip(column, seen, strict=True) if shown is not None]
    if name == "documents":
        return [shown.value.get("document", shown.value.get("data")) for _, shown in rows]
    if name == "metadatas":
        return [{**(shown.value.get("metadata") or {}), MEMBER: shown.mark} for _, shown in rows]
    # A place on disk is a text of whoever added the entry; nothing else in an answer is.
    return [None if name in ("uris", "data") else one for one, _ in rows]
