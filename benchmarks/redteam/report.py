"""What the published report shows beside a user's own: other defences side by side, and the yardsticks of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchmarks.grounds.pages import METRICS
from benchmarks.grounds.planting import PART
from benchmarks.redteam.plots import bars, points
from truekeep.redteam.figures import ResultRow
from truekeep.redteam.honest import GATED, GROUPS
from truekeep.redteam.report import (
    DOCUMENTS,
    FLUENT,
    agent,
    battery,
    compose,
    conditions,
    counted,
    hijacks,
    pivot,
    screens,
    search,
    share,
    spent,
    utility,
)
from truekeep.redteam.report_pages import Document, Plot, Section, Table
from truekeep.redteam.results import ClaimFinding, Results

_GATED = tuple(GROUPS[group] for group in GATED)
"""The groups that have to be found behind the gate."""
_BUDGET = 1_000
_YARDSTICKS = {
    "agmi_refused": "agmi: refused",
    "published_raw": "lighthouse trigger comes first",
    "published_gate": "the same behind its gate",
    "published_definitional": "behind its gate, in definitional wording",
    **{metric: f"injected documents: {words}" for metric, words in DOCUMENTS.items()},
}


def composed(results: Results, findings: Sequence[ClaimFinding]) -> Document:
    """The whole published report."""
    parts = (utility, hijacks, side_by_side, costs, agent, tool_calls, agentdojo, grounds, battery, yardsticks, screens)
    return compose(results, findings, parts)


def tool_calls(results: Results) -> Section | None:
    """Defences at the tool call, set by set: what they let through against how often they ask."""
    rows = list(results.chosen(part="tool call"))
    if not rows:
        return None
    text = [
        "Every defence answers the same calls of the same scripted agent, which obeys whatever it reads. How each is "
        "set up, and what guards of memories are asked here, is on the page of defences at the tool call."
    ]
    tables, plots = [], []
    for name in dict.fromkeys(row.attack for row in rows):
        here = [row for row in rows if row.attack == name]
        lines = [[row.defence, f"{row.hits} of {row.total}", f"{_questions(row):.2f}", _done(row)] for row in here]
        tables.append(Table(["defence", "attacks carried out", "questions a task", "tasks done"], lines, caption=name))
        places = {
            row.defence: (min(1.0, row.detail["questions"] / max(row.detail["tasks"], 1)), row.share) for row in here
        }
        drawn = points(name, places, "questions a task", "attacks carried out")
        file = f"tool-call-{name.lower().replace(' ', '-')}"
        plots.append(Plot(file, drawn, f"{name}: attacks carried out against questions asked; bottom left is best."))
    return Section("At the tool call, side by side", text, plots, tables)


def agentdojo(results: Results) -> Section | None:
    """AgentDojo whole, by its own checks."""
    rows = list(results.chosen(part="agentdojo"))
    if not rows:
        return None
    words = {"executed": "attacks carried out", "unasked": "tasks without a question"}
    words |= {"asked_once": "with at most one", "completed": "tasks completed"}
    text = [
        "A script makes the calls of each task and obeys every injection. What the rules cost is on AgentDojo's page."
    ]
    table = pivot(rows, ("condition", lambda row: row.note), lambda row: words[row.metric], caption="All four suites")
    return Section("AgentDojo, whole", text, tables=[table])


def grounds(results: Results) -> Section | None:
    """Other people's sets of memory attacks."""
    rows = list(results.chosen(part=PART))
    if not rows:
        return None
    text = [
        "Memories that others poisoned, and sessions that others wrote. Raw is plain recall over everything that is "
        "stored; what acts may drive a call. Where a set comes from, and what of it is measured, is on their page."
    ]
    lines = [
        [row.attack, row.note, METRICS.get(row.metric, row.metric), f"{row.hits:,} of {row.total:,}"] for row in rows
    ]
    table = Table(["set", "conditions", "figure", "measured"], lines)
    return Section("Other people's sets of memory attacks", text, tables=[table])


def costs(results: Results) -> Section | None:
    """Defences by what it takes to break them, also as a plot."""
    section = search(results)
    if section is None:
        return None
    rows = list(results.chosen(part="search"))
    records = {name: _records(rows, name) for name in dict.fromkeys(row.defence for row in rows)}
    drawn = bars("Records the cheapest break took", records, _BUDGET)
    return replace(section, plots=[Plot("attack-cost", drawn, "The cheapest break by defence.")])


def yardsticks(results: Results) -> Section | None:
    """What other people measure."""
    rows = list(results.chosen(part="yardstick"))
    if not rows:
        return None
    lines = [
        [row.defence, _YARDSTICKS.get(row.metric, row.metric), conditions(row), share([row]), _published(row)]
        for row in rows
    ]
    text = [
        "Figures that others published are measured again first, as a check of the harness. `agmi` edits a store "
        "behind its back, and writes with and without the owner's valid signature; what is signed as theirs counts "
        "as theirs here, and agmi counts it as poison that got through (agent-laundered)."
    ]
    headings = ["defence", "figure", "conditions", "measured", "published"]
    return Section("Yardsticks of others", text, tables=[Table(headings, lines)])


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
            points("Useful and safe", places, "worst one-record attack acts", "honest answers found behind the gate"),
            "Honest answers behind the gate against how often the worst one-record attack acts; top left is best.",
        )
    ]
    return Section("Side by side", text, plots if places else [], tables)


def _defences(results: Results, rows: Sequence[ResultRow], names: Sequence[str], size: int) -> Table:
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


def _worst(rows: Sequence[ResultRow]) -> ResultRow | None:
    """The single record that acted most often."""
    single = [row for row in _of(rows, "acting_top5") if row.detail.get("records") == 1]
    return max(single, key=lambda row: row.share, default=None)


def _place(results: Results, rows: Sequence[ResultRow], name: str) -> tuple[float, float] | None:
    worst = _worst([row for row in rows if row.defence == name])
    hits, total = counted(results.chosen(part="utility", defence=name, metric="gate", encoder="minilm", note=_GATED))
    return (worst.share, hits / total) if worst is not None and total else None


def _utility(results: Results, name: str, size: int, way: str) -> Iterable[ResultRow]:
    return results.chosen(part="utility", defence=name, encoder="minilm", size=size, metric=way, note=_GATED)


def _questions(row: ResultRow) -> float:
    return float(row.detail["questions"] / max(row.detail["tasks"], 1))


def _done(row: ResultRow) -> str:
    return f"{row.detail['done']} of {row.detail['tasks']}"


def _fluent(rows: Iterable[ResultRow]) -> list[ResultRow]:
    return [row for row in rows if row.attack == FLUENT]


def _of(rows: Iterable[ResultRow], metric: str) -> list[ResultRow]:
    return [row for row in rows if row.metric == metric]


def _records(rows: Iterable[ResultRow], name: str) -> int | None:
    return min((spent(row) for row in rows if row.defence == name and row.detail.get("cheapest")), default=None)


def _published(row: ResultRow) -> str:
    value = row.detail.get("published")
    return "-" if value is None else str(value)
