"""What a scan answers: matches with spans in the raw text, and why it is incomplete if it is.

An excerpt shows where a rule matched without repeating secrets or carrying instructions onward.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from truekeep.rules.model import Rule

_KEEP = 12
"""Words of a match that are hinted at: enough to find the place, too few to carry the text."""
_RUN = re.compile(r"[^\s]{1,200}")


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """What a scan may cost. The length decides what is refused; the clock is the last resort behind it."""

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

    @property
    def message(self) -> str:
        """The rule's message with what is known filled in; it never contains the matched text."""
        template = self.rule.message_template or "[{rule_id}] {severity}: {title}"
        known = {
            "rule_id": self.rule.id,
            "severity": self.rule.severity.label.upper(),
            "title": self.rule.title,
            "matched_pattern": f"condition {self.condition} on {self.field}",
            "field": self.field,
        }
        for name, value in known.items():
            template = template.replace("{" + name + "}", value)
        return template.strip()

    def as_dict(self) -> dict[str, Any]:
        """The match as JSON members; it never contains the matched text."""
        return {
            "rule": self.rule.id,
            "title": self.rule.title,
            "severity": self.rule.severity.label,
            "class": self.rule.threat.value,
            "response": self.rule.response.value,
            "condition": self.condition,
            "field": self.field,
            "span": list(self.span),
            "view": self.view,
            "excerpt": self.excerpt,
        }


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found. ``overrun`` says why it is incomplete: such a text is never clean."""

    matches: tuple[Match, ...]
    overrun: str | None = None

    @property
    def is_clean(self) -> bool:
        """No match, and nothing left unexamined."""
        return not self.matches and self.overrun is None


def excerpt(text: str, span: tuple[int, int]) -> str:
    """A short, printable hint at ``text[span]``: the first letter of each word and its length, at most a dozen."""
    start, end = span
    words = _RUN.findall(text[start : min(end, start + 400)])
    shown = [_hint(word) for word in words[:_KEEP]]
    more = " …" if len(words) > _KEEP or end - start > 400 else ""
    return " ".join(shown) + more


def _hint(word: str) -> str:
    first = word[0] if word[0].isascii() and word[0].isprintable() else "?"
    return first if len(word) == 1 else f"{first}{'·' * min(len(word) - 1, 11)}"
