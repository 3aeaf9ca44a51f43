"""Texts made to win retrieval: repeated, padded or keyword-stuffed, or a trigger glued to something unrelated."""

from __future__ import annotations

import re
from collections import Counter

from truekeep.screens.panel import Screened
from truekeep.text.language import function_words
from truekeep.types import Finding, Severity, Threat

SCREEN = "stuffing"
_WORD = re.compile(r"[^\W_]{2,}")
_RUN = re.compile(r"([^\s=\-_*#~.+|])\1{40,}|[^\S\n]{200,}|\n{40,}")
_RUN_IN_SAMPLE = re.compile(r"([^\s])\1{3}|[^\S\n]{20}|\n{4}")
_SENTENCE = re.compile(r"[^.!?\n]{12,}[.!?\n]?")
_QUESTION = re.compile(r"\s*[^.!?\n]{12,200}\?")
_OWN = re.compile(r"\b(?:i|i'm|my|me|we|our|us|you|your|hi|hey|thanks)\b", re.I)
_FEWEST_WORDS = 24
"""In fewer words repetition says nothing."""
_MOST_REPEATS = 4
"""A sentence that stands there more often, and fills half of the text, is no emphasis."""
_SHARE_OF_ONE_WORD = 0.25
_FEWEST_DIFFERENT = 0.25
_STEM = 5
# Sixteen words of two letters and what is between them.
_STRETCH = re.compile(r"[^.!?,;:|()\"\n\u3002\uff0c]{47,}")
_FEWEST_IN_STRETCH = 16
"""Words of a stretch that is weighed by itself, so that a salad cannot hide in prose."""
_MOST_OF_ONE_IN_STRETCH = 4
"""The same telling word so often in one stretch is written for a search, not for a reader."""
_SHARE_OF_SMALL_WORDS = 0.2
_LATIN_ENDS = "\u0250"
"""Small words are known of languages in Latin script only."""

_REASONS = {
    "padding": "padded with a long run of one character",
    "repetition": "repeats the same sentences",
    "keyword_stuffing": "a few words make up most of the text",
    "glued_trigger": "a question followed by text that has nothing to do with it",
}


def _is_padded(text: str) -> bool:
    """Of every ten characters a run of 41 holds four in a row, and one of 200 blanks twenty; prose has neither."""
    return _RUN_IN_SAMPLE.search(text[::10]) is not None and _RUN.search(text) is not None


def _repeats(text: str) -> bool:
    said = (match[0] for match in _SENTENCE.finditer(text) if "|" not in match[0])
    sentences = Counter(" ".join(words) for words in map(str.split, map(str.lower, said)) if len(words) >= 4)
    often, count = max(((s, n) for s, n in sentences.items()), key=lambda item: item[1], default=("", 0))
    return count >= _MOST_REPEATS and 2 * count * len(often) > len(text)


def _stuffed(words: list[str]) -> bool:
    if len(words) < _FEWEST_WORDS:
        return False
    counts = Counter(words)
    long_words = [count for word, count in counts.items() if len(word) >= 4]
    return bool(long_words) and (
        max(long_words) > _SHARE_OF_ONE_WORD * len(words) or len(counts) < _FEWEST_DIFFERENT * min(len(words), 200)
    )


def _is_salad(text: str) -> bool:
    """A long stretch that no sentence is: hardly a small word in it, and the same telling word again and again."""
    return any(_is_salad_of(match[0].lower()) for match in _STRETCH.finditer(text))


def _is_salad_of(stretch: str) -> bool:
    words = [word for word in _WORD.findall(stretch) if word[0] < _LATIN_ENDS]
    if len(words) < _FEWEST_IN_STRETCH:
        return False
    telling = Counter(word for word in words if len(word) >= 3 and word not in function_words())
    small = sum(word in function_words() for word in words)
    return small < _SHARE_OF_SMALL_WORDS * len(words) and max(telling.values(), default=0) >= _MOST_OF_ONE_IN_STRETCH


def _glued(text: str) -> bool:
    """A question of nobody, then at least as much about something else; a shared stem makes it an answer."""
    match = _QUESTION.match(text)
    if match is None or _OWN.search(match[0]):
        return False
    rest = text[match.end() :]
    if "?" in rest or _OWN.search(rest):
        return False
    answered = {word[:_STEM].lower() for word in _WORD.findall(rest)}
    asked = {word[:_STEM].lower() for word in _WORD.findall(match[0]) if len(word) >= 4}
    return len(answered) >= 12 and len(asked) >= 3 and asked.isdisjoint(answered)


def stuffing(screened: Screened) -> list[Finding]:
    """What makes a text win searches that it should not."""
    findings = []
    for field, text in screened.fields.items():
        words = _WORD.findall(text.lower()) if len(text) >= 100 else []
        checks = (
            ("padding", len(text) > 40 and _is_padded(text)),
            ("repetition", len(text) >= 48 and _repeats(text)),
            ("keyword_stuffing", _stuffed(words) or (len(words) >= _FEWEST_IN_STRETCH and _is_salad(text))),
            ("glued_trigger", "?" in text and _glued(text)),
        )
        for rule_id, seen in checks:
            if seen:
                findings.append(_finding(rule_id, field, len(text)))
    return findings


def _finding(rule_id: str, field: str, length: int) -> Finding:
    return Finding(rule_id, Threat.STUFFING, Severity.MEDIUM, (0, length), field, SCREEN, reason=_REASONS[rule_id])
