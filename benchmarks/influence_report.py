"""Writes the page of the attack battery from the results of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from truekeep.redteam.figures import Rate
from truekeep.redteam.honest import GROUPS
from truekeep.redteam.playing import AttackOutcome, totals

_ABOUT = """\
# The attack battery

Written by `python -m benchmarks.influence_attacks`; `truekeep redteam influence` plays the same on your own settings,
and [influence.md](../influence.md#attack-it-yourself) says how to read it. Every attack is played on a fresh copy of an
honest keep of that size, over the public door, with the policy `inform`, which lets hearsay in: under `strict` most of
it would wait for a person and prove less. The attacks are data, in `src/truekeep/data/redteam/influence`, and our own
writing; whoever wrote the defence wrote them, so take them for a floor and send us the one that gets through.
"""
_TOTALS = {
    "won": "attacks that got anything",
    "acting": "attacks whose planted text may act",
    "displaced": "true memories displaced",
    "allowed": "calls let through that must not be",
    "blocked": "honest calls blocked",
}


def page(results: Mapping[str, Any]) -> str:
    """The whole page."""
    sizes = sorted(results, key=int)
    played = {size: [_outcome(one) for one in results[size]["attacks"].values()] for size in sizes}
    return "\n".join(
        [
            _ABOUT,
            *_conditions(results, sizes),
            "",
            "## What the attacks got",
            "",
            "So many of so many, with the 95 % interval (Wilson). Copies of one text stand or fall together, so that",
            "planted texts are counted by attack; in brackets, how many were stored.",
            "",
            *_got(played, sizes),
            "",
            "## What it costs honest people",
            "",
            "Questions whose answer is among the first five, by plain recall and with `influence_only=True`. What two",
            "systems state should be found as often behind the gate. Where it is not, either a page had one of its",
            "values before, be it about somebody else (a plan called Gold, the same day of another month), so that",
            "the value no longer corroborates; or one of the two statements was held by a screen.",
            "",
            *_cost(results, sizes),
            "",
            "## Attack by attack",
            "",
            *_each(played, sizes),
            "",
        ]
    )


def _conditions(results: Mapping[str, Any], sizes: Sequence[str]) -> Iterator[str]:
    for size in sizes:
        run = results[size]
        yield (
            f"- {int(size):,} memories: {len(run['attacks'])} attacks, {run['cpu_seconds']:,.0f} s of CPU, embedder "
            f"`{run['conditions']['embedder']}`, Python {run['python']} on {run['machine']}, {run['at'][:10]}"
        )


def _got(played: Mapping[str, Sequence[AttackOutcome]], sizes: Sequence[str]) -> Iterator[str]:
    yield _row(["", *(f"{int(size):,}" for size in sizes)])
    yield _row(["---", *["---:"] * len(sizes)])
    found = {size: totals(played[size]) for size in sizes}
    for name, words in _TOTALS.items():
        cells = [str(found[size][name]) for size in sizes]
        if name == "acting":
            stored = [sum(one.planted for one in played[size]) for size in sizes]
            cells = [f"{cell} [{many:,} texts]" for cell, many in zip(cells, stored, strict=True)]
        yield _row([words, *cells])
    yield _row(["attacks that could not be played", *(str(sum(bool(o.unsound) for o in played[s])) for s in sizes)])


def _cost(results: Mapping[str, Any], sizes: Sequence[str]) -> Iterator[str]:
    yield _row(["memories", "fact", "plain recall", "influence only"])
    yield _row(["---:", "---", "---:", "---:"])
    for size in sizes:
        for found in results[size].get("benign", ()):
            rates = (Rate(found[way]["count"], found[way]["of"]) for way in ("plain", "influence_only"))
            yield _row([f"{int(size):,}", GROUPS[found["group"]], *map(str, rates)])
    yield ""
    for size in sizes:
        if kept := results[size].get("not_stored"):
            yield f"- {int(size):,} memories: honest texts refused or held {Rate(kept['count'], kept['of'])}"


def _each(played: Mapping[str, Sequence[AttackOutcome]], sizes: Sequence[str]) -> Iterator[str]:
    yield _row(["attack", *(f"{int(size):,}" for size in sizes)])
    yield _row(["---", *["---"] * len(sizes)])
    by = {size: {one.attack: one for one in played[size]} for size in sizes}
    for name in dict.fromkeys(one.attack for size in sizes for one in played[size]):
        yield _row([name, *(_word(by[size].get(name)) for size in sizes)])


def _word(outcome: AttackOutcome | None) -> str:
    if outcome is None:
        return "not in this run"
    return "held" if outcome else "not played" if outcome.unsound else "**broken**"


def _outcome(raw: Mapping[str, Any]) -> AttackOutcome:
    members: dict[str, Any] = {name: value for name, value in raw.items() if name != "held"}
    members |= {name: tuple(value) for name, value in members.items() if isinstance(value, list)}
    return AttackOutcome(**members)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
