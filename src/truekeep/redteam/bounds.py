"""Claims with a bound each: what a run has to show, and by which command and outcome anybody can refute it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from truekeep.errors import InvalidRequest
from truekeep.redteam.results import Results
from truekeep.redteam.wilson import wilson

_FIELDS = frozenset({"part", "metric", "defence", "encoder", "size", "attack", "note"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One claim about the rows that fit, and the limits that it sets."""

    claim: str
    where: Mapping[str, Any]
    compared: Mapping[str, Any] | None = None
    """For a ratio: the rows that it is of."""
    at_most: float | None = None
    at_least: float | None = None
    upper_below: float | None = None
    """The upper end of the 95 % interval has to be below this; only a full run has the numbers for it."""
    profiles: tuple[str, ...] = ("quick", "full")
    command: str = ""
    refuted_by: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a run says about a claim."""

    bound: Bound
    is_met: bool
    hits: int
    total: int
    value: float
    upper: float
    sentence: str

    @property
    def state(self) -> str:
        """In two words or three; what was not measured is not held, but nobody has shown the contrary either."""
        return "holds" if self.is_met else "DOES NOT HOLD" if self.total else "not measured"


def bounds(path: Path | None = None) -> tuple[Bound, ...]:
    """The claims of a file, or ours."""
    try:
        source = path.read_text("utf-8") if path else _ours()
        made = tuple(Bound(**{**entry, "profiles": tuple(entry.get("profiles", ("quick", "full")))})
                     for entry in tomllib.loads(source)["bound"])  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise InvalidRequest("The thresholds cannot be read.", hint="See docs/redteam.md for their form.") from fault
    for bound in made:
        _check(bound)
    return made


def judge(results: Results, profile: str, against: tuple[Bound, ...]) -> list[Finding]:
    """Every claim that this kind of run has to show. Where nothing was measured, a claim is not met."""
    return [_judged(results, bound, profile) for bound in against if profile in bound.profiles]


def _judged(results: Results, bound: Bound, profile: str) -> Finding:
    hits, total = results.total(**bound.where)
    _, upper = wilson(hits, total)
    if not total:
        return Finding(bound, False, 0, 0, 0.0, upper, "nothing was measured")
    value = hits / total
    if bound.compared is not None:
        base, of = results.total(**bound.compared)
        if not base:
            return Finding(bound, False, hits, total, 0.0, upper, "there is nothing to compare with")
        value = value / (base / of)
    is_met = (bound.at_most is None or value <= bound.at_most) and (bound.at_least is None or value >= bound.at_least)
    if bound.upper_below is not None and profile == "full":
        is_met = is_met and upper < bound.upper_below
    return Finding(bound, is_met, hits, total, value, upper, _sentence(bound, hits, total, value, upper))


def _sentence(bound: Bound, hits: int, total: int, value: float, upper: float) -> str:
    counted = f"{hits:,} of {total:,}"
    if bound.compared is not None:
        return f"{counted}, {value:.3f} of plain recall"
    if bound.at_least is not None:
        return f"{counted} ({value:.1%})"
    return f"{counted} (95 % upper bound {upper:.2%})"


def _check(bound: Bound) -> None:
    limits = (bound.at_most, bound.at_least, bound.upper_below)
    unknown = {*bound.where, *(bound.compared or {})} - _FIELDS
    if unknown or all(limit is None for limit in limits):
        raise InvalidRequest("A threshold names a field that rows do not have, or sets no limit.")


def _ours() -> str:
    return files("truekeep").joinpath("data", "redteam", "thresholds.toml").read_text("utf-8")
