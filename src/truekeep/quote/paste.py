"""Tell an owner's own words from what was pasted into a message.

A user who pastes a poisoned page or mail has not said what it says. What is recognised as somebody else's is cut
out of the message; the rest is what the owner said.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, groupby

from truekeep.text import folded
from truekeep.text.language import read_table
from truekeep.text.salient import Kind, scan

_WORD = re.compile(r"[^\W_]+")
_NO_DIGIT = re.compile(r"\D+")
_RUN = 5
_SHORT_TEXT = 80
_LONG_LEAD = 200
_MOST_LINES = 400
# What a sentence says before it comes to its point: whom it is about, and whether it is so.
_DENYING = frozenset({Kind.NEGATION, Kind.BOOLEAN})
_UNTELLING = _DENYING | {Kind.NAME}
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{24,})[\"”“»]", re.DOTALL)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_HEADER = re.compile(r"\s{0,3}\**([^\W\d][\w-]{0,20})\**\s{0,2}:\s")
_SENTENCE_END = re.compile(r"[.!?;][\"'”»)]*\s+|\n+")
_QUOTE_LINE = re.compile(r"\s{0,3}[>|]")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_STRUCTURE = re.compile(r"\s{0,3}(?:#{1,6}\s|\d{1,2}(?:\.\d{1,2})*[.)]\s|[-*\u2022\u2013]\s|\|.*\|)")
# Nobody types these; they come with text that was copied, or that hides something.
_UNTYPED = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff]")


@dataclass(frozen=True, slots=True)
class _Signs:
    headers: frozenset[str]
    roles: frozenset[str]
    forwards: tuple[str, ...]
    wrote: tuple[str, ...]
    announces: tuple[str, ...]
    furniture: tuple[str, ...]


@cache
def _signs() -> _Signs:
    table = read_table("quote", "paste.toml")
    return _Signs(
        frozenset(table["headers"]),
        frozenset(table["roles"]),
        *(tuple(table[name]) for name in ("forwards", "wrote", "announces", "furniture")),
    )


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
    """What a session took in, kept as runs of words, so that a copy is recognised in a later message."""

    _runs: set[int] = field(default_factory=set)
    _first_runs: set[int] = field(default_factory=set)
    _last_runs: set[int] = field(default_factory=set)
    _short: set[str] = field(default_factory=set)
    _texts: list[str] = field(default_factory=list)
    _joined: list[str] = field(default_factory=list)
    """The texts without spaces and marks, as far as they were asked for."""

    def add(self, text: str) -> None:
        """Remember a text that was observed."""
        self._texts.append(text)
        words: list[str] = []
        ends: list[int] = []
        for sentence in _SENTENCE_END.split(text):
            words += _WORD.findall(folded(sentence))
            ends.append(len(words))
        runs = [hash(tuple(words[i : i + _RUN])) for i in range(len(words) - _RUN + 1)]
        self._runs.update(runs)
        self._first_runs.update(runs[start] for start in (0, *ends) if start < len(runs))
        self._last_runs.update(runs[end - _RUN] for end in ends if end >= _RUN)
        for line in text.splitlines() or [text]:
            if len(line) <= _SHORT_TEXT and (words := _WORD.findall(folded(line))):
                self._short.add(" ".join(words))

    def copied(self, text: str) -> list[Copied]:
        """The passages of a text that stand in what was observed: five words and more, or a whole short text."""
        found = [(m.start(), m.end(), folded(m[0])) for m in _WORD.finditer(text)]
        words = [word for _, _, word in found]
        if " ".join(words) in self._short and len(words) > 1:
            return [Copied(0, len(text), begins=True, ends=True)]
        spans: list[Copied] = []
        for place in range(len(words) - _RUN + 1):
            run = hash(tuple(words[place : place + _RUN]))
            if run in self._runs:
                last = Copied(
                    found[place][0], found[place + _RUN - 1][1], run in self._first_runs, run in self._last_runs
                )
                if spans and last.start <= spans[-1].end:
                    first = spans.pop()
                    last = Copied(first.start, last.end, first.begins or last.begins, first.ends or last.ends)
                spans.append(last)
        return spans

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


def _without_marks(text: str) -> str:
    return "".join(_WORD.findall(folded(text)))


@dataclass(frozen=True, slots=True)
class Parts:
    """A message taken apart: what the owner said, what was pasted, and by which signs that was seen."""

    own: str
    pasted: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()


def split_paste(text: str, seen: SeenTexts | None = None) -> Parts:
    """The owner's own words and the pasted ones. In doubt a passage counts as pasted."""
    if _UNTYPED.search(text):
        return Parts("", (text,), ("untyped_characters",))
    cuts = [(start, end, "observed") for start, end in _whole_sentences(text, seen)] if seen else []
    cuts += [(*match.span(), "fence") for match in _FENCE.finditer(text)]
    cuts += [(*match.span(), "quotation") for match in _QUOTED.finditer(text)]
    cuts += _by_lines(text)
    if not cuts:
        return Parts(text)
    return _cut(text, sorted(cuts))


