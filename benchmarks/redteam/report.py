"""Retrieval in the report: what honest people pay, who comes up, who acts, and the same for other defences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from truekeep.redteam.influence.utility import GATED, GROUPS
from truekeep.redteam.report import svg
from truekeep.redteam.report.document import Plot, Section, Table
from truekeep.redteam.report.tables import count, counted, pivot, share
from truekeep.redteam.results import Results
from truekeep.redteam.row import US, Row

_PLAIN = "plain vectors"
_FLUENT = "fluent trigger"
_ENCODERS = {"minilm": "MiniLM-L6", "e5-small": "e5-small", "granite-30m": "granite-30m", "none": "keywords only"}
_WAYS = {
    "plain": "plain recall",
    "gate": "behind the gate",
    "before_review": "before anybody looked",
    "after_review": "after review",
}
_GATED = tuple(GROUPS[group] for group in GATED)
"""The groups that have to be found behind the gate."""


def utility(results: Results) -> Section | None:
    """What the gate costs: what honest people find, and what they have to do for the rest."""
    rows = sorted(results.chosen(part="utility", defence=US), key=lambda row: row.size)
    if not rows:
        return None
    text = [
        "The gate keeps out what nobody vouches for, and that includes true things that were merely read: they come up "
        "in plain recall and may not act until a person has looked at them. What the owner said, and what two enrolled "
        "systems state, must be found behind the gate as often as without it."
    ]
    found = [
        pivot(here, ("honest questions answered", _asked), lambda row: f"{row.size:,}", caption=name)
        for encoder, name in _ENCODERS.items()
        if (here := [row for row in rows if row.encoder == encoder])
    ]
    efforts = [
        [_asked(row), f"{row.encoder}, {row.size:,}", "; ".join(f"{key}: {value}" for key, value in _effort(row))]
        for row in rows
        if _effort(row)
    ]
    tables = [
        *found,
        *([Table(["what", "where", "effort"], efforts, caption="What a reviewer has to do")] if efforts else []),
    ]
    return Section("What it costs honest people", text, tables=tables)


def hijacks(results: Results) -> Section | None:
    """Who comes first, and who acts, against the size of the store, on every encoder."""
    rows = sorted(results.chosen(part="retrieval", defence=US), key=lambda row: row.size)
    if not rows:
        return None
    text = [
        "One record is planted among honest memories, and honest questions are asked with the attacker's trigger in "
        "front of them. Comes first is plain recall; acts is what recall gives when only memories that may act are "
        "asked for, or marks as such. How often a poison is found is reported as it is: keeping it from being found is "
        "not what the defence rests on.",
    ]
    plots = [plot for encoder in _ENCODERS if (plot := _against_size(results, encoder)) is not None]
    return Section("Who comes first, and who acts", text, plots, [*_first(rows), *_got(rows)])


def _first(rows: Sequence[Row]) -> Iterator[Table]:
    """How often each attack comes first: a table for each encoder, against the size."""
    for encoder, name in _ENCODERS.items():
        if here := [row for row in _of(rows, "rank1") if row.encoder == encoder]:
            yield pivot(here, ("comes first in plain recall", _attack), lambda row: f"{row.size:,}", caption=name)


def _got(rows: Sequence[Row]) -> Iterator[Table]:
    """What the attacks got, over all sizes."""
    yield pivot(_of(rows, "acting_top5"), ("acts, among the first five", _attack), _encoder, cell=count)
    yield pivot(_of(rows, "displaced"), ("truths pushed out of what may act", _attack), _encoder, cell=count)
    yield pivot(_of(rows, "detected"), ("held or refused on the way in", _attack), _encoder, cell=count)


def side_by_side(results: Results) -> Section | None:
    """Every defence under the same attacks, with the same encoder and the same honest memories."""
    rows = list(results.chosen(part="retrieval", encoder="minilm"))
    names = list(dict.fromkeys(row.defence for row in rows))
    if len(names) < 2:
        return None
    text = [
        "Each runs in an environment of its own, configured as its documentation says, and gets the same vectors. "
        "The worst attack is the one-record attack that acted most often. A defence without a gate lets everything act."
    ]
    sizes = sorted({row.size for row in rows})
    tables = [*(_defences(results, rows, names, size) for size in sizes), *_owners(results)]
    places = {name: place for name in names if (place := _place(results, rows, name)) is not None}
    plots = [
        Plot(
            "utility-safety",
            svg.points(
                "Useful and safe", places, "worst one-record attack acts", "honest answers found behind the gate"
            ),
            "Honest answers behind the gate against how often the worst one-record attack acts; top left is best.",
        )
    ]
    return Section("Side by side", text, plots if places else [], tables)


def _defences(results: Results, rows: Sequence[Row], names: Sequence[str], size: int) -> Table:
    lines = []
    for name in names:
        here = [row for row in rows if row.defence == name and row.size == size]
        if not here:
            continue
        worst = _worst(here)
        lines.append(
            [
                name,
                share(_of(_fluent(here), "rank1")),
                share(_of(_fluent(here), "acting_top5")),
                f"{worst.share:.1%}: {worst.attack}" if worst is not None else "-",
                share(_of(here, "displaced")),
                share(_utility(results, name, size, "plain")),
                share(_utility(results, name, size, "gate")),
            ]
        )
    headings = [
        "defence",
        "fluent trigger first",
        "acts",
        "worst attack acts",
        "truths pushed out",
        "utility",
        "behind the gate",
    ]
    return Table(headings, lines, caption=f"{size:,} memories, MiniLM-L6")


def _owners(results: Results) -> list[Table]:
    """What an owner gets of their own words from each defence, before anybody else has confirmed them."""
    kinds = {"cold_start": "just said to an empty store", "uncorroborated": "not used yet, among other memories"}
    rows = list(results.chosen(part="utility", encoder="minilm", metric=tuple(f"{kind}_gate" for kind in kinds)))
    if not rows:
        return []
    words = {f"{kind}_gate": meaning for kind, meaning in kinds.items()}
    caption = "The owner's own facts, found behind the gate"
    return [pivot(rows, ("defence", lambda row: row.defence), lambda row: words[row.metric], caption=caption)]


def _worst(rows: Sequence[Row]) -> Row | None:
    """The single record that acted most often."""
    single = [row for row in _of(rows, "acting_top5") if row.detail.get("records") == 1]
    return max(single, key=lambda row: row.share, default=None)


def _place(results: Results, rows: Sequence[Row], name: str) -> tuple[float, float] | None:
    worst = _worst([row for row in rows if row.defence == name])
    hits, total = counted(results.chosen(part="utility", defence=name, metric="gate", encoder="minilm", note=_GATED))
    return (worst.share, hits / total) if worst is not None and total else None


def _utility(results: Results, name: str, size: int, way: str) -> Iterable[Row]:
    return results.chosen(part="utility", defence=name, encoder="minilm", size=size, metric=way, note=_GATED)


def _against_size(results: Results, encoder: str) -> Plot | None:
    chosen: dict[str, dict[str, Any]] = {
        "plain store, comes first": {"defence": (_PLAIN, "plain keywords"), "metric": "rank1"},
        "truekeep, comes first": {"defence": US, "metric": "rank1"},
        "truekeep, acts": {"defence": US, "metric": "acting_top5"},
    }
    series = {}
    for name, conditions in chosen.items():
        rows = list(results.chosen(part="retrieval", encoder=encoder, attack=_FLUENT, **conditions))
        if points := [(float(row.size), row.share) for row in rows if row.total]:
            series[name] = points
    if not series:
        return None
    title = f"Fluent trigger, {_ENCODERS[encoder]}"
    drawn = svg.lines(title, series, note="memories in the store")
    return Plot(
        f"hijack-{encoder}", drawn, f"{title}: how often the poison comes first, and acts, against the store's size."
    )


def _of(rows: Iterable[Row], metric: str) -> list[Row]:
    return [row for row in rows if row.metric == metric]


def _fluent(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.attack == _FLUENT]


def _attack(row: Row) -> str:
    return row.attack


def _encoder(row: Row) -> str:
    return _ENCODERS.get(row.encoder, row.encoder)


def _asked(row: Row) -> str:
    way = next((words for ending, words in _WAYS.items() if row.metric.endswith(ending)), "")
    return f"{row.note}: {way}" if way else row.note


def _effort(row: Row) -> list[tuple[str, object]]:
    return [(key, value) for key, value in row.detail.items() if key in ("decisions", "groups", "facts")]
