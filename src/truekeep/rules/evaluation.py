"""One scan of one event: which views could match what, exact confirmation, then each rule's logic."""

from __future__ import annotations

import operator
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from truekeep.rules.context import code_mask, is_in_path, speaks
from truekeep.rules.events import Event
from truekeep.rules.model import Condition, Rule
from truekeep.rules.pattern import Undecided, compile_spec
from truekeep.rules.plan import Use, skill_quorum
from truekeep.rules.readings import RulePassage, passages, places, respelled
from truekeep.rules.result import Match, Scan, excerpt
from truekeep.rules.trace import violations
from truekeep.text.analysis import analysed
from truekeep.text.view import GIVE_WAY, View, changes, in_steps

if TYPE_CHECKING:
    from truekeep.rules.engine import Engine  # an engine starts evaluations of its own rules
    from truekeep.text.analysis import Readings

Hits = dict[int, dict[str, Match]]
_PATIENCE = 0.003
"""Seconds for one pattern with a back-reference on one passage; a scan that was not finished says so."""
_TOTAL_PATIENCE = 0.010
"""Seconds for all such patterns of one scan."""
_PATIENT_OVER = 4_000
"""Characters for which that time is meant; a longer text gets as many times more."""
_METRICS: dict[str, Callable[[float, float], bool]] = {
    "gt": operator.gt,
    "lt": operator.lt,
    "eq": operator.eq,
    "gte": operator.ge,
    "lte": operator.le,
    "deviation_from_baseline": lambda value, threshold: abs(value) > threshold,
}


class _Look(NamedTuple):
    """A pattern that may match in one passage of one view of a text, and the conditions it would serve."""

    text: str
    view: View
    passage: RulePassage
    number: int
    uses: Sequence[Use]


