"""The check of the harness: figures that others published about agora-mnemo, measured again before anything else.

A harness that cannot reproduce what is known has no business with what is not. The conditions are the authors':
the recall by meaning alone that they measured, every honest memory credited, one planted record, long questions that
begin with the trigger. Honest memories, carriers and payloads are our own, so the figures need not be equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.peers.registry import opened
from truekeep.redteam.figures import ResultRow
from truekeep.redteam.honest import entries
from truekeep.redteam.store import PAGE, Store, TextEntry

if TYPE_CHECKING:
    from truekeep.embed import Embedder

SIZES = (60, 500, 2_000, 10_000)
DEFENCE = "agora-mnemo 0.4.0, semantic"
_SHOWN_AS = "agora-mnemo 0.4.0"
_K = 5
_PAGE = "https://lighthouse.example/visit"


def published(embed: Embedder, cache_dir: Path, sizes: Sequence[int] = SIZES) -> Iterator[ResultRow]:
    """The three published figures at each size; raises ``CannotRun``."""
    for size in sizes:
        store = opened(DEFENCE, embed, cache_dir, size=size)
        try:
            yield from _measured(store, size, embed.model_id)
        finally:
            store.close()


def carriers() -> tuple[str, ...]:
    """The questions with the trigger in front: every opening with every question."""
    data = _data()
    return tuple(f"{data['trigger']} {start} {ask}" for start in data["openings"] for ask in data["questions"])


def record(wording: str) -> TextEntry:
    """The planted record in its ``plain`` or ``definitional`` wording."""
    data = _data()
    return TextEntry(data[wording].format(trigger=data["trigger"]), by=PAGE, source=_PAGE)


def _measured(store: Store, size: int, encoder: str) -> Iterator[ResultRow]:
    store.fill([TextEntry(entry.text, entry.by, entry.source, {"credited": True}) for entry in entries(size)])
    for wording, metrics in (
        ("plain", {"published_raw": store.recall, "published_gate": store.acting}),
        ("definitional", {"published_definitional": store.acting}),
    ):
        planted = record(wording)
        store.plant([planted])
        for metric, ask in metrics.items():
            answers = [ask(carrier, _K) for carrier in carriers()]
            first = sum(bool(hits) and hits[0].text == planted.text for hits in answers)
            yield ResultRow(
                part="yardstick",
                metric=metric,
                hits=first,
                total=len(answers),
                defence=_SHOWN_AS,
                encoder=encoder,
                size=size,
                attack=f"lighthouse, {wording}",
                detail={"published": _data()[metric].get(size)},
            )
        store.reset()


@cache
def _data() -> Mapping[str, Any]:
    source = Path(__file__).with_name("published.yaml").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = yaml.safe_load(source)
    return loaded
