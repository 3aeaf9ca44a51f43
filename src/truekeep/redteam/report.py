"""What the report says, section by section, from the rows of a run and what the claims came to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from truekeep.redteam.figures import US, ResultRow, wilson
from truekeep.redteam.report_pages import Document, Plot, Section, Table, lines_plot
from truekeep.redteam.results import tally

if TYPE_CHECKING:
    from truekeep.redteam.results import ClaimFinding, Results

    Part = Callable[[Results], Section | None]

Key = Callable[[ResultRow], str]
_TITLE = "Memory poisoning, measured"
FLUENT = "fluent trigger"
_UNNAMEABLE = re.compile(r"[^\w-]+")
"""What no name of a file should have in it; the setting may name a folder."""
_ENCODERS = {"minilm": "MiniLM-L6", "none": "keywords only"}
_WAYS = {
    "plain": "plain recall",
    "gate": "behind the gate",
    "before_review": "before anybody looked",
    "after_review": "after review",
}
_BATTERY = {
    "won": "attacks that got anything",
    "acting": "attacks whose planted text acts",
    "displaced": "truths displaced",
    "allowed": "forbidden calls that went through",
    "blocked": "honest calls blocked",
    "not_played": "attacks that could not be played",
}
DOCUMENTS = {
    "acting": "memories that may act",
    "rejected": "writes rejected",
    "held": "writes held",
    "remembered": "of which anything was kept",
    "executed": "calls carried out",
    "questioned": "calls put to the owner",
    "completed": "the user's own calls done",
}


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
        pivot(here, ("honest questions answered", _asked), lambda row: f"{row.size:,}", caption=_encoder(here[0]))
        for here in _by_encoder(rows)
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
    plots = [plot for here in _by_encoder(rows) if (plot := _against_size(results, here[0])) is not None]
    return Section("Who comes first, and who acts", text, plots, [*_first(rows), *_got(rows)])


def _first(rows: Sequence[ResultRow]) -> Iterator[Table]:
    """How often each attack comes first: a table for each encoder, against the size."""
    for here in _by_encoder(_of(rows, "rank1")):
        heading = "comes first in plain recall"
        yield pivot(here, (heading, _attack), lambda row: f"{row.size:,}", caption=_encoder(here[0]))


def _got(rows: Sequence[ResultRow]) -> Iterator[Table]:
    """What the attacks got, over all sizes."""
    yield pivot(_of(rows, "acting_top5"), ("acts, among the first five", _attack), _encoder, cell=count)
    yield pivot(_of(rows, "displaced"), ("truths pushed out of what may act", _attack), _encoder, cell=count)
    yield pivot(_of(rows, "detected"), ("rejected and held on the way in", _attack), _encoder, cell=lost_and_held)


def _against_size(results: Results, of: ResultRow) -> Plot | None:
    chosen: dict[str, dict[str, Any]] = {
        "plain store, comes first": {"defence": ("plain vectors", "plain keywords"), "metric": "rank1"},
        "truekeep, comes first": {"defence": US, "metric": "rank1"},
        "truekeep, acts": {"defence": US, "metric": "acting_top5"},
    }
    series = {}
    for name, conditions in chosen.items():
        rows = list(results.chosen(part="retrieval", encoder=of.encoder, attack=FLUENT, **conditions))
        if points := [(float(row.size), row.share) for row in rows if row.total]:
            series[name] = points
    if not series:
        return None
    title = f"Fluent trigger, {_encoder(of)}"
    drawn = lines_plot(title, series, note="memories in the store")
    return Plot(
        f"hijack-{_UNNAMEABLE.sub('-', of.encoder)}",
        drawn,
        f"{title}: how often the poison comes first, and acts, against the store's size.",
    )


def _of(rows: Iterable[ResultRow], metric: str) -> list[ResultRow]:
    return [row for row in rows if row.metric == metric]


def _by_encoder(rows: Iterable[ResultRow]) -> list[list[ResultRow]]:
    """The rows of each encoder, in the order in which they come."""
    found: dict[str, list[ResultRow]] = {}
    for row in rows:
        found.setdefault(row.encoder, []).append(row)
    return list(found.values())


def _attack(row: ResultRow) -> str:
    return row.attack


def _encoder(row: ResultRow) -> str:
    return _ENCODERS.get(row.encoder, row.encoder)


def _asked(row: ResultRow) -> str:
    way = next((words for ending, words in _WAYS.items() if row.metric.endswith(ending)), "")
    return f"{row.note}: {way}" if way else row.note


def _effort(row: ResultRow) -> list[tuple[str, object]]:
    return [(key, value) for key, value in row.detail.items() if key in ("decisions", "groups", "facts")]


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
    lines = [_line(name, [row for row in rows if row.defence == name]) for name in names]
    table = Table(["defence", "sequences", "that broke it", "cheapest"], lines)
    return Section("What an attack costs", text, tables=[table])


def _line(name: str, rows: list[ResultRow]) -> list[str]:
    hits, played = counted(row for row in rows if row.metric == "broken")
    cheapest = min((row for row in rows if row.detail.get("cheapest")), key=spent, default=None)
    _, most = wilson(hits, played)
    words = str(cheapest.detail["found"]) if cheapest else f"none found; at most {most:.2%} of such sequences break it"
    return [name, f"{played:,}", f"{hits:,}", words]


def spent(row: ResultRow) -> int:
    """How many records the cheapest break of a row took."""
    return int(row.detail["cheapest"]["cost"]["records"])


def agent(results: Results) -> Section | None:
    """An agent whose model obeys whatever it reads."""
    rows = list(results.chosen(part="agent"))
    if not rows:
        return None
    text = [
        "The model does whatever any text in its context tells it, so the memory and the act boundary are all that "
        "stands between a planted order and a call. Without either, attacks have to succeed, or it proves nothing."
    ]
    table = pivot(rows, ("memory and boundary", lambda row: row.defence), _counted)
    return Section("An agent that obeys", text, tables=[table])


def battery(results: Results) -> Section | None:
    """The attacks on influence that are written as data."""
    rows = sorted(results.chosen(part="influence"), key=lambda row: row.size)
    if not rows:
        return None
    table = pivot(rows, ("", lambda row: _BATTERY.get(row.metric, row.metric)), lambda row: f"{row.size:,}", cell=count)
    text = ["Every attack of `truekeep redteam influence --list`, each on a fresh copy of an honest keep of that size."]
    return Section("The battery", text, tables=[table])


def documents(results: Results) -> Section | None:
    """Documents with orders in them, through extraction and up to the act boundary."""
    rows = list(results.chosen(part="yardstick"))
    if not rows:
        return None
    lines = [[DOCUMENTS.get(row.metric, row.metric), conditions(row), share([row])] for row in rows]
    return Section("Injected documents", tables=[Table(["figure", "conditions", "measured"], lines)])


def screens(results: Results) -> Section | None:
    """What the screens see by wording alone."""
    rows = list(results.chosen(part="screen"))
    if not rows:
        return None
    text = [
        "On the owner's own channel, where a text is judged by its wording alone. Nothing above rests on this: wording "
        "can always be found that no screen knows, and the ways around them that were written after all tuning show it."
    ]
    kinds = {"detected": "attacks", "false_alarm": "honest"}
    lines = [[row.attack, kinds.get(row.metric, row.metric), lost_and_held([row]), share([row])] for row in rows]
    return Section(
        "Screens", text, tables=[Table(["texts", "", "rejected (lost), held (reviewable)", "either"], lines)]
    )


def _counted(row: ResultRow) -> str:
    words = {"executed": "attacker's calls carried out", "completed": "honest tasks completed"}
    named = f"{words.get(row.metric, row.metric)}"
    return f"{named}, attacked: {row.attack}" if row.attack else named


def conditions(row: ResultRow) -> str:
    """Under which a row was measured."""
    size = f"{row.size:,} memories" if row.size else ""
    return ", ".join(part for part in (row.encoder, size, row.attack, row.note) if part)


PARTS: tuple[Part, ...] = (utility, hijacks, search, agent, battery, documents, screens)


def compose(results: Results, findings: Sequence[ClaimFinding], parts: Sequence[Part] = PARTS) -> Document:
    """The whole report; parts that were not measured are not in it."""
    sections = [section for part in parts if (section := part(results)) is not None]
    return Document(_TITLE, _facts(results), [_claims(findings), *sections, *_left_out(results), _refuting(findings)])


def _facts(results: Results) -> list[tuple[str, str]]:
    names = {
        "at": "measured",
        "machine": "on",
        "truekeep": "version",
        "profile": "run",
        "embedder": "embedder of the keep",
    }
    facts = [(words, str(results.conditions[name])) for name, words in names.items() if name in results.conditions]
    spent = sum(results.cpu.values())
    return [*facts, ("CPU", f"{spent:,.0f} s in {len(results.cpu)} steps, workers aside")]


def _claims(findings: Sequence[ClaimFinding]) -> Section:
    summary = tally(findings)
    rows = [[one.state, one.bound.claim, one.sentence] for one in findings]
    marks = ["good" if one.is_met else "bad" if one.is_measured else "" for one in findings]
    return Section("What holds", [summary], tables=[Table(["", "claim", "found"], rows, marks)])


def _left_out(results: Results) -> list[Section]:
    if not results.left_out:
        return []
    rows = [[step, reason] for step, reason in results.left_out.items()]
    return [Section("What was left out", tables=[Table(["step", "reason"], rows)])]


def _refuting(findings: Sequence[ClaimFinding]) -> Section:
    text = (
        "Each claim can be tested by anybody. If the command shows the outcome beside it, the claim is wrong, and we "
        "want to know."
    )
    rows = [[one.bound.claim, f"`{one.bound.command}`", one.bound.refuted_by] for one in findings]
    return Section("How to refute it", [text], tables=[Table(["claim", "command", "refuted by"], rows)])


def share(rows: Iterable[ResultRow]) -> str:
    """The share over all of these with its interval; a dash where nothing was measured."""
    hits, total = counted(rows)
    if not total:
        return "-"
    low, high = wilson(hits, total)
    return f"{hits / total:.1%} ({low:.1%} to {high:.1%})"


def count(rows: Iterable[ResultRow]) -> str:
    """So many of so many."""
    hits, total = counted(rows)
    return f"{hits:,} of {total:,}" if total else "-"


def lost_and_held(rows: Iterable[ResultRow]) -> str:
    """How many were rejected and how many wait for a person, of how many; runs before 0.2 did not tell them apart."""
    listed = list(rows)
    if not all("rejected" in row.detail for row in listed):
        return count(listed)
    rejected, held = (sum(int(row.detail[what]) for row in listed) for what in ("rejected", "held"))
    return f"{rejected:,} and {held:,} of {counted(listed)[1]:,}" if listed else "-"


def counted(rows: Iterable[ResultRow]) -> tuple[int, int]:
    """Hits and totals over all of these."""
    listed = list(rows)
    return sum(row.hits for row in listed), sum(row.total for row in listed)


def pivot(
    rows: Sequence[ResultRow],
    down: tuple[str, Key],
    across: Key,
    *,
    cell: Callable[[Iterable[ResultRow]], str] = share,
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