class Evaluation:
    """One scan of one event."""

    def __init__(self, engine: Engine, event: Event) -> None:
        self._engine = engine
        self._plan = engine.plan
        self._event = event
        self._hits: Hits = {}
        self._overrun: str | None = None
        self._patience = _TOTAL_PATIENCE
        self._spent = 0.0
        self._lowered = ("", "")

    def run(self) -> Scan:
        """What the rules say about the event, worst first."""
        texts = self._texts()
        self._patience *= 1 + sum(map(len, texts)) // _PATIENT_OVER
        if sum(map(len, texts)) > self._engine.limits.characters:
            return Scan((), f"text is longer than {self._engine.limits.characters:,} characters")
        looks = [look for text, fields in texts.items() for look in self._looks(text, fields)]
        self._settle(looks)
        fired = [match for rule in self._asked() if (match := self._verdict(rule)) is not None]
        # Stable: rules of one severity stay in the order they were loaded in.
        fired.sort(key=lambda match: -match.rule.severity)
        return Scan(tuple(fired), self._overrun)

    def _looks(self, text: str, fields: Collection[str]) -> Iterator[_Look]:
        """Every view of ``text`` with the candidates that some rule for this event wants."""
        uses = self._plan.uses[self._event.kind]
        if _outgrows(text):
            self._overrun = "text grows beyond the limit when it is decoded"
        found = analysed(text).views
        if not found.complete:
            # Decoys must not use up what is read: whoever hides more than that is not taken for clean.
            self._overrun = "text can be read in more ways than are tried"
        for view in readings(found):
            if len(view.text) > self._engine.limits.characters:
                self._overrun = "text grows beyond the limit when it is decoded"
                continue
            for passage, number in self._candidates(view.text):
                wanted = [use for use in uses.get(number, ()) if use.condition.field in fields]
                if wanted and not self._lacks(number, passage):
                    yield _Look(text, view, passage, number, wanted)

    def _candidates(self, text: str) -> Iterator[tuple[RulePassage, int]]:
        """Where to look for which pattern: a long text passage by passage, as few patterns look further than that."""
        parts = passages(text)
        give_way = GIVE_WAY.get()
        for part in parts:
            give_way()
            for number in self._engine.candidates(part.text):
                if len(parts) == 1 or not self._engine.pattern(number).is_far:
                    yield part, number
        if len(parts) > 1:
            whole = RulePassage(text)
            for number in self._engine.far_candidates(text):
                yield whole, number

    def _settle(self, looks: Sequence[_Look]) -> None:
        """Confirm what can make a rule fire, and exceptions only for rules that would fire without them."""
        if not looks:
            return
        possible: dict[int, set[str]] = {}
        for look in looks:
            for use in look.uses:
                possible.setdefault(use.rule, set()).add(use.condition.name)
        open_rules = {rule for rule, names in possible.items() if self._could_fire(rule, names)}
        negated = self._plan.negated
        for look in in_steps(looks, 1):
            self._look(
                look, [u for u in look.uses if u.rule in open_rules and u.condition.name not in negated.get(u.rule, ())]
            )
        if open_rules.isdisjoint(negated):
            return
        still = {rule for rule in open_rules & negated.keys() if self._could_fire(rule, self._hits.get(rule, ()))}
        for look in in_steps(looks, 1):
            self._look(look, [u for u in look.uses if u.rule in still and u.condition.name in negated[u.rule]])

    def _could_fire(self, rule: int, names: Collection[str]) -> bool:
        return rule in self._plan.alternatives or self._plan.rules[rule].expression.could_hold(names)

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

    def _look(self, look: _Look, uses: Sequence[Use]) -> None:
        wanted = [use for use in uses if use.condition.name not in self._hits.get(use.rule, ())]
        if not wanted:
            return
        span = self._confirm(look.number, look.passage)
        if span is None or self._excused(look.number, look.text, look.view, span):
            return
        for use in wanted:
            self._note(use.rule, use.condition, look.number, look.text, look.view, span)

    def _lacks(self, number: int, passage: RulePassage) -> bool:
        """Characters beyond ASCII share bytes in the prefilter; the strings a pattern needs tell them apart again."""
        if passage.text.isascii():
            return False
        strings = self._engine.pattern(number).literals
        if not strings:
            return False
        if self._lowered[0] is not passage.text:
            # Many patterns ask about one passage in a row.
            self._lowered = passage.text, passage.text.lower()
        lowered = self._lowered[1]
        return not any(string in lowered for string in strings)

    def _confirm(self, number: int, passage: RulePassage) -> tuple[int, int] | None:
        limit = self._engine.limits.seconds
        if self._spent > limit:
            self._overrun = f"scan took longer than {limit:g} seconds"
            return None
        pattern = self._engine.pattern(number)
        pattern.prepare(passage.text)
        # This thread's own time: a busy machine must not turn an honest text into an unfinished scan.
        began = time.thread_time()
        try:
            patience = _PATIENCE * (1 + len(passage.text) // _PATIENT_OVER)
            return passage.find(pattern, min(patience, self._patience), longest=self._engine.spans)
        except Undecided:
            self._overrun = "a pattern with a back-reference could not be decided in time"
            return None
        finally:
            taken = time.thread_time() - began
            self._patience -= taken
            self._spent += taken

    def _excused(self, number: int, text: str, view: View, span: tuple[int, int]) -> bool:
        """Whether the plain text shows, in the same place, that an exception of the pattern applies.

        A pattern says "pay, but not get_pay" or "up to the end of the quote". A view that joins, decodes or strips
        can lose the very characters of the exception. If the pattern without its exceptions matches the plain
        text there, then the plain text was judged and found excused; the view has nothing to add.
        """
        if view.text == text:
            return False
        pattern = self._engine.pattern(number)
        where = view.raw_span(*span)
        if pattern.unexcused is not None and any(True for _ in places(pattern.unexcused, text, where)):
            return True
        # Views take identifiers apart; in a path or file name that makes words of what were none.
        return pattern.wordless is not None and any(
            is_in_path(text, place) for place in places(pattern.wordless, text, where)
        )

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


def readings(found: Readings) -> Iterator[View]:
    """Every view of a text: as it is, as a reader may see it, and respelled."""
    yield from map(changes, found)
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
