"""Take measurements one after another, keep their results, and judge claims by them.

Everything is saved after each measurement, so that a long run can be taken up again. A claim has a bound, and a command
and an outcome by which anybody can refute it.
"""

from __future__ import annotations

import json
import os
import platform
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from truekeep import __version__
from truekeep.config import Settings
from truekeep.errors import InvalidRequest
from truekeep.redteam.figures import CannotRun, Progress, ResultRow, silent, wilson

_FIELDS = frozenset({"part", "metric", "defence", "encoder", "size", "attack", "note"})
"""What a claim can choose rows by."""
_FORMAT, _LARGEST = 1, 50_000_000


@dataclass(frozen=True, slots=True)
class Installation:
    """What is measured: the settings and rules that somebody has, and who is told how it goes."""

    settings: Settings
    """As they are configured."""
    config: Path | None
    """The directory whose settings and rules the attacked keeps have."""
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement under a name that results are filed under."""

    name: str
    taken: Callable[[Installation], Iterable[ResultRow]]


def carry_out(
    steps: Sequence[Measurement],
    installation: Installation,
    results: Results,
    *,
    saved: Path | None = None,
    again: bool = False,
) -> Results:
    """Take the measurements; those whose results are there already only if asked again."""
    for number, step in enumerate(steps, 1):
        if step.name in results.cpu and not again:
            continue
        installation.progress(f"step {step.name}", number, len(steps))
        started = _cpu()
        try:
            results.put(step.name, list(step.taken(installation)), _cpu() - started)
        except CannotRun as reason:
            results.leave_out(step.name, str(reason))
        if saved is not None:
            results.save(saved)
    return results


def _cpu() -> float:
    """CPU time of this process; that of workers is not in it."""
    return time.process_time()


@dataclass
class Results:
    """What was measured so far. A part that is measured again takes the place of its older rows."""

    conditions: dict[str, Any] = field(default_factory=dict)
    rows: list[ResultRow] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """What could not be run, and why."""
    cpu: dict[str, float] = field(default_factory=dict)
    """Seconds of CPU by step."""

    @classmethod
    def begun(cls, profile: str, settings: Mapping[str, str]) -> Results:
        """Empty results of a run that begins now."""
        here = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
        moment = datetime.now(UTC).isoformat(timespec="minutes")
        return cls({"truekeep": __version__, "profile": profile, "at": moment, "machine": here, **settings})

    def put(self, step: str, rows: Iterable[ResultRow], cpu: float) -> None:
        """Take in what a step measured, instead of what it had measured before."""
        self.rows = [row for row in self.rows if row.detail.get("step") != step]
        self.rows += [_stepped(row, step) for row in rows]
        self.cpu[step] = round(cpu, 1)
        self.left_out.pop(step, None)

    def leave_out(self, step: str, reason: str) -> None:
        """Say why a step could not be run."""
        self.left_out[step] = reason

    def chosen(self, **conditions: Any) -> Iterator[ResultRow]:
        """The rows for which all of these hold; a tuple allows any of its members."""
        for row in self.rows:
            if all(_fits(getattr(row, name), wanted) for name, wanted in conditions.items()):
                yield row

    def total(self, **conditions: Any) -> tuple[int, int]:
        """Hits and totals over all rows for which these hold."""
        rows = list(self.chosen(**conditions))
        return sum(row.hits for row in rows), sum(row.total for row in rows)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON members."""
        return {
            "format": _FORMAT,
            "conditions": self.conditions,
            "left_out": self.left_out,
            "cpu_seconds": self.cpu,
            "rows": [row.as_dict() for row in self.rows],
        }

    def save(self, path: Path) -> None:
        """Write everything as JSON, one row to a line."""
        members = self.as_dict()
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in members.pop("rows"))
        head = json.dumps(members, indent=1, ensure_ascii=False).removesuffix("\n}")
        draft = path.with_suffix(".draft")
        draft.write_text(f'{head},\n "rows": [\n{rows}\n]}}\n', encoding="utf-8")
        draft.replace(path)

    @classmethod
    def load(cls, path: Path) -> Results:
        """What was saved there."""
        try:
            if path.stat().st_size > _LARGEST:
                raise InvalidRequest("The file is too large for the results of a run.")
            members = json.loads(path.read_text(encoding="utf-8"))
            rows = [ResultRow.from_dict(row) for row in members["rows"]]
            return cls(members["conditions"], rows, members["left_out"], members["cpu_seconds"])
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise InvalidRequest("That file does not hold the results of a red-team run.") from fault


def merged(parts: Sequence[Results]) -> Results:
    """One result of parts that were run apart; where a step is in several, the last one counts."""
    whole = Results(dict(parts[0].conditions), list(parts[0].rows), dict(parts[0].left_out), dict(parts[0].cpu))
    for part in parts[1:]:
        for step, cpu in part.cpu.items():
            whole.put(step, [row for row in part.rows if row.detail.get("step") == step], cpu)
        whole.left_out |= {step: why for step, why in part.left_out.items() if step not in whole.cpu}
    return whole


def _stepped(row: ResultRow, step: str) -> ResultRow:
    return ResultRow.from_dict({**row.as_dict(), "detail": {**row.detail, "step": step}})


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple | list | frozenset | set):
        return value in wanted
    return bool(value == wanted)


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
class ClaimFinding:
    """What a run says about a claim."""

    bound: Bound
    is_met: bool
    hits: int
    total: int
    value: float
    upper: float
    sentence: str
    is_measured: bool = True
    """Whether there were figures to judge by, and whatever they are to be compared with."""

    @property
    def state(self) -> str:
        """In two words or three; what was not measured is not held, but nobody has shown the contrary either."""
        return "holds" if self.is_met else "DOES NOT HOLD" if self.is_measured else "not measured"


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


def tally(findings: Sequence[ClaimFinding]) -> str:
    """How many claims hold, do not, and were not measured, as a sentence."""
    states = Counter(one.state for one in findings)
    parts = [f"{states['holds']} of {len(findings)} claims hold"]
    if refuted := states["DOES NOT HOLD"]:
        parts.append(f"{refuted} {'does' if refuted == 1 else 'do'} not")
    if unknown := states["not measured"]:
        parts.append(f"{unknown} {'was' if unknown == 1 else 'were'} not measured")
    return f"{', '.join(parts)}."


def judge(results: Results, profile: str, against: Sequence[Bound]) -> list[ClaimFinding]:
    """Every claim that this kind of run has to show. Where nothing was measured, a claim is not met."""
    return [_judged(results, bound, profile) for bound in against if profile in bound.profiles]


def _judged(results: Results, bound: Bound, profile: str) -> ClaimFinding:
    hits, total = results.total(**bound.where)
    _, upper = wilson(hits, total)
    if not total:
        return ClaimFinding(bound, False, 0, 0, 0.0, upper, "nothing was measured", is_measured=False)
    value = hits / total
    if bound.compared is not None:
        base, of = results.total(**bound.compared)
        if not base:
            missing = "there is nothing to compare with"
            return ClaimFinding(bound, False, hits, total, 0.0, upper, missing, is_measured=False)
        value = value / (base / of)
    is_met = (bound.at_most is None or value <= bound.at_most) and (bound.at_least is None or value >= bound.at_least)
    if bound.upper_below is not None and profile == "full":
        is_met = is_met and upper < bound.upper_below
    return ClaimFinding(bound, is_met, hits, total, value, upper, _sentence(bound, hits, total, value, upper))


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
