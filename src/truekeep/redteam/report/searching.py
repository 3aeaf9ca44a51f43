"""The searching attacker in the report: what the cheapest break of each defence costs."""

from __future__ import annotations

from truekeep.redteam.report import svg
from truekeep.redteam.report.document import Plot, Section, Table
from truekeep.redteam.report.tables import counted
from truekeep.redteam.results import Results
from truekeep.redteam.row import Row
from truekeep.redteam.wilson import wilson

_BUDGET = 1_000


def search(results: Results) -> Section | None:
    """Defences by what it takes to break them."""
    rows = list(results.chosen(part="search"))
    if not rows:
        return None
    text = [
        "An attacker with a budget of records, made-up sources and sessions tries sequences of public operations, at "
        "random and guided by how close it came, and makes what it found as small as it gets. On weak defences it has "
        "to find the break that is there; only then does its silence mean anything."
    ]
    names = list(dict.fromkeys(row.defence for row in rows))
    costs = {name: _records([row for row in rows if row.defence == name]) for name in names}
    plot = Plot(
        "attack-cost", svg.bars("Records the cheapest break took", costs, _BUDGET), "The cheapest break by defence."
    )
    lines = [_line(name, [row for row in rows if row.defence == name]) for name in names]
    table = Table(["defence", "sequences", "that broke it", "cheapest"], lines)
    return Section("What an attack costs", text, [plot], [table])


def _line(name: str, rows: list[Row]) -> list[str]:
    hits, played = counted(row for row in rows if row.metric == "broken")
    cheapest = min((row for row in rows if row.detail.get("cheapest")), key=_spent, default=None)
    _, most = wilson(hits, played)
    words = str(cheapest.detail["found"]) if cheapest else f"none found; at most {most:.2%} of such sequences break it"
    return [name, f"{played:,}", f"{hits:,}", words]


def _records(rows: list[Row]) -> int | None:
    return min((_spent(row) for row in rows if row.detail.get("cheapest")), default=None)


def _spent(row: Row) -> int:
    return int(row.detail["cheapest"]["cost"]["records"])
