"""Which steps a quick and a full run consist of."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from truekeep.errors import InvalidRequest
from truekeep.redteam.row import Row
from truekeep.redteam.running import Ground, Step

_QUICK_SHARE = 6
"""A quick run plays every so many-th attack of the battery."""
_BATTERY_SIZES = (60, 500, 2_000, 10_000)


def steps(profile: str, only: str | None = None) -> list[Step]:
    """The steps of a run, or those with these words in their name."""
    listed = list(_quick() if profile == "quick" else _full())
    found = [step for step in listed if only is None or only.casefold() in step.name.casefold()]
    if not found:
        raise InvalidRequest("No step has that name.", hint=f"There are: {', '.join(step.name for step in listed)}.")
    return found


def _quick() -> Iterator[Step]:
    yield Step("screens", _detection)
    yield Step("battery, 60", partial(_battery, size=60, share=_QUICK_SHARE, embedder="none"))


def _full() -> Iterator[Step]:
    yield Step("screens", _detection)
    for size in _BATTERY_SIZES:
        yield Step(f"battery, {size:,}", partial(_battery, size=size))


def _detection(_: Ground) -> Iterable[Row]:
    from truekeep.redteam.detection import measure_detection  # noqa: PLC0415 - rules and weights load slowly
    from truekeep.screens.standard import panel  # noqa: PLC0415

    return measure_detection(panel())


def _battery(ground: Ground, *, size: int, share: int = 1, embedder: str | None = None) -> Iterable[Row]:
    from truekeep.redteam.influence.arena import Arena  # noqa: PLC0415
    from truekeep.redteam.influence.battery import attacked  # noqa: PLC0415
    from truekeep.redteam.influence.loading import attacks  # noqa: PLC0415
    from truekeep.redteam.influence.rows import rows_of  # noqa: PLC0415

    settings = replace(ground.settings, embedder=embedder or ground.settings.embedder)
    with tempfile.TemporaryDirectory(prefix="truekeep-redteam-") as folder:
        arena = Arena(Path(folder), size, settings, config=ground.config, progress=ground.progress)
        outcomes = attacked(arena, attacks()[::share], ground.progress)
    return rows_of(outcomes, settings.embedder, size)
