"""Cut plain text into typed tokens in one linear pass."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from truekeep.text.language import read_table


class Token(NamedTuple):
    """A piece of text; ``kind`` is the name of the pattern that took it."""

    kind: str
    text: str
    start: int
    end: int


_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_AMOUNT = r"(?:\d{1,3}(?:(?:[ ']\d{3})+(?!\d)|(?:,\d{3})+(?!\d)|(?:\.\d{3})+(?!\d))|\d+)(?:[.,]\d+)?"
# First match wins: the plain word, because most tokens are one, then from the most to the least particular.
# Every repetition is bounded or runs over one character class, which keeps the whole pass linear.
_PATTERNS = {
    "plain_word": r"[^\W\d_]+(?:['-][^\W\d_]+)*'?(?=[\s,;!?]|\.?\Z|\.\s)",
    "url": r"(?:[Hh][Tt][Tt][Pp][Ss]?|hxxps?|ftps?|wss?|file)://[^\s<>\"']{1,2048}"
    r"|mailto:[^\s<>\"']{3,320}|www\.[^\s<>\"']{3,2048}",
    "email": rf"(?<![\w.+%-])[\w.+%-]{{1,64}}@{_LABEL}(?:\.{_LABEL}){{1,8}}",
    "spoken_email": rf"(?<![\w.+-])[\w.+-]{{1,64}}(?: ?[\[(]at[\])] ?| at ){_LABEL}"
    rf"(?:(?: ?[\[(]dot[\])] ?| dot ){_LABEL}){{1,6}}",
    "wallet": r"\b(?:0x[0-9a-fA-F]{40}|(?:bc1|ltc1)[a-z0-9]{20,71}"
    r"|(?=[A-HJ-NP-Za-km-z]{0,44}\d)(?=[1-9a-km-z]{0,44}[A-Z])[1-9A-HJ-NP-Za-km-z]{26,44})\b",
    "iban": r"\b[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}",
    "iso": r"\b\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?"
    r"(?:Z|[+-]\d{2}:?\d{2})?)?(?![\w-])",
    "dmy": r"\b\d{1,2}(?:\. ?\d{1,2}\. ?|/\d{1,2}/|-\d{1,2}-)(?:\d{4}|\d{2})(?![\w-]|[./]\d)",
    "time": r"\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp]\.?[Mm]\b\.?)?(?![\w:])|\b\d{1,2} ?[AaPp]\.?[Mm]\b",
    "phone": r"(?<![\w.])(?:\+|00)\d(?:[ ().-]{0,2}\d){6,16}(?![\w-])"
    r"|\(\d{2,4}\) ?\d{3}[ .-]?\d{3,4}\b|\b\d{3}[ .-]\d{3}[ .-]\d{4}\b|\b0\d{2,3}[ /]\d{3} ?\d{3}\b",
    "card": r"\b\d{4}(?: \d{4}){2,4}\b|\b\d{4}(?:-\d{4}){2,4}\b",
    "dotted": r"\b(?!\d{1,3}(?:\.\d{3}){2}(?!\.?\d))v?\d+(?:\.\d+){2,5}(?![\w.]|,\d)",
    "number": rf"(?<![\w.])-?{_AMOUNT}(?:%|[^\W\d_]{{1,4}})?(?![\w/-]|[.,:]\d)",
    "path": r"(?<!\w)(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@%+-]{1,255}){1,40}/?",
    "code": r"#?(?=(?:[^\W\d]|[-/]){0,64}\d)[^\W_]+(?:[-/_][^\W_]+)*",
    "domain": rf"{_LABEL}(?:\.{_LABEL}){{1,8}}(?!\w)",
    "handle": r"@[\w.-]{1,64}",
    "word": r"[^\W\d_]+(?:['-][^\W\d_]+)*'?",
    "rest": r"\w",
    "mark": r"[^\w\s]|\n",
}


_DIGIT = re.compile(r"\d")
_IBAN_START = re.compile(r"\b[A-Za-z]{2}\d{2}")
_STRUCTURE = re.compile(r"[@/\\]|\w\.\w")
_SPOKEN = re.compile(r"\bdot\b|\[at\]|\(at\)")
_NAMES = tuple(name for name in _PATTERNS if name != "spoken_email")
_GRAMMARS = {
    "all": _NAMES,
    "spoken": ("spoken_email", *_NAMES),
    "no_iban": tuple(name for name in _NAMES if name != "iban"),
    "letters": ("plain_word", "url", "path", "domain", "handle", "word", "rest", "mark"),
    "simple": ("word", "rest", "mark"),
}


@cache
def _grammar(name: str) -> re.Pattern[str]:
    """The patterns that a text of some make-up needs, compiled when one of that make-up first turns up."""
    return re.compile("|".join(f"(?P<{part}>{_PATTERNS[part]})" for part in _GRAMMARS[name]))


def tokens(text: str) -> list[Token]:
    """All tokens of plain text, in order; whitespace other than line ends falls between them."""
    if _SPOKEN.search(text):
        return _with_ibans(text, _grammar("spoken"))
    if _DIGIT.search(text) or "@" in text:
        if _IBAN_START.search(text):
            return _with_ibans(text, _grammar("all"))
        pattern = _grammar("no_iban")
    else:
        pattern = _grammar("letters" if _STRUCTURE.search(text) else "simple")
    return [Token(_KIND[m.lastgroup], m[0], m.start(), m.end()) for m in pattern.finditer(text)]


_KIND: dict[str | None, str] = {**{name: name for name in _PATTERNS}, "plain_word": "word"}


def _with_ibans(text: str, pattern: re.Pattern[str]) -> list[Token]:
    """As above, but an account number ends where its country says, not where the letters run out."""
    found: list[Token] = []
    match = pattern.search(text)
    while match:
        if match.lastgroup == "iban":
            end = _iban_end(match)
            if end is None:
                match = _grammar("no_iban").match(text, match.start())
                continue
            found.append(Token("iban", text[match.start() : end], match.start(), end))
        else:
            found.append(Token(_KIND[match.lastgroup], match[0], match.start(), match.end()))
        match = pattern.search(text, found[-1].end)
    return found


@cache
def iban_lengths() -> dict[str, int]:
    """The length of an IBAN by country."""
    lengths: dict[str, int] = read_table("salient", "units.toml")["iban"]
    return lengths


def _iban_end(match: re.Match[str]) -> int | None:
    wanted = iban_lengths().get(match[0][:2].upper())
    if wanted is None:
        return None
    text, seen = match.string, 0
    for place in range(match.start(), match.end()):
        seen += text[place].isalnum()
        if seen == wanted:
            stands_alone = place + 1 == len(text) or not text[place + 1].isalnum()
            return place + 1 if stands_alone else None
    return None
