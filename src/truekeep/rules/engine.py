"""Match events against rules: one prefilter for all patterns, then exact confirmation, then each rule's logic."""

from __future__ import annotations

import operator
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from truekeep.errors import RuleError, UnknownScope
from truekeep.rules import vectorscan
from truekeep.rules.context import code_mask, speaks
from truekeep.rules.events import Event
from truekeep.rules.model import Condition, Lane, Rule
from truekeep.rules.pattern import Pattern, PatternError, Undecided, compile_spec
from truekeep.rules.plan import Plan, make_plan, skill_quorum
from truekeep.rules.prefilter import PortablePrefilter, Prefilter
from truekeep.rules.redact import excerpt
from truekeep.rules.result import Limits, Match, Scan
from truekeep.rules.spelling import respelled
from truekeep.rules.trace import violations
from truekeep.rules.warmup import WarmingPrefilter
from truekeep.text import View, views

__all__ = ["Engine", "Limits", "Match", "Scan"]

Hits = dict[int, dict[str, Match]]
_PATIENCE = 0.003
_TOTAL_PATIENCE = 0.010
_EARLIER = 8
_FEW_PATTERNS = 8
_METRICS: dict[str, Callable[[float, float], bool]] = {
    "gt": operator.gt,
    "lt": operator.lt,
    "eq": operator.eq,
    "gte": operator.ge,
    "lte": operator.le,
    "deviation_from_baseline": lambda value, threshold: abs(value) > threshold,
}


