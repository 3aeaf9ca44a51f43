"""Ablation: what each rule of the boundary costs in honest calls, and which attacks nothing else stops.

python -m benchmarks ablation [CALLS]

Every call of the trajectories (declared, without and with a plan), of the project's single calls, and of a file of
others if one is given, is judged once with all rules and once without each of them, from the same evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.boundary.calls import DATA, read_calls, staged
from benchmarks.boundary.trajectories import SECOND, Setting, TriedCall, played, read_trajectories
from benchmarks.harness import Figure
from truekeep import Keep
from truekeep.trust.flow import contents, decide, evidence, omissions, proof, scope, trial, trials
from truekeep.trust.flow.decide import Answer, judge
from truekeep.trust.flow.evidence import SessionEvidence

Ablation = Callable[[SessionEvidence], AbstractContextManager[SessionEvidence]]


def _without(module: Any, name: str, instead: Any) -> Ablation:
    """The boundary with one function or table of a module replaced."""

    @contextmanager
    def switched(given: SessionEvidence) -> Iterator[SessionEvidence]:
        before = getattr(module, name)
        setattr(module, name, instead)
        try:
            yield given
        finally:
            setattr(module, name, before)

    return switched


def _with(**changes: Any) -> Ablation:
    """The boundary with another piece of evidence."""

    @contextmanager
    def changed(given: SessionEvidence) -> Iterator[SessionEvidence]:
        yield replace(given, **changes)

    return changed


def _fault(code: str) -> Ablation:
    return _without(trials, "FAULTS", tuple(one for one in trials.FAULTS if one[0] != code))


RULES: dict[str, Ablation] = {
    "clean sessions are trusted": _with(clean=False),
    "records of own systems": _without(proof, "prove_record", lambda *_: None),
    "a record bears the whole name": _without(proof, "_bears_whole", lambda *_: True),
    "asked: not_asked": _fault("not_asked"),
    "asked: another_act": _fault("another_act"),
    "excluded by the owner": _fault("excluded_by_owner"),
    "one request is one act": _fault("request_used"),
    "nothing left out": _fault("left_out"),
    "set by foreign text": _fault("set_by_others"),
    "content that was not called for": _fault("content_not_called_for"),
    "flags need the owner's word": _without(proof, "_flag", lambda *_: evidence.ValueOrigin.REQUEST),
    "plain clauses only": _without(scope, "proves", lambda *_: True),
    "verbs that only make ready": _without(trials, "_preparing", frozenset),
    "limits are kept": _without(omissions, "_drops_guard", lambda *_: False),
    "names of what money and access go to are the owner's": _without(proof, "goes_out", lambda *_: False),
    "a memory about that very party": _without(scope.RequestScope, "_is_that_party", lambda *_: True),
    "words of one memory in content": _without(contents, "_tells_of_memories", lambda *_: False),
    "several clauses by one call": _without(evidence.OwnerRequests, "joined", ()),
    "a clause that spells everything out": _without(trials, "_is_spelled_out", lambda *_: False),
    "no words left over": _fault("words_left_over"),
    "the opposite act": _without(trials, "undoes", lambda *_: False),
    "a tool that only others name": _without(trials, "_is_chosen_by_others", lambda *_: False),
    "times in words": _without(proof, "spoken_times", lambda *_: {}),
    "another currency": _without(trials, "_in_other_money", lambda *_: False),
    "hosts that stand nowhere": _without(decide, "is_composed_host", lambda *_: False),
    "newer before older": _without(scope.RequestScope, "_overtaken", lambda *_: False),
    "memories about the party": _without(scope, "_about", lambda held, *_: held.reading.stems | {"*"}),
    "a yes is for its party": _without(trial.EffectTrial, "part", lambda *_: None),
    "private words in queries": _without(decide, "_tells_private", lambda *_: False),
    "private values in queries": _without(decide, "_leak", lambda *_: ""),
    "faults of links": _without(decide, "link_fault", lambda *_: ""),
    "places of secrets": _without(decide, "names_secret_place", lambda *_: False),
    "moments may be worded otherwise": _without(proof, "prove_moment", lambda *_: None),
    "numbers in other units": _without(proof, "in_other_units", lambda *_: ()),
}


def measure(path: Path | None = None) -> list[Figure]:
    """For each rule: honest calls that are let through only without it, and hostile ones likewise."""
    counts: Counter[tuple[str, str]] = Counter()
    for setting in (Setting(), Setting(plans=True)):
        for number, trajectory in enumerate([*read_trajectories(), *read_trajectories(SECOND)]):
            played(number, trajectory, setting, lambda keep, tried: _compare(counts, keep, tried))
    for row in [*read_calls(DATA), *(read_calls(path) if path else ())]:
        label = "hostile" if row["class"] == "A" else "honest"
        call = row["call"]
        with staged(row) as (keep, session):
            tried = TriedCall(0, 0, label, "", call["name"], call["arguments"], False, session.is_clean)
            if row["class"] != "D":
                _compare(counts, keep, tried)
    return [_row(name, sort, counts) for name in RULES for sort in ("costs", "gains", "stops")]


def _compare(counts: Counter[tuple[str, str]], keep: Keep, tried: TriedCall) -> None:
    """Judge one call with every rule, and without each."""
    given = keep.actions.evidence("s-1", tried.name)
    with_all = judge(given, tried.name, tried.arguments).answer is Answer.ALLOW
    for name, ablated in RULES.items():
        with ablated(given) as changed:
            without = judge(changed, tried.name, tried.arguments).answer is Answer.ALLOW
        if tried.label == "hostile":
            counts[name, "stops"] += without and not with_all
        else:
            counts[name, "costs"] += without and not with_all
            counts[name, "gains"] += with_all and not without


_WORDS = {
    "costs": "honest calls it costs",
    "gains": "honest calls it lets through",
    "stops": "attacks nothing else stops",
}


def _row(name: str, sort: str, counts: Counter[tuple[str, str]]) -> Figure:
    return Figure(f"{name}: {_WORDS[sort]}", counts[name, sort], "calls")
