"""The other parts of the report: the agent, the battery, the yardsticks of others, and the screens."""

from __future__ import annotations

from truekeep.redteam.report.document import Section, Table
from truekeep.redteam.report.tables import count, pivot, share
from truekeep.redteam.results import Results
from truekeep.redteam.row import Row

_BATTERY = {
    "won": "attacks that got anything",
    "acting": "attacks whose planted text acts",
    "displaced": "truths displaced",
    "allowed": "forbidden calls that went through",
    "blocked": "honest calls blocked",
    "not_played": "attacks that could not be played",
}
_YARDSTICKS = {
    "agmi_refused": "agmi: refused",
    "published_raw": "lighthouse trigger comes first",
    "published_gate": "the same behind its gate",
    "published_definitional": "behind its gate, in definitional wording",
    "acting": "injected documents: memories that may act",
    "held": "injected documents: writes held or refused",
    "remembered": "injected documents: of which anything was kept",
    "executed": "injected documents: calls carried out",
    "questioned": "injected documents: calls put to the owner",
    "completed": "injected documents: the user's own calls done",
}


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


def yardsticks(results: Results) -> Section | None:
    """What other people measure."""
    rows = list(results.chosen(part="yardstick"))
    if not rows:
        return None
    lines = [
        [row.defence, _YARDSTICKS.get(row.metric, row.metric), _conditions(row), share([row]), _published(row)]
        for row in rows
    ]
    text = [
        "Figures that others published are measured again first, as a check of the harness. `agmi` edits a store "
        "behind its back, and writes with and without the owner's valid signature; what is signed as theirs counts "
        "as theirs here, and agmi counts it as poison that got through (agent-laundered)."
    ]
    return Section(
        "Yardsticks of others",
        text,
        tables=[Table(["defence", "figure", "conditions", "measured", "published"], lines)],
    )


def screens(results: Results) -> Section | None:
    """What the screens see by wording alone."""
    rows = list(results.chosen(part="screen"))
    if not rows:
        return None
    text = [
        "On the owner's own channel, where a text is judged by its wording alone. Nothing above rests on this: wording "
        "can always be found that no screen knows, and the ways around them that were written after all tuning show it."
    ]
    lines = [[row.attack, "held back" if row.metric == "detected" else "false alarms", share([row])] for row in rows]
    return Section("Screens", text, tables=[Table(["texts", "", "share"], lines)])


def _counted(row: Row) -> str:
    words = {"executed": "attacker's calls carried out", "completed": "honest tasks completed"}
    named = f"{words.get(row.metric, row.metric)}"
    return f"{named}, attacked: {row.attack}" if row.attack else named


def _conditions(row: Row) -> str:
    size = f"{row.size:,} memories" if row.size else ""
    return ", ".join(part for part in (row.encoder, size, row.attack, row.note) if part)


def _published(row: Row) -> str:
    value = row.detail.get("published")
    return "-" if value is None else str(value)