class Engine:
    """All rules at once. Immutable after construction and safe to share between threads."""

    def __init__(
        self,
        rules: Iterable[Rule],
        *,
        limits: Limits | None = None,
        cache_dir: Path | None = None,
        lane: Lane = "hunt",
        prefilter: Literal["auto", "hyperscan", "portable"] = "auto",
        spans: bool = True,
    ) -> None:
        """``cache_dir`` keeps the compiled database; without one, large sets use the portable prefilter.

        ``spans=False`` leaves out where matches end, for callers that only ask whether a rule fires.
        """
        self.limits = limits or Limits()
        self._spans = spans
        self._plan: Plan = make_plan(rules, lane)
        self._patterns: dict[int, Pattern] = {}
        self._prefilter = self._make_prefilter(prefilter, cache_dir)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in force."""
        return self._plan.rules

    @property
    def digest(self) -> str:
        """A hash of everything about the rules that can change an answer."""
        return self._plan.digest

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
        return _Pass(self, event).run()

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
                found = self._patterns[number] = compile_spec(self._plan.specs[number])
            except PatternError as error:
                raise RuleError(f"a rule's pattern cannot be used: {error}") from None
        return found

    def _make_prefilter(self, kind: str, cache_dir: Path | None) -> Prefilter:
        specs = self._plan.specs
        if kind == "portable" or (kind == "auto" and not vectorscan.available()):
            return self._portable()
        stored = vectorscan.VectorscanPrefilter.from_cache(specs, cache_dir)
        if stored is not None:
            return stored
        if kind == "hyperscan" or len(specs) <= _FEW_PATTERNS:
            return vectorscan.VectorscanPrefilter(specs, cache_dir)
        if cache_dir is None:
            return self._portable()
        return WarmingPrefilter(self._portable(), lambda: vectorscan.VectorscanPrefilter(specs, cache_dir))

    def _portable(self) -> Prefilter:
        return PortablePrefilter({number: self.pattern(number) for number in range(len(self._plan.specs))})


class _Pass:
    """One scan of one event."""

    def __init__(self, engine: Engine, event: Event) -> None:
        self._engine = engine
        self._plan = engine._plan
        self._event = event
        self._hits: Hits = {}
        self._overrun: str | None = None
        self._patience = _TOTAL_PATIENCE
        self._spent = 0.0

    def run(self) -> Scan:
        texts = self._texts()
        if sum(map(len, texts)) > self._engine.limits.characters:
            return Scan((), f"text is longer than {self._engine.limits.characters:,} characters")
        for text, fields in texts.items():
            if _outgrows(text):
                self._overrun = "text grows beyond the limit when it is decoded"
            for view in readings(text):
                if len(view.text) > self._engine.limits.characters:
                    self._overrun = "text grows beyond the limit when it is decoded"
                    continue
                self._look(text, view, fields)
        fired = [match for rule in self._asked() if (match := self._verdict(rule)) is not None]
        # Stable: rules of one severity stay in the order they were loaded in.
        fired.sort(key=lambda match: -match.rule.severity)
        return Scan(tuple(fired), self._overrun)

    def _texts(self) -> Mapping[str, Collection[str]]:
        """Each distinct text of the event with the fields that mean it."""
        fields = self._event.fields
        if len(fields) == 1 and "content" in fields:
            # The common case: one text, and the fields that mean it are known beforehand.
            return {fields["content"]: self._plan.content_fields[self._event.kind]} if fields["content"] else {}
        texts: dict[str, set[str]] = {}
        for name in self._plan.fields:
            text = self._event.text_of(name)
            if text:
                texts.setdefault(text, set()).add(name)
        return texts

    def _look(self, text: str, view: View, fields: Collection[str]) -> None:
        uses = self._plan.uses[self._event.kind]
        # Characters beyond ASCII share bytes in the prefilter; the strings a pattern needs tell them apart again.
        lowered = None if view.text.isascii() else view.text.lower()
        for number in self._engine._prefilter.candidates(view.text):
            wanted = [use for use in uses.get(number, ()) if use.condition.field in fields]
            wanted = [use for use in wanted if use.condition.name not in self._hits.get(use.rule, ())]
            if not wanted or (lowered is not None and self._lacks(number, lowered)):
                continue
            span = self._confirm(number, view)
            if span is None or self._excused(number, text, view, span):
                continue
            for use in wanted:
                self._note(use.rule, use.condition, number, text, view, span)

    def _lacks(self, number: int, lowered: str) -> bool:
        strings = self._engine.pattern(number).literals
        return bool(strings) and not any(string in lowered for string in strings)

    def _confirm(self, number: int, view: View) -> tuple[int, int] | None:
        limit = self._engine.limits.seconds
        if self._spent > limit:
            return None
        pattern = self._engine.pattern(number)
        pattern.prepare(view.text)
        # This thread's own time: a busy machine must not turn an honest text into an unfinished scan.
        began = time.thread_time()
        try:
            return pattern.find(view.text, min(_PATIENCE, self._patience), longest=self._engine._spans)
        except Undecided:
            self._overrun = "a pattern with a back-reference could not be decided in time"
            return None
        finally:
            taken = time.thread_time() - began
            self._patience -= taken
            self._spent += taken
            if self._spent > limit:
                self._overrun = f"scan took longer than {limit:g} seconds"

    def _excused(self, number: int, text: str, view: View, span: tuple[int, int]) -> bool:
        """Whether the plain text shows, in the same place, that an exception of the pattern applies.

        A pattern says "pay, but not get_pay" or "up to the end of the quote". A view that joins, decodes or strips
        can lose the very characters of the exception. If the pattern without its exceptions matches the plain
        text there, then the plain text was judged and found excused; the view has nothing to add.
        """
        if view.text == text:
            return False
        unexcused = self._engine.pattern(number).unexcused
        if unexcused is None:
            return False
        low, high = view.raw_span(*span)
        starts = unexcused.starts(text)
        if 1 in starts[low:high]:
            return True
        earlier = [place for place in range(low) if starts[place]][-_EARLIER:]
        return any(unexcused.end_from(text, place) > low for place in earlier)

    def _note(self, rule: int, condition: Condition, number: int, text: str, view: View, span: tuple[int, int]) -> None:
        if not speaks(condition.language, text):
            return
        owner = self._plan.rules[rule]
        if owner.spares_code_blocks:
            outside = self._outside_code(number, text, view)
            if outside is None:
                return
            span = outside
        raw = view.raw_span(*span)
        match = Match(owner, condition.name, condition.field, raw, view.name, excerpt(text, raw))
        self._hits.setdefault(rule, {})[condition.name] = match

    def _outside_code(self, number: int, text: str, view: View) -> tuple[int, int] | None:
        """The first match that does not start in code. A decoy in a code block hides nothing after it."""
        mask = code_mask(text)
        pattern = self._engine.pattern(number)
        for place, starting in enumerate(pattern.starts(view.text)):
            if starting and not mask[view.raw_span(place, place + 1)[0]]:
                return place, pattern.end_from(view.text, place)
        return None

    def _asked(self) -> list[int]:
        return sorted({*self._hits, *self._plan.unprompted[self._event.kind]})

    def _verdict(self, index: int) -> Match | None:
        rule = self._plan.rules[index]
        hits = self._hits.get(index, {})
        if rule.method == "trace":
            return self._traced(rule)
        if rule.method == "signature":
            return self._signed(rule)
        names = {*hits, *(c.name for c in rule.conditions if self._holds_without_prefilter(c))}
        if not rule.expression.holds(names):
            return None
        if self._event.kind == "skill" and len(names) < (skill_quorum(rule) or 1):
            return None
        for condition in rule.conditions:
            if condition.name in hits:
                return hits[condition.name]
        held = next(iter(sorted(names)), rule.combination)
        return Match(rule, held, "event", (0, 0), "raw", "")

    def _holds_without_prefilter(self, condition: Condition) -> bool:
        if condition.metric:
            value = self._event.metrics.get(condition.metric)
            return value is not None and _METRICS[condition.operator](value, condition.threshold)
        if condition.steps:
            content = self._event.text_of("content") or ""
            held = [any(compile_spec(spec).find_linear(content) for spec in step) for step in condition.steps]
            return sum(held) >= min(2, len(held))
        return False

    def _traced(self, rule: Rule) -> Match | None:
        if self._event.trace is None:
            return None
        broken = violations(rule.trace, self._event.trace)
        return Match(rule, f"trace.{broken[0]}", "trace", (0, 0), "raw", "") if broken else None

    def _signed(self, rule: Rule) -> Match | None:
        indicators = rule.signature.get("indicators") or ()
        held = [indicator for indicator in indicators if _is_signed(indicator, self._event)]
        enough = len(indicators) if rule.signature.get("match_logic") == "all" else 1
        if not held or len(held) < enough:
            return None
        return Match(rule, "signature", str(held[0].get("target_field")), (0, 0), "raw", "")


def readings(text: str) -> Iterator[View]:
    """Every view of ``text``: as it is, as a reader may see it, and respelled."""
    found = views(text)
    yield from found
    other = respelled(found[0])
    if other is not None:
        yield other


def _outgrows(text: str) -> bool:
    """Whether the text unfolds to many times its length, which is how a payload hides behind a cap on views."""
    return not text.isascii() and len(unicodedata.normalize("NFKC", text)) > 2 * len(text) + 500


def _is_signed(indicator: dict[str, str], event: Event) -> bool:
    value = event.fields.get(str(indicator.get("target_field")))
    wanted = str(indicator.get("value"))
    if value is None:
        return False
    if str(indicator.get("type")).startswith(("sha", "blake")):
        return value.lower() == wanted.lower()
    return value == wanted
