"""Rows as tables: one condition down, another across, hits of totals in the cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from truekeep.redteam.report.document import Table
from truekeep.redteam.row import Row
from truekeep.redteam.wilson import wilson

Key = Callable[[Row], str]


def share(rows: Iterable[Row]) -> str:
    """The share over all of these with its interval; a dash where nothing was measured."""
    hits, total = counted(rows)
    if not total:
        return "-"
    low, high = wilson(hits, total)
    return f"{hits / total:.1%} ({low:.1%} to {high:.1%})"


def count(rows: Iterable[Row]) -> str:
    """So many of so many."""
    hits, total = counted(rows)
    return f"{hits:,} of {total:,}" if total else "-"


def counted(rows: Iterable[Row]) -> tuple[int, int]:
    """Hits and totals over all of these."""
    listed = list(rows)
    return sum(row.hits for row in listed), sum(row.total for row in listed)


def pivot(
    rows: Sequence[Row],
    down: tuple[str, Key],
    across: Key,
    *,
    cell: Callable[[Iterable[Row]], str] = share,
    caption: str = "",
) -> Table:
    """One line for each value of ``down`` and one column for each of ``across``, in the order in which they come."""
    heading, downwards = down
    lines = list(dict.fromkeys(map(downwards, rows)))
    columns = list(dict.fromkeys(map(across, rows)))
    cells = [
        [line, *(cell(row for row in rows if (downwards(row), across(row)) == (line, column)) for column in columns)]
        for line in lines
    ]
    return Table([heading, *columns], cells, caption=caption, is_figures=True)
