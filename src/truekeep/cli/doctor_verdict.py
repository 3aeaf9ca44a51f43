"""What the doctor says at the end: whether all is well, and the three most useful things to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

STEPS = 3
"""Things to do next that are named: more are not done."""
_RANKS = ("waiting in ", "backup of ", "keys apart", "settings apart")
"""What people get most from, first; it is matched with the beginning of a check's name."""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing that was looked at."""

    name: str
    value: str
    ok: bool = True
    hint: str = ""

    @property
    def mark(self) -> tuple[str, str]:
        """What stands before it, and in which style: fine, fine with advice, or not."""
        if not self.ok:
            return "BAD ", "bold red"
        return ("note", "yellow") if self.hint else ("ok  ", "green")


@dataclass(frozen=True, slots=True)
class DoctorVerdict:
    """The end of a visit."""

    ok: bool
    sentence: str
    steps: tuple[str, ...]

    def as_check(self) -> DoctorCheck:
        """The verdict as a last entry of the list that programs get."""
        numbered = " ".join(f"{number}. {step}" for number, step in enumerate(self.steps, 1))
        return DoctorCheck("verdict", self.sentence, self.ok, numbered)


def verdict(checks: Sequence[DoctorCheck]) -> DoctorVerdict:
    """Judge the checks. What is bad comes first, then what people get most from."""
    bad = [check for check in checks if not check.ok]
    noted = [check for check in checks if check.ok and check.hint]
    steps = tuple(dict.fromkeys(_steps(bad, noted, has_keep=any(check.name.startswith("keep ") for check in checks))))
    if bad:
        words = "1 thing is not as it must be." if len(bad) == 1 else f"{len(bad)} things are not as they must be."
        return DoctorVerdict(False, words, steps[:STEPS])
    words = "All is well; some of it could be better." if noted else "All is well."
    return DoctorVerdict(True, words, steps[:STEPS])


def _steps(bad: Iterable[DoctorCheck], noted: Iterable[DoctorCheck], *, has_keep: bool) -> Iterator[str]:
    for check in bad:
        yield f"{check.name}: {check.hint or check.value}"
    if not has_keep:
        yield "Make a keep: truekeep remember 'I prefer dark mode', or look around first: truekeep demo"
    for check in sorted(noted, key=_rank):
        yield f"{check.name}: {check.hint}"
    yield "Give an agent this memory: truekeep mcp for a desktop agent, or one of the adapters"
    yield "Attack your own installation: truekeep redteam --quick"


def _rank(check: DoctorCheck) -> int:
    return next((place for place, name in enumerate(_RANKS) if check.name.startswith(name)), len(_RANKS))
