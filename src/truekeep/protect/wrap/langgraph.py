"""``protect_store(store, keep, channel=…)``: any LangGraph ``BaseStore``, kept and watched."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from truekeep.errors import MissingExtra
from truekeep.protect.wrap.sidecar import SHADOW, GivenEntry, SeenEntry, Sidecar
from truekeep.protect.wrap.values import MEMBER

try:
    from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchOp
except ImportError:
    raise MissingExtra("langgraph") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep

_PAGE = 100
_MOST = 10_000
"""Entries that are looked at to fill an answer with those that may act."""


def protect_store(
    store: BaseStore,
    keep: Keep,
    *,
    channel: str,
    mode: str = SHADOW,
    name: str = "langgraph",
    session: str | None = None,
    principal: str | None = None,
    influence_only: bool = False,
) -> ProtectedStore:
    """The same store, with an origin for every item. ``channel`` is whose words are put; the operator binds it."""
    sidecar = Sidecar(
        keep,
        store=name,
        channel=channel,
        mode=mode,
        session=session,
        principal=principal,
        influence_only=influence_only,
    )
    return ProtectedStore(store, sidecar)


class ProtectedStore(BaseStore):
    """A LangGraph store behind a sidecar; every method of the interface ends in ``batch`` or ``abatch``."""

    def __init__(self, store: BaseStore, sidecar: Sidecar) -> None:
        self._store = store
        self.sidecar = sidecar
        self.supports_ttl = store.supports_ttl
        self.ttl_config = store.ttl_config

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry operations out. What is read is how things stood before what is put in the same batch."""
        given = list(ops)
        if not self.sidecar.enforces:
            return self._watched(given)
        reads = [op for op in given if not isinstance(op, PutOp)]
        results = iter([self._answered(op, self._fetch(op)) for op in reads])
        self._write([op for op in given if isinstance(op, PutOp)])
        return [None if isinstance(op, PutOp) else next(results) for op in given]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As ``batch``. The store's own asynchronous interface is used; the sidecar works in a thread."""
        given = list(ops)
        puts = [op for op in given if isinstance(op, PutOp)]
        plan, gone = await asyncio.to_thread(self._begin, puts)
        with self._settling(plan, gone):
            if self.sidecar.enforces:
                return await self._acarried_out(given, self._allowed(puts, plan))
            results = await self._store.abatch(given)
            await asyncio.to_thread(self._look, given, results)
            return results

    async def _acarried_out(self, given: list[Op], allowed: list[Op]) -> list[Result]:
        reads = [op for op in given if not isinstance(op, PutOp)]
        found = await self._afetch(reads)
        shown = iter([await asyncio.to_thread(self._answered, *one) for one in zip(reads, found, strict=True)])
        if allowed:
            await self._store.abatch(allowed)
        return [None if isinstance(op, PutOp) else next(shown) for op in given]

    async def _afetch(self, reads: Sequence[Op]) -> list[Result]:
        if self.sidecar.influence_only:  # page after page, in a thread: a flood of other entries must hide nothing
            return [await asyncio.to_thread(self._fetch, op) for op in reads]
        return await self._store.abatch(reads) if reads else []

    def _watched(self, given: list[Op]) -> list[Result]:
        with self._writing([op for op in given if isinstance(op, PutOp)]):
            results = self._store.batch(given)
        self._look(given, results)
        return results

    def _look(self, given: Sequence[Op], results: Sequence[Result]) -> None:
        items = [item for op, result in zip(given, results, strict=True) for item in _items(op, result)]
        self.sidecar.watch(lambda: self.sidecar.read([_entry(item) for item in items]))

    def _write(self, puts: Sequence[PutOp]) -> None:
        with self._writing(puts) as plan:
            allowed = self._allowed(puts, plan)
            if allowed:
                self._store.batch(allowed)

    @contextmanager
    def _writing(self, puts: Sequence[PutOp]) -> Iterator[Any]:
        plan, gone = self._begin(puts)
        with self._settling(plan, gone):
            yield plan

    @contextmanager
    def _settling(self, plan: Any, gone: Any) -> Iterator[None]:
        """Settle what the store took; a deletion that it refused is forgotten."""
        try:
            yield
        except Exception:
            if gone is not None:
                self.sidecar.cancel_removal(gone)
            raise
        self._settle(plan, gone)

    def _begin(self, puts: Sequence[PutOp]) -> tuple[Any, Any]:
        last = list({(op.namespace, op.key): op for op in puts}.values())
        written = [op for op in last if op.value is not None]
        plan = self.sidecar.begin(map(_given, written)) if written else None
        dropped = [(tuple(op.namespace), op.key) for op in last if op.value is None]
        return plan, self.sidecar.begin_removal(dropped) if dropped else None

    def _allowed(self, puts: Sequence[PutOp], plan: Any) -> list[Op]:
        values = {(one.namespace, one.key): one.value for one in plan.allowed} if plan is not None else {}
        last = {(tuple(op.namespace), op.key): op for op in puts}
        return [
            op if op.value is None else op._replace(value=values[place])
            for place, op in last.items()
            if op.value is None or place in values
        ]

    def _settle(self, plan: Any, gone: Any) -> None:
        if plan is not None:
            self.sidecar.settle(plan)
        if gone is not None:
            self.sidecar.settle_removal(gone)

    def _fetch(self, op: Op) -> Result:
        """What the store has; where only what may act is asked for, page after page until there is enough."""
        if not (self.sidecar.influence_only and isinstance(op, SearchOp)):
            return self._store.batch([op])[0]
        found: list[Any] = []
        for start in range(0, _MOST, _PAGE):
            page: Any = self._store.batch([op._replace(limit=_PAGE, offset=start)])[0]
            seen = self.sidecar.read([_entry(item) for item in page])
            found += [item for item, one in zip(page, seen, strict=True) if one.may_act]
            if len(page) < _PAGE or len(found) >= op.offset + op.limit:
                break
        return found[op.offset : op.offset + op.limit]

    def _answered(self, op: Op, result: Result) -> Result:
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(result)
        items = [item for item in _items(op, result) if isinstance(op, GetOp) or self._is_named_safely(item)]
        seen = self.sidecar.read([_entry(item) for item in items])
        shown = [_with(item, one) for item, one in zip(items, seen, strict=True) if not self.sidecar.drops(one.may_act)]
        return shown if isinstance(op, SearchOp) else next(iter(shown), None)

    def _namespaces(self, result: Any) -> list[tuple[str, ...]]:
        return [name for name in result if self.sidecar.names_safely(name)]

    def _is_named_safely(self, item: Any) -> bool:
        """Names are given by whoever writes, too. One cannot be marked, or nobody would find the entry by it."""
        return self.sidecar.names_safely((*item.namespace, item.key))

    # What reconcile needs

    def entries(self) -> Iterator[GivenEntry]:
        """Everything that the store has, as it is."""
        start = 0
        while page := self._store.search((), limit=_PAGE, offset=start):
            yield from map(_entry, page)
            start += len(page)

    def current(self, namespace: tuple[str, ...], key: str) -> Any:
        """The value at a place as it is, or none."""
        item = self._store.get(namespace, key)
        return item.value if item is not None else None

    def finish(self, one: GivenEntry) -> None:
        """Give the store what was approved, or what a crash kept from it."""
        self._store.batch([PutOp(one.namespace, one.key, one.value, **(one.extra or {}))])

    def take_out(self, namespace: tuple[str, ...], key: str) -> None:
        """Finish a deletion."""
        self._store.batch([PutOp(namespace, key, None)])


def _items(op: Op, result: Any) -> list[Any]:
    if isinstance(op, GetOp):
        return [result] if result is not None else []
    return list(result) if isinstance(op, SearchOp) else []


def _entry(item: Item) -> GivenEntry:
    return GivenEntry(tuple(item.namespace), item.key, item.value)


def _given(op: PutOp) -> GivenEntry:
    extra = {"index": op.index, "ttl": op.ttl}
    return GivenEntry(
        tuple(op.namespace), op.key, op.value, {name: one for name, one in extra.items() if one is not None}
    )


def _with(item: Any, seen: SeenEntry) -> Any:
    """A copy of the item with the value that may be shown; the store's own object is left as it is."""
    from copy import copy  # noqa: PLC0415 - one use

    shown = copy(item)
    shown.value = {**seen.value, MEMBER: seen.mark}
    return shown
