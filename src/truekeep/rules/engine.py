"""The engine: a set of rules, their plan and their prefilter, ready to scan events from any thread."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path
from typing import Literal

from truekeep.errors import RuleError, UnknownScope
from truekeep.rules import vectorscan
from truekeep.rules.evaluation import Evaluation
from truekeep.rules.events import Event
from truekeep.rules.model import Lane, Rule
from truekeep.rules.pattern import Pattern, PatternError, compile_spec
from truekeep.rules.plan import ScanPlan, make_plan
from truekeep.rules.prefilter import PortablePrefilter, Prefilter, WarmingPrefilter
from truekeep.rules.result import Match, Scan, ScanLimits

__all__ = ["Engine", "Match", "Scan", "ScanLimits"]

_FEW_PATTERNS = 8
_FEW_FAR = 64


class Engine:
    """All rules at once. Immutable after construction and safe to share between threads."""

    def __init__(
        self,
        rules: Iterable[Rule],
        *,
        limits: ScanLimits | None = None,
        cache_dir: Path | None = None,
        lane: Lane = "hunt",
        prefilter: Literal["auto", "hyperscan", "portable"] = "auto",
        spans: bool = True,
    ) -> None:
        """``cache_dir`` keeps the compiled database; without one, large sets use the portable prefilter.

        ``spans=False`` leaves out where matches end, for callers that only ask whether a rule fires.
        """
        self.limits = limits or ScanLimits()
        self.spans = spans
        self.plan: ScanPlan = make_plan(rules, lane)
        self._patterns: dict[int, Pattern] = {}
        self._cache_dir = cache_dir
        self._prefilter = self._make_prefilter(prefilter, cache_dir)

    def candidates(self, text: str) -> Collection[int]:
        """The numbers of the patterns that could match ``text``: too many perhaps, never too few."""
        return self._prefilter.candidates(text)

    def far_candidates(self, text: str) -> Collection[int]:
        """Those of the patterns that have to see all of ``text`` that could match it."""
        far = self._prefilter.far
        if len(far) > _FEW_FAR:
            return set(far).intersection(self._prefilter.candidates(text))
        return [far[index] for index in self._far_prefilter.candidates(text)]

    @cached_property
    def _far_prefilter(self) -> Prefilter:
        """One for the few far patterns alone: a long text has been read for all others already."""
        specs = [self.plan.specs[number] for number in self._prefilter.far]
        if self._prefilter.name == vectorscan.VectorscanPrefilter.name:
            return vectorscan.VectorscanPrefilter(specs, self._cache_dir)
        return PortablePrefilter(dict(enumerate(map(compile_spec, specs))))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in force."""
        return self.plan.rules

    @property
    def digest(self) -> str:
        """A hash of everything about the rules that can change an answer."""
        return self.plan.digest

    @property
    def prefilter(self) -> str:
        """Which prefilter is in use: ``hyperscan`` or ``portable``. The answers are the same."""
        return self._prefilter.name

    def wait(self) -> None:
        """Wait until the fastest prefilter there is here is in use."""
        if isinstance(self._prefilter, WarmingPrefilter):
            self._prefilter.wait()

    def scan(self, event: Event) -> Scan:
        """Every rule that matches ``event``, worst first."""
        return Evaluation(self, event).run()

    def ids(self, text: str, kind: str = "memory_write", scope: str = "strict") -> tuple[str, ...]:
        """The ids of the rules of ``scope`` that match ``text``; ``scan_overrun`` when it could not be finished."""
        if scope not in ("relaxed", "strict"):
            raise UnknownScope("no such scan scope")
        scan = self.scan(Event(kind, {"content": text}))
        found = tuple(match.rule.id for match in scan.matches if scope in match.rule.scopes)
        return (*found, "scan_overrun") if scan.overrun else found

    def pattern(self, number: int) -> Pattern:
        """The compiled pattern of that number, made when first needed."""
        found = self._patterns.get(number)
        if found is None:
            try:
                found = self._patterns[number] = compile_spec(self.plan.specs[number])
            except PatternError as error:
                raise RuleError(f"a rule's pattern cannot be used: {error}") from None
        return found

    def _make_prefilter(self, kind: str, cache_dir: Path | None) -> Prefilter:
        specs = self.plan.specs
        if kind == "portable" or (kind == "auto" and not vectorscan.available()):
            return self._portable()
        stored = vectorscan.VectorscanPrefilter.from_cache(specs, cache_dir)
        if stored is not None:
            return stored
        if kind == "hyperscan" or len(specs) <= _FEW_PATTERNS:
            return vectorscan.VectorscanPrefilter(specs, cache_dir)
        if cache_dir is None:
            return self._portable()
        return WarmingPrefilter(self._portable(), lambda: self._compiled(cache_dir))

    def _compiled(self, cache_dir: Path) -> Prefilter:
        """The one for all patterns. The one for far patterns goes into the cache, so that no long text waits for it."""
        made = vectorscan.VectorscanPrefilter(self.plan.specs, cache_dir)
        if len(made.far) <= _FEW_FAR:
            vectorscan.VectorscanPrefilter([self.plan.specs[number] for number in made.far], cache_dir)
        return made

    def _portable(self) -> Prefilter:
        return PortablePrefilter({number: self.pattern(number) for number in range(len(self.plan.specs))})
