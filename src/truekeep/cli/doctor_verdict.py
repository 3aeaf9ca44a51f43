"""What the doctor says at the end: whether all is well, and the three most useful things to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

STEPS = 3
"""Things to do next that are named: more are not done."""
_BAD = ("settings", "part ", "keep ", "keys of ", "key ", "keys directory", "data directory")
"""What is bad, the worst first: without settings and parts nothing runs, and a keep that is broken serves nobody."""
_NOTED = ("waiting in ", "backup of ", "keys apart", "settings apart")
"""What people get most from, first. Both are matched with the beginning of a check's name."""
_FIRST_KEEP = "truekeep remember 'I prefer dark mode'"


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing that was looked at."""

    name: str
    value: str
    ok: bool = True
    hint: str = ""
    command: str = ""
    """What to type next, whole; nothing where only a person knows what to do."""

    @property
    def mark(self) -> tuple[str, str]:
        """What stands before it, and in which style: fine, fine with advice, or not."""
        if not self.ok:
            return "BAD ", "bold red"
        return ("note", "yellow") if self.hint else ("ok  ", "green")


@dataclass(frozen=True, slots=True)
class DoctorStep:
    """One thing to do next: what it is about, why, and what to type."""

    about: str
    why: str
    command: str


@dataclass(frozen=True, slots=True)
class DoctorVerdict:
    """The end of a visit."""

    ok: bool
    sentence: str
    steps: tuple[DoctorStep, ...]

    def as_dict(self) -> dict[str, Any]:
        """The verdict as the last entry of the list that programs get."""
        steps = [asdict(step) for step in self.steps]
        return {"name": "verdict", "value": self.sentence, "ok": self.ok, "hint": "", "command": "", "steps": steps}


def verdict(checks: Sequence[DoctorCheck]) -> DoctorVerdict:
    """Judge the checks. What is bad comes first, then what people get most from."""
    bad = [check for check in checks if not check.ok]
    noted = [check for check in checks if check.ok and check.hint]
    steps = _steps(bad, noted, has_keep=any(check.name.startswith("keep ") for check in checks))
    first = tuple(step for step, _ in zip(steps, range(STEPS), strict=False))
    if bad:
        words = "1 thing is not as it must be." if len(bad) == 1 else f"{len(bad)} things are not as they must be."
        return DoctorVerdict(False, words, first)
    return DoctorVerdict(True, "All is well; some of it could be better." if noted else "All is well.", first)


def _steps(bad: Iterable[DoctorCheck], noted: Iterable[DoctorCheck], *, has_keep: bool) -> Iterator[DoctorStep]:
    yield from _alike(bad, _BAD)
    if not has_keep:
        yield DoctorStep("a first keep", "There is none yet.", _FIRST_KEEP)
        yield DoctorStep("a look around", "It shows honest facts and three attacks.", "truekeep demo")
    yield from _alike(noted, _NOTED)
    yield DoctorStep("an agent", "Let a desktop agent use this memory.", "truekeep mcp --help")
    yield DoctorStep("an attack", "Attack your own installation.", "truekeep redteam --quick")


def _alike(checks: Iterable[DoctorCheck], ranks: Sequence[str]) -> Iterator[DoctorStep]:
    """One step for all checks of a kind that ask for the same, so that ten broken keeps do not hide all else."""

    def kind(check: DoctorCheck) -> tuple[int, str]:
        return _rank(check, ranks), check.hint

    for _, found in groupby(sorted(checks, key=kind), key=kind):
        first, *others = found
        more = f" (and {len(others):,} more)" if others else ""
        yield DoctorStep(f"{first.name}{more}", first.hint or first.value, first.command)


def _rank(check: DoctorCheck, ranks: Sequence[str]) -> int:
    return next((place for place, name in enumerate(ranks) if check.name.startswith(name)), len(ranks))
