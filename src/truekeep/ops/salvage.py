"""Salvage: what still verifies in a keep that refuses to serve, for a person to look at and perhaps import elsewhere.

A row counts when its own MAC holds. Whether it is the newest version, and what else there was, nobody can know once
the chain is broken; where the chain still says so, it is said. Texts are screened and sanitised as on any other way
out, and the standing a memory had is told, not kept: an import makes it hearsay.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truekeep.config import Paths, Settings
from truekeep.errors import StoreCorrupt, StoreError, StoreTampered, UnknownId
from truekeep.read.reader import blocked_by
from truekeep.screens.panel import Screening
from truekeep.stores.files import keyring, open_backend, require_store
from truekeep.stores.inspection import inspect_chain, replayed
from truekeep.stores.ledger import Sealed
from truekeep.stores.records import item_from, memory_from
from truekeep.stores.seal import Seal
from truekeep.trust import fence
from truekeep.trust.origin import keep_name
from truekeep.trust.policy import Policy, preset
from truekeep.types import Memory, utc_text

if TYPE_CHECKING:
    from truekeep.stores.base import Backend, Row
    from truekeep.stores.chain import Expected
    from truekeep.stores.keys import KeepKeys

FORMAT = "salvage"
_KINDS = {"memories": "memory", "history": "version", "queue": "held"}
_MOST_GAPS = 2_000
"""Rows that cannot be read after one another, after which a table counts as over."""


@dataclass(frozen=True, slots=True)
class TextJudge:
    """Today's screens and policy, for texts that no keep can vouch for."""

    panel: Screening
    policy: Policy

    def shown(self, memory: Memory) -> dict[str, Any]:
        """What a person gets to see of a memory."""
        ids = blocked_by(memory, self.panel.current(), self.policy)
        text = fence.placeholder(ids, memory.id) if ids else fence.sanitised(memory.text)
        return {"content": text, "blocked": bool(ids), "block_reason": list(ids)}


def salvage(name: str, *, home: str | Path | None = None, settings: Settings | None = None) -> Iterator[dict[str, Any]]:
    """Everything that still verifies, as dictionaries: a header, the rows, and at the end what was counted."""
    from truekeep.screens.standard import LivePanel  # noqa: PLC0415 - the rule engine is heavy

    paths = Paths.resolve(home)
    chosen = settings or Settings.load(paths.config)
    ring = keyring(paths, chosen)
    if not ring.exists(keep_name(name)):
        raise UnknownId("There is no keep of that name.", hint=f"Looked for its key in {paths.keys}.")
    require_store(paths, name, chosen)
    keys = ring.open(name)
    judge = TextJudge(LivePanel(paths), preset(chosen.policy))
    with closing(open_backend(paths, name, keys, chosen)) as backend:
        yield from _rows(backend, keys, judge, name)


def _rows(backend: Backend, keys: KeepKeys, judge: TextJudge, name: str) -> Iterator[dict[str, Any]]:
    expected, problem = _current(backend, keys)
    yield {
        "truekeep": FORMAT,
        "version": 1,
        "keep": name,
        "at": utc_text(datetime.now(UTC)),
        "chain": "holds" if expected is not None else "broken",
        "problem": problem,
    }
    # Rotating keys seals everything anew: what only an old key vouches for was put there by somebody who has it.
    newest = len(keys.epochs) - 1
    seals = [Seal(keys, epoch) for epoch in range(0 if keys.pending else newest, newest + 1)]
    counts = {"verified": 0, "not_verified": 0, "unreadable": 0}
    for table, kind in _KINDS.items():
        for row in _readable(backend, table):
            if row is None:
                counts["unreadable"] += 1
            elif not any(seal.holds(table, row) for seal in seals):
                counts["not_verified"] += 1
            elif entry := _entry(table, row, judge):
                counts["verified"] += 1
                yield {"type": kind, **entry, "current": _is_current(expected, table, row)}
    yield {"type": "summary", **counts}


def _entry(table: str, row: Row, judge: TextJudge) -> dict[str, Any] | None:
    sealed = Sealed(row, verified=True)
    try:
        if table == "queue":
            item = item_from(sealed)
            memory = item.memory if item else None
            extra = {"state": item.state, "held_because": item.code} if item else {}
        else:
            memory, extra = memory_from(sealed), {}
    except (KeyError, TypeError, ValueError):
        return None
    if memory is None:
        return None
    origin = {part: fence.one_line(str(value)) for part, value in memory.origin.as_dict().items() if part != "quote"}
    return {
        "id": row.id,
        **judge.shown(memory),
        "standing_was": memory.standing.label,
        "origin_was": origin,
        "as_of": utc_text(memory.as_of),
        "created_at": utc_text(memory.created_at),
        **extra,
    }


def _current(backend: Backend, keys: KeepKeys) -> tuple[Expected | None, str]:
    """What the chain left in force, if it holds at all."""
    try:
        with backend.reading():
            return replayed(backend, inspect_chain(backend, Seal(keys))), ""
    except StoreTampered as error:
        return None, f"{error} ({error.where}; {error.since})"
    except StoreError as error:
        return None, str(error)


def _is_current(expected: Expected | None, table: str, row: Row) -> bool | None:
    """Whether the chain left this very row in its place; none if there is no chain to ask."""
    return None if expected is None else expected[table].get(row.seq) == row.mac


def _readable(backend: Backend, table: str) -> Iterator[Row | None]:
    """The rows of a table one by one; none for each that a damaged page has taken away."""
    after, gaps = 0, 0
    while gaps < _MOST_GAPS:
        try:
            with backend.reading():
                row = next(iter(backend.rows(table, after=after, limit=1)), None)
        except StoreCorrupt:
            after, gaps = after + 1, gaps + 1
            yield None
            continue
        if row is None:
            return
        after, gaps = row.seq, 0
        yield row
