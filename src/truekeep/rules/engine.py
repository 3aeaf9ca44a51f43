"""Match events against rules: prefilter, confirm exactly, report spans in the raw text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
import hashlib

from truekeep.errors import UnknownScope
from truekeep.rules.events import Event
from truekeep.rules.model import Condition, Rule, PatternSpec
from truekeep.rules.pattern import Pattern, Undecided, compile_spec
from truekeep.rules.redact import excerpt


@dataclass(frozen=True, slots=True)
class Limits:
    """What a scan may cost before it stops and says so."""

    characters: int = 100_000
    seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class Match:
    """One rule's match: the condition, the field, where in the raw text, in which view, and a redacted hint."""

    rule: Rule
    condition: str
    field: str
    span: tuple[int, int]
    view: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found. ``overrun`` says why it is incomplete: such a text is never clean."""

    matches: tuple[Match, ...]
    overrun: str | None = None

    @property
    def is_clean(self) -> bool:
        """No match and nothing left unexamined."""
        return not self.matches and self.overrun is None


class Engine:
    """All rules at once. Safe to share between threads."""

    def __init__(
        self, rules: Iterable[Rule], *, limits: Limits | None = None, cache_dir: Path | None = None
    ) -> None:
        self.rules = tuple(rule for rule in rules if rule.is_live)
        self.limits = limits or Limits()
        self._patterns: dict[PatternSpec, Pattern] = {}
        self.digest = hashlib.sha256(
            repr([(r.id, r.conditions, r.combination) for r in self.rules]).encode()
        ).hexdigest()

    def scan(self, event: Event) -> Scan:
        """Every rule that matches ``event``."""
        if any(len(text) > self.limits.characters for text in event.fields.values()):
            return Scan((), f"text is longer than {self.limits.characters:,} characters")
        found: list[Match] = []
        for rule in self.rules:
            if not event.admits(rule.source):
                continue
            hits: dict[str, Match] = {}
            for condition in rule.conditions:
                match = self._condition(rule, condition, event)
                if match:
                    hits[condition.name] = match
            if hits and rule.expression.holds(hits):
                found.append(next(iter(hits.values())))
        return Scan(tuple(found))

    def ids(self, text: str, kind: str = "memory_write", scope: str = "strict") -> tuple[str, ...]:
        """The ids of the rules of ``scope`` that match ``text``."""
        if scope not in ("relaxed", "strict"):
            raise UnknownScope("no such scan scope")
        scan = self.scan(Event(kind, {"content": text}))
        return tuple(match.rule.id for match in scan.matches if scope in match.rule.scopes)

    def _condition(self, rule: Rule, condition: Condition, event: Event) -> Match | None:
        text = event.text_of(condition.field)
        if not text:
            return None
        for view in _views(text):
            for spec in condition.patterns:
                pattern = self._patterns.get(spec)
                if pattern is None:
                    pattern = self._patterns[spec] = compile_spec(spec)
                span = pattern.find(view.text)
                if span:
                    raw = view.raw_span(*span)
                    return Match(rule, condition.name, condition.field, raw, view.name, excerpt(text, raw))
        return None


@dataclass(frozen=True, slots=True)
class _Raw:
    text: str
    name: str = "raw"

    def raw_span(self, start: int, end: int) -> tuple[int, int]:
        return (start, end)


def _views(text: str) -> tuple[Any, ...]:
    try:
        from truekeep.text import views
    except ImportError:
        return (_Raw(text),)
    return views(text)
