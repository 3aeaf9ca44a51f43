"""Read a text once for the act boundary: its words, its typed values and where each of them stands.

This is the only module here that knows the text room. Everything is compared in one normal form: plain characters,
lower case, single spaces. Accents and alphabets stay, because a look-alike must not prove anything; ``disguised``
is the other direction, a spelling shared by everything that could pass for the value, used to recognise hearsay.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import accumulate, islice, pairwise
from operator import itemgetter
from urllib.parse import unquote

from truekeep.data import read_table
from truekeep.text.analysis import analysed
from truekeep.text.dates import resolved
from truekeep.text.decode import decoded
from truekeep.text.fold import INVISIBLE, loose, plain
from truekeep.text.tokens import Kind
from truekeep.text.view import LONG, View

__all__ = [
    "TextReading",
    "TypedValue",
    "disguised",
    "disguises_of",
    "has_hidden",
    "hidden_texts",
    "normal",
    "pairs",
    "read",
    "read_table",
    "stem",
]

_BLANK = re.compile(r"[^\S\n]+")
WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+n't\b|(?:(?![\u3400-\u9fff])[^\W_])+")
_CHUNK = re.compile(r"[~/@#]?[^\W_](?:[\w.@:/\\+=~#&%?*-]*[\w/])?|~/?")
_GLUE = re.compile(r"[\w][_.@:/\\+=~#&%?*-]+[\w]|^[~/@#]")
_CJK = re.compile("[\u3400-\u9fff]")
_JOINED = re.compile(r"[_./@:#=\\+~]|\d")
_NOT_ALNUM = re.compile(r"[\W_]+")
_SHAPING = "\u200c\u200d\ufe00-\ufe0f"
SHORTEST_DISGUISE = 4
"""Letters and figures that a disguised value has at least; of fewer everything would be one."""
_APART = re.compile(r"(?:[0-9]{1,40}|\b[A-Za-z])(?:[-./ \t]{1,4}(?:[0-9]{1,40}|[A-Za-z]\b)){1,31}")
_GROUP = re.compile(r"[0-9]+|[A-Za-z]")
_WRAPPED = re.compile(r"&#?\w|</?\w|\w_\w")
"""Markup and joined words: only other views of a text tell what they say, and those cost several times as much."""
_AT_WORD = re.compile(r"\s?[\[({<]\s?(?:at|@)\s?[\])}>]\s?|\sat\s|\s@\s?|(?<=\w)@\s")
_DOT_WORD = re.compile(r"\s?[\[({<]\s?(?:dot|\.)\s?[\])}>]\s?|\sdot\s|\s\.\s?")
_SPELT = re.compile(r"(?<![\w.+-])([\w.+-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})")
_MOST_RUNS, _LONGEST_CODE = 24, 40
"""Of one text: a table of figures must not push out what else it is known by."""
_HIDDEN = re.compile(
    rf"(?![{_SHAPING}])(?:[{INVISIBLE}]|[\x0b\x0c\x1c-\x1f\u2800])|(?<=[!-~])[{_SHAPING}]|[{_SHAPING}](?=[!-~])"
)
_GROUPS = re.compile(r"(?<![\w.])\d{2,}(?:[ -]\d{2,})+(?![\w])")
_DATE = re.compile(r"(?:19|20)\d\d-\d\d-\d\d(?:-?\d\d){0,3}")
_SUB_ADDRESS = re.compile(r"\+[^@]*@")
# Endings that inflect a word in the languages with tables; a stem only ever links a word with its other forms.
_ENDINGS = re.compile(r"(?<=\w{4})(?:ing|ed|es|s|en|em|er|e|n|t|a|u|y|i|o|om|ou|ov|och|ovi|ami|ia)$")
_HARD = str.maketrans("ňťďľ", "ntdl")
_AMOUNTS = frozenset({Kind.NUMBER, Kind.MONEY, Kind.PERCENT})
_PLAIN = {Kind.EMAIL: "mail", Kind.URL: "url", Kind.DOMAIN: "host", Kind.PATH: "path", Kind.TIME: "time"}
_CODES = frozenset({Kind.IBAN, Kind.CODE, Kind.WALLET, Kind.PHONE})
_WRITE_TO = "mailto:"
_LONGEST_KEPT = 8_000
"""Characters of a text whose reading is remembered with many others: a memory, a message or a value of a call."""
WEIGHTY = frozenset({"mail", "url", "host", "path", "code", "id"})
"""Kinds that name one party or place: nobody writes them by accident, so where one came from is known."""


@dataclass(frozen=True, slots=True)
class TypedValue:
    """One typed value: its kind, the form every spelling of it shares, and its place in the normal form."""

    kind: str
    form: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """Kind and form in one string, as indexes hold it."""
        return f"{self.kind}:{self.form}"


@dataclass(frozen=True, eq=False)
class TextReading:
    """A text in its normal form, with the words and typed values in it."""

    cased: str
    flat: str
    values: tuple[TypedValue, ...]

    @cached_property
    def spans(self) -> tuple[tuple[str, int, int], ...]:
        """Words with their places."""
        return tuple((m[0], *m.span()) for m in WORD.finditer(self.flat))

    def between(self, start: int, end: int) -> tuple[tuple[str, int, int], ...]:
        """The words that begin between two places, found without going through all the others."""
        first = bisect_left(self.spans, start, key=itemgetter(1))
        return self.spans[first : bisect_left(self.spans, end, lo=first, key=itemgetter(1))]

    def without(self, spans: Iterable[tuple[int, int]]) -> TextReading:
        """The same reading with some spans blanked, every other place unmoved."""
        cased, flat, spans = self.cased, self.flat, tuple(spans)
        for start, end in spans:
            blank = " " * (end - start)
            cased, flat = cased[:start] + blank + cased[end:], flat[:start] + blank + flat[end:]
        values = (v for v in self.values if not any(a <= v.start < b for a, b in spans))
        return TextReading(cased, flat, tuple(values))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words in order."""
        return tuple(word for word, _, _ in self.spans)

    @cached_property
    def _glued(self) -> frozenset[int]:
        marks = (value for value in self.values if value.kind in WEIGHTY and _JOINED.search(value.form))
        return frozenset(place for value in marks for place in range(value.start, value.end))

    def is_glued(self, place: int) -> bool:
        """Whether a place lies inside a path, address or identifier."""
        return place in self._glued

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words, and pairs of characters where a character is a word."""
        return frozenset(map(stem, self.words)) | pairs(self.words)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of all typed values."""
        return frozenset(value.key for value in self.values)

    @cached_property
    def sole(self) -> frozenset[str]:
        """The keys of values that are the whole text, as an argument's value should be."""
        bare = self.flat.strip(" \n\"'()<>[]")
        return frozenset(value.key for value in self.values if value.end - value.start >= len(bare))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A word without its ending; short words stay as they are, and soft consonants that an ending hardens are hard."""
    return _ENDINGS.sub("", _ENDINGS.sub("", word)).translate(_HARD)


def pairs(words: Iterable[str]) -> frozenset[str]:
    """Neighbouring Chinese characters, two by two: one alone names nothing."""
    row = list(words)
    return frozenset(a + b for a, b in pairwise(row) if _CJK.fullmatch(a) and _CJK.fullmatch(b))


def has_hidden(text: str) -> bool:
    """Whether a text has characters that are not seen, and that the normal form leaves out.

    Joiners between letters of a script that needs them, and what makes a sign an emoji, are no disguise.
    """
    return _HIDDEN.search(text) is not None


def disguised(text: str) -> str:
    """A spelling shared by all disguises of a value; never proof."""
    return loose(unquote(_SUB_ADDRESS.sub("@", text.removeprefix("mailto:"))))


def hidden_texts(text: str) -> Iterator[str]:
    """What a text says once its encodings are undone: percent, base64, hexadecimal and their kin."""
    for view in decoded(View("raw", text)):
        yield view.text


def disguises_of(text: str, reading: TextReading) -> Iterator[str]:
    """What the weighty values of a text could pass for, also of those that are hidden in it or read backwards."""
    for value in reading.values:
        if value.kind in WEIGHTY:
            yield disguised(reading.flat[value.start : value.end])
            yield disguised(value.form)
    yield from _spaced_out(reading.flat)
    yield from _spelt_addresses(reading.flat)
    views = analysed(text).views[1:] if len(text) <= LONG and _WRAPPED.search(text) else ()
    shown = (view.text for view in views if view.name != "folded")
    for other in dict.fromkeys((*shown, *hidden_texts(text))):
        yield from (disguised(value.form) for value in read(other).values if value.kind in WEIGHTY)
        yield from _spaced_out(other)


def _spelt_addresses(text: str) -> Iterator[str]:
    """What addresses could be that are written with words or blanks for their marks, as they are or in rot13."""
    for view in (text, codecs.encode(text, "rot13")):
        if "@" in view or _AT_WORD.search(view):
            plain_marks = _DOT_WORD.sub(".", _AT_WORD.sub("@", view))
            for match in islice(_SPELT.finditer(plain_marks), _MOST_RUNS):
                labels = match[2].split(".")
                # The sentence may go on behind the address.
                yield from (loose(match[1] + "".join(labels[:end])) for end in range(2, min(len(labels), 6) + 1))


def _spaced_out(text: str) -> Iterator[str]:
    """What figures and single letters in a row could be together, also if others stand before them, or behind."""
    for run in islice(_APART.findall(text), _MOST_RUNS):
        groups = _GROUP.findall(run)
        whole, ends = loose("".join(groups)), list(accumulate(map(len, groups)))
        parts = {whole, *(whole[:end] for end in ends[1:]), *(whole[end:] for end in ends[:-1])}
        yield from (part for part in parts if SHORTEST_DISGUISE <= len(part) <= _LONGEST_CODE)


def read(text: str, at: datetime | None = None) -> TextReading:
    """The reading of a text; dates such as "Friday" are resolved as said at ``at``."""
    return (_lately if len(text) <= _LONGEST_KEPT else _last)(text, at)


def normal(text: str) -> str:
    """The normal form of a text that is not read any further."""
    return _lower(_cased(text))


def _cased(text: str) -> str:
    return _BLANK.sub(" ", plain(text).text)


def _lower(cased: str) -> str:
    """Lower case, with every letter in its place."""
    return cased.lower() if cased.isascii() else "".join(c if len(c.lower()) != 1 else c.lower() for c in cased)


def _read(text: str, at: datetime | None) -> TextReading:
    cased = _cased(text)
    flat = _lower(cased)
    found = {(value.start, value.end, value.key): value for value in _values(cased, flat, at)}
    return TextReading(cased, flat, tuple(sorted(found.values(), key=lambda value: (value.start, -value.end))))


_lately = lru_cache(maxsize=512)(_read)
_last = lru_cache(maxsize=2)(_read)
"""Of pages only the last: a reading is many times the size of its text, and whoever needs it again holds it."""


def _values(cased: str, flat: str, at: datetime | None) -> Iterator[TypedValue]:
    for value in analysed(cased).values:
        start, end = value.span
        for form in (value.value, *value.also):
            for kind, plain_form in _typed(value.kind, form, flat[start:end], at):
                yield TypedValue(kind, plain_form, start, _end_of(kind, plain_form, flat[start:end]) + start)
            if value.kind is Kind.URL and (host := host_of(form)) and (place := flat.find(host, start, end)) >= 0:
                yield TypedValue("host", host, place, place + len(host))
    for match in _CHUNK.finditer(flat):
        chunk = match[0]
        if _GLUE.search(chunk) and not chunk.isdigit():
            yield TypedValue("id", chunk.removeprefix("mailto:"), *match.span())
    for match in _GROUPS.finditer(flat):
        if not _DATE.fullmatch(match[0]):
            yield TypedValue("code", _NOT_ALNUM.sub("", match[0]), *match.span())


def _end_of(kind: str, form: str, text: str) -> int:
    """Where a value ends in its text: a link to write to is no more than an address if it is spelt as one alone."""
    if kind != "mail" or not text.startswith(_WRITE_TO):
        return len(text)
    return len(_WRITE_TO + form) if text.startswith(_WRITE_TO + form) else len(_WRITE_TO)


def _typed(kind: Kind, form: str, text: str, at: datetime | None) -> Iterator[tuple[str, str]]:
    """The kinds and forms under which a value of the text room is compared here."""
    if kind in _AMOUNTS:
        yield "num", form.partition(" ")[0]
        if len(text) >= 4 and text.isdigit():
            yield "code", text
    elif kind in _CODES:
        yield "code", _NOT_ALNUM.sub("", form).lower().removeprefix("00" if kind is Kind.PHONE else "\0")
        if form.isdigit():
            yield "num", form.lstrip("0") or "0"
    elif kind is Kind.URL and form.startswith(_WRITE_TO):
        yield "mail", form.removeprefix(_WRITE_TO).partition("?")[0]
    elif kind is Kind.DATE:
        yield from (("date", day) for day in (resolved(form, at) if at else (form,)))
    elif kind in _PLAIN:
        yield _PLAIN[kind], form.lower()


def host_of(url: str) -> str:
    """The host of a link as a browser finds it, without user-info, port and the leading www."""
    rest = url.lower().partition("://")[2] or url.lower()
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    return authority.rpartition("@")[2].partition(":")[0].rstrip(".").removeprefix("www.")
