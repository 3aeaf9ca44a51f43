"""What putting a backup back would change: found by holding it beside the keep, with nothing written.

The backup is verified and must end at an event of the keep's history, just as when it is put back. Texts are screened
and sanitised as on any other way out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truekeep.config import Paths, Settings
from truekeep.errors import StoreCorrupt, StoreTampered, UnknownId
from truekeep.ops.salvage import TextJudge
from truekeep.stores.base import TABLES
from truekeep.stores.copying import examined
from truekeep.stores.files import keyring, open_backend
from truekeep.stores.ledger import Sealed
from truekeep.stores.records import memory_from
from truekeep.trust.origin import keep_name
from truekeep.trust.policy import preset
from truekeep.types import Progress

if TYPE_CHECKING:
    from truekeep.stores.base import Backend, Row

_MOST_TOLD = 100
"""Memories whose text is told; all are counted."""


@dataclass(frozen=True, slots=True)
class RestorePreview:
    """What a backup would bring back and what would go. A row that was changed since does both."""

    ends_at: int
    """The backup's newest event."""
    made_of: str
    """When that happened."""
    stands_at: int | None
    """The keep's newest event; none if the keep cannot be read as it is."""
    go: Mapping[str, int]
    """Rows that would go, by table."""
    come_back: Mapping[str, int]
    """Rows that would come back, by table."""
    memories_go: tuple[str, ...]
    memories_come_back: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The preview as JSON members."""
        return {
            "ends_at": self.ends_at,
            "at": self.made_of,
            "stands_at": self.stands_at,
            "go": dict(self.go),
            "come_back": dict(self.come_back),
            "memories_go": list(self.memories_go),
            "memories_come_back": list(self.memories_come_back),
        }


def preview_restore(
    name: str,
    source: str | Path,
    *,
    home: str | Path | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> RestorePreview:
    """Say what putting that backup back would change. Refuses what ``restore`` refuses."""
    from truekeep.screens.standard import LivePanel  # noqa: PLC0415 - the rule engine is heavy

    paths = Paths.resolve(home)
    chosen = settings or Settings.load(paths.config)
    ring = keyring(paths, chosen)
    if not ring.exists(keep_name(name)):
        raise UnknownId("There is no keep of that name.", hint=f"Looked for its key in {paths.keys}.")
    judge = TextJudge(LivePanel(paths), preset(chosen.policy))
    with examined(paths, name, Path(source), chosen) as (copy, head):
        present = _present(paths, name, chosen)
        with closing(present) if present is not None else nullcontext(), copy.reading():
            newest = present.last_event() if present is not None else None
            told = _compared(copy, present, judge, progress) if present is not None else ({}, {}, (), ())
        return RestorePreview(head.seq, head.at, newest.seq if newest is not None else None, *told)


def _present(paths: Paths, name: str, settings: Settings) -> Backend | None:
    """The keep as it is; nothing if it cannot be read, which may be why somebody puts a backup back."""
    try:
        return open_backend(paths, name, keyring(paths, settings).open(name), settings, is_checked=False)
    except (StoreCorrupt, StoreTampered):
        return None


def _compared(
    copy: Backend, present: Backend, judge: TextJudge, progress: Progress | None
) -> tuple[dict[str, int], dict[str, int], tuple[str, ...], tuple[str, ...]]:
    go, back = dict[str, int](), dict[str, int]()
    texts: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    with present.reading():
        for number, table in enumerate(TABLES, 1):
            here, there = _rows(present, table), _rows(copy, table)
            gone = [row for key, row in here.items() if key not in there]
            returned = [row for key, row in there.items() if key not in here]
            go |= {table: len(gone)} if gone else {}
            back |= {table: len(returned)} if returned else {}
            if table == "memories":
                texts = _texts(gone, judge), _texts(returned, judge)
            if progress is not None:
                progress(number, len(TABLES))
    return go, back, *texts


def _rows(backend: Backend, table: str) -> dict[tuple[int, str, str, str], Row]:
    """Rows by what they say: what seals them is another thing after a rotation of keys, and they are the same."""
    return {(row.seq, row.id, row.tag, row.body): row for row in backend.rows(table)}


def _texts(rows: Iterable[Row], judge: TextJudge) -> tuple[str, ...]:
    return tuple(str(judge.shown(memory_from(Sealed(row, True)))["content"]) for row in list(rows)[:_MOST_TOLD])