def _whole_sentences(text: str, seen: SeenTexts) -> Iterator[tuple[int, int]]:
    """The sentences that copies touch, but for those that go on to tell something else than what was observed.

    What is left of a sentence must not say the opposite of the whole: a page with the words "it is not true that"
    in it would otherwise turn a denial into an assertion.
    """
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]

    def around(span: Copied) -> tuple[int, int]:
        return ends[bisect_right(ends, span.start) - 1], ends[bisect_left(ends, span.end)]

    for (start, end), within in groupby(seen.copied(text), around):
        if not _tells_otherwise(text[start:end], list(within), start, seen):
            yield start, end


def _tells_otherwise(sentence: str, spans: list[Copied], offset: int, seen: SeenTexts) -> bool:
    """Whether no copy in it tells anything by itself, and the owner's own words give only values that are new.

    A page that says where an account is would otherwise make a copy of what its reader says about the same account.
    A value that was read stays read with a word put before it.
    """
    own, done = "", 0
    for span in spans:
        if (span.begins and span.ends) or _tells(sentence[span.start - offset : span.end - offset]):
            return False
        own, done = f"{own} {sentence[done : span.start - offset]}", span.end - offset
    scanned = scan(own + sentence[done:])
    told = [value for value in scanned.values if value.kind not in _DENYING]
    return bool(told) and not any(seen.has_read(scanned.view.text[slice(*one.span)], one.kind) for one in told)


def _tells(text: str) -> bool:
    """Whether a passage gives a value; one name is whom it is about, and a second one may be what it says."""
    kinds = [value.kind for value in scan(text).values]
    return not _UNTELLING.issuperset(kinds) or kinds.count(Kind.NAME) > 1


def _cut(text: str, cuts: list[tuple[int, int, str]]) -> Parts:
    own: list[str] = []
    pasted: list[str] = []
    done = 0
    for start, end, _ in cuts:
        if end <= done:
            continue
        if start > done:
            own.append(text[done:start])
            pasted.append(text[start:end])
        elif pasted:
            pasted[-1] += text[done:end]
        else:
            pasted.append(text[start:end])
        done = end
    own.append(text[done:])
    signs = tuple(sorted({sign for _, _, sign in cuts}))
    return Parts("\n".join(part for part in own if part.strip()), tuple(pasted), signs)


def _by_lines(text: str) -> list[tuple[int, int, str]]:
    """Quoted lines one by one; from a mail header, a forward or an announcement on, all that follows."""
    lines = text.splitlines(keepends=True)
    if len(lines) >= _MOST_LINES:
        return [(0, len(text), "document")]
    starts = [0, *accumulate(len(line) for line in lines)][: len(lines)]
    cuts = [
        (start, start + len(line), "quoted_lines")
        for start, line in zip(starts, lines, strict=True)
        if _QUOTE_LINE.match(line)
    ]
    for place, line in enumerate(lines):
        sign = _begins_foreign(lines, place, line)
        if sign:
            start = starts[place] + (len(line) if sign == "announced" else 0)
            if start < len(text):
                return [*cuts, (start, len(text), sign)]
    return cuts + _document(text, lines, starts)


def _begins_foreign(lines: list[str], place: int, line: str) -> str:
    low = folded(line)
    signs = _signs()
    if any(mark in low for mark in signs.forwards) or low.endswith(signs.wrote):
        return "forwarded"
    name = _HEADER.match(line)
    if name and name[1].casefold() in signs.roles:
        return "roles"
    if name and name[1].casefold() in signs.headers and _headers_near(lines, place) >= 2:
        return "mail_headers"
    has_more = any(rest.strip() for rest in lines[place + 1 :])
    if has_more and len(low) <= _LONG_LEAD and (low.endswith(":") or _announces(low, lines, place)):
        return "announced"
    return ""


def _headers_near(lines: list[str], place: int) -> int:
    near = (_HEADER.match(line) for line in lines[place : place + 6])
    return sum(match is not None and match[1].casefold() in _signs().headers for match in near)


def _announces(low: str, lines: list[str], place: int) -> bool:
    """An announcement is followed by a break, not by the rest of the owner's sentence."""
    blank_follows = place + 1 < len(lines) and not lines[place + 1].strip()
    return blank_follows and any(mark in low for mark in _signs().announces)


def _document(text: str, lines: list[str], starts: list[int]) -> list[tuple[int, int, str]]:
    """A text with the furniture of a document is a copy, but for a short lead of the owner's own."""
    low = folded(text)
    kinds = sum(mark in low for mark in _signs().furniture)
    kinds += len(_MARKUP.findall(text)) >= 2
    kinds += sum(_STRUCTURE.match(line) is not None for line in lines) >= 4
    kinds += len(text) > 1_500
    if kinds < 2:
        return []
    blank = next((place for place, line in enumerate(lines) if place and not line.strip()), None)
    lead = starts[blank] if blank is not None and starts[blank] <= _LONG_LEAD else 0
    return [(lead, len(text), "document")]
