"""What a session took in, kept as runs of words, so that a copy of it is recognised in a later message."""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from truekeep.text.fold import folded
from truekeep.text.salient import read_values
from truekeep.text.tokens import Kind

_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|[^\\W_\u3040-\u30ff\u3400-\u9fff]+")
_NO_DIGIT = re.compile(r"\D+")
_RUN = 10
"""What two people do not say by chance: five words in a row, or ten signs where a sign is half a word."""
_SHORT_TEXT = 80
"""Short lines are compared as a whole: they have too few words for a run."""
SENTENCE_END = re.compile("[.!?;][\"'”»)]*\\s+|[\u3002\uff01\uff1f\uff1b][\"'”」』]*\\s*|\\n+")
# How a page or a result looks before it is shown: tags, links and escaped characters.
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>|\]\([^()\s]{1,500}\)")
_BREAK = re.compile(r"</?(?:p|div|br|li|tr|h[1-6]|td|th|ul|ol|table|title|section|article)\b", re.I)
_ESCAPED = re.compile(r'\\u([0-9a-fA-F]{4})|\\([nrt"/\\])')
_WRITTEN = {"n": "\n", "r": "\n", "t": " "}
# What a sentence says before it comes to its point: whom it is about, and whether it is so.
_DENYING = frozenset({Kind.NEGATION, Kind.BOOLEAN})
_UNTELLING = _DENYING | {Kind.NAME}


@dataclass(frozen=True, slots=True)
class Copied:
    """A passage that stands word for word in what was observed."""

    start: int
    end: int
    begins: bool
    """Whether a sentence began with it there."""
    ends: bool
    """Whether a sentence ended with it there."""


@dataclass(slots=True)
class SeenTexts:
    """What a session took in, raw and as it is shown."""

    _runs: set[int] = field(default_factory=set)
    _first_runs: set[int] = field(default_factory=set)
    _last_runs: set[int] = field(default_factory=set)
    _short: set[str] = field(default_factory=set)
    _texts: list[str] = field(default_factory=list)
    _joined: list[str] = field(default_factory=list)
    """The texts without spaces and marks, as far as they were asked for."""

    def add(self, text: str) -> None:
        """Remember a text that was observed, in the form in which it came and in the one that people copy."""
        self._add(text)
        shown = _shown(text)
        if shown != text:
            self._add(shown)

    def _add(self, text: str) -> None:
        self._texts.append(text)
        words: list[str] = []
        starts, ends = [0], []
        for sentence in SENTENCE_END.split(text):
            words += _WORD.findall(folded(sentence))
            ends.append(len(words))
        starts += ends
        runs = _run_ends(words)
        hashes = {at: hash(tuple(words[at:end])) for at, end in runs.items()}
        self._runs.update(hashes.values())
        self._first_runs.update(hashes[at] for at in starts if at in hashes)
        lasts = set(ends)
        self._last_runs.update(hashes[at] for at, end in runs.items() if end in lasts)
        for line in text.splitlines() or [text]:
            if len(line) <= _SHORT_TEXT and (said := _WORD.findall(folded(line))):
                self._short.add(" ".join(said))

    def copied(self, text: str) -> list[Copied]:
        """The passages of a text that stand in what was observed: five words and more, or a whole short text."""
        found = [(m.start(), m.end(), folded(m[0])) for m in _WORD.finditer(text)]
        words = [word for _, _, word in found]
        if " ".join(words) in self._short and len(words) > 1:
            return [Copied(0, len(text), begins=True, ends=True)]
        spans: list[Copied] = []
        for place, end in _run_ends(words).items():
            run = hash(tuple(words[place:end]))
            if run in self._runs:
                last = Copied(found[place][0], found[end - 1][1], run in self._first_runs, run in self._last_runs)
                if spans and last.start <= spans[-1].end:
                    first = spans.pop()
                    last = Copied(first.start, last.end, first.begins or last.begins, first.ends or last.ends)
                spans.append(last)
        return spans

    def sentences(self, text: str) -> Iterator[tuple[int, int]]:
        """The sentences that copies touch, but for those that go on to tell something else than what was observed.

        What is left of a sentence must not say the opposite of the whole: a page with the words "it is not true that"
        in it would otherwise turn a denial into an assertion.
        """
        ends = [0, *(match.end() for match in SENTENCE_END.finditer(text)), len(text)]

        def around(span: Copied) -> tuple[int, int]:
            return ends[bisect_right(ends, span.start) - 1], ends[bisect_left(ends, span.end)]

        for (start, end), within in groupby(self.copied(text), around):
            if not self._tells_otherwise(text[start:end], list(within), start):
                yield start, end

    def _tells_otherwise(self, sentence: str, spans: list[Copied], offset: int) -> bool:
        """Whether no copy in it tells anything by itself, and the owner's own words give only values that are new.

        A page that says where an account is would otherwise make a copy of what its reader says about the same
        account. A value that was read stays read with a word put before it.
        """
        own, done = "", 0
        for span in spans:
            if (span.begins and span.ends) or _tells(sentence[span.start - offset : span.end - offset]):
                return False
            own, done = f"{own} {sentence[done : span.start - offset]}", span.end - offset
        scanned = read_values(own + sentence[done:])
        told = [value for value in scanned.values if value.kind not in _DENYING]
        return bool(told) and not any(self.has_read(scanned.view.text[slice(*one.span)], one.kind) for one in told)

    def has_read(self, value: str, kind: Kind) -> bool:
        """Whether a value stood in what was observed, however it was spaced or punctuated; in doubt it did.

        A name was read if all its words were: the surname may come first.
        """
        self._joined += map(_without_marks, self._texts[len(self._joined) :])
        if kind is Kind.NAME:
            words = _WORD.findall(folded(value))
            return any(all(word in text for word in words) for text in self._joined)
        spelled = _without_marks(value)
        digits = _NO_DIGIT.sub("", spelled)
        return any(spelled in text or (digits != "" and digits in _NO_DIGIT.sub("", text)) for text in self._joined)


def _run_ends(words: list[str]) -> dict[int, int]:
    """Where the run of words that begins at each place ends."""
    runs: dict[int, int] = {}
    weights = [1 if word >= "\u3040" and len(word) == 1 else 2 for word in words]
    end = weight = 0
    for start, own in enumerate(weights):
        while weight < _RUN and end < len(words):
            weight += weights[end]
            end += 1
        if weight < _RUN:
            break
        runs[start] = end
        weight -= own
    return runs


def _shown(text: str) -> str:
    """A page without its tags, JSON without its escapes: what somebody sees who copies from it."""
    if "\\" in text:
        text = _ESCAPED.sub(
            lambda found: chr(int(found[1], 16)) if found[1] else _WRITTEN.get(found[2], found[2]), text
        )
    if "<" in text or "](" in text:
        text = _TAG.sub(lambda tag: "\n" if _BREAK.match(tag[0]) else "", text)
    return html.unescape(text) if "&" in text else text


def _without_marks(text: str) -> str:
    return "".join(_WORD.findall(folded(text)))


def _tells(text: str) -> bool:
    """Whether a passage gives a value; one name is whom it is about, and a second one may be what it says."""
    kinds = [value.kind for value in read_values(text).values]
    return not _UNTELLING.issuperset(kinds) or kinds.count(Kind.NAME) > 1
