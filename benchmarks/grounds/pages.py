"""The sets as the tables of ``docs/benchmarks/grounds.md``: one line for a set under one condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from truekeep.redteam.figures import ResultRow

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "grounds.md"
METRICS = {
    "rejected": "rejected",
    "held": "held",
    "accepted": "accepted",
    "raw_first": "comes first, raw",
    "raw": "found, raw",
    "acting": "acts",
    "shown_later": "shown to the agent later",
    "executed": "attackers' calls carried out",
    "questioned": "attackers' calls put to the owner",
    "unasked": "honest tasks without a question",
    "completed": "honest tasks done",
    "honest_refused": "honest refused or held",
    "honest_found": "honest found, acting",
    "cosine_found": "the same by cosine alone",
    "shown": "memories shown to the model",
}
_WAYS = ("rejected", "held", "accepted")
_NO_KINDS = {"step", "commit"}
_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"


def write_tables(rows: Sequence[ResultRow], page: Path = PAGE) -> None:
    """Put them between the marks of the page."""
    before, _, rest = page.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    page.write_text(f"{before}{_BEGIN}\n\n{tables(rows)}\n\n{_END}{after}", "utf-8")


def tables(rows: Sequence[ResultRow]) -> str:
    """A table for every set, with the columns that it has; then the kinds of attack where a set has kinds."""
    blocks = []
    for name in dict.fromkeys(row.attack for row in rows):
        mine = [row for row in rows if row.attack == name]
        left_out = [row.note for row in mine if not row.total and row.note.startswith("left out")]
        commits = ", ".join(dict.fromkeys(str(row.detail["commit"]) for row in mine if row.detail.get("commit")))
        title = f"**{name}**" + (f", at {commits}" if commits else "")
        title += ", keywords only" if any(row.encoder == "none" for row in mine) else ""
        blocks.append(f"{title}\n\n" + (left_out[0] if left_out else "\n".join(_lines(mine))))
        if kinds := list(_kinds(mine)):
            blocks.append("\n".join(kinds))
    return "\n\n".join(blocks)


def _lines(rows: Sequence[ResultRow]) -> Iterator[str]:
    metrics = [metric for metric in METRICS if any(row.metric == metric for row in rows)]
    yield f"| conditions | {' | '.join(METRICS[metric] for metric in metrics)} |"
    yield "|---|" + "---|" * len(metrics)
    for note in dict.fromkeys(row.note for row in rows):
        by_metric = {row.metric: row for row in rows if row.note == note}
        cells = [_cell(by_metric.get(metric)) for metric in metrics]
        yield f"| {note} | {' | '.join(cells)} |"


def _cell(row: ResultRow | None) -> str:
    if row is None or not row.total:
        return "-"
    count = f"{row.hits:,} of {row.total:,}"
    return f"**{count}**" if row.metric in ("acting", "executed") else count


def _kinds(rows: Sequence[ResultRow]) -> Iterator[str]:
    """By kind of attack: rejected, held, accepted, in the first condition that tells them apart."""
    ways = [row for row in rows if row.metric in _WAYS and set(row.detail) - _NO_KINDS]
    for note in dict.fromkeys(row.note for row in ways):
        here = {row.metric: row.detail for row in ways if row.note == note}
        names = sorted({kind for detail in here.values() for kind in detail if kind not in _NO_KINDS})
        yield f"| {note}: kind | {' | '.join(here)} |"
        yield "|---|" + "---|" * len(here)
        yield from (f"| {kind} | {' | '.join(str(here[way].get(kind, 0)) for way in here)} |" for kind in names)
        yield ""
