"""Plain text cut into typed tokens in one linear pass, and the canonical spellings of addresses and identifiers.

A *salient value* is a number, an amount, a date, a name or an address that a claim or a call turns on. What it is, and
the row of tokens that it is read from, are here; ``salient`` reads them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

from truekeep.data import read_table


class Kind(StrEnum):
    """The types of value that a claim or a tool call can turn on."""

    NUMBER = "number"
    MONEY = "money"
    CURRENCY = "currency"
    PERCENT = "percent"
    DATE = "date"
    TIME = "time"
    EMAIL = "email"
    IBAN = "iban"
    CODE = "code"
    WALLET = "wallet"
    URL = "url"
    DOMAIN = "domain"
    PATH = "path"
    PHONE = "phone"
    QUOTED = "quoted"
    NAME = "name"
    NEGATION = "negation"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Salient:
    """One value. ``value`` is equal for every spelling of it; ``also`` holds readings that are only possible.

    ``sure`` is false where the kind is a guess, as for a capital letter that merely begins a sentence.
    """

    kind: Kind
    value: str
    span: tuple[int, int]
    unit: str = ""
    also: tuple[str, ...] = ()
    sure: bool = True

    @property
    def key(self) -> str:
        """Kind and canonical value in one string, for indexes and claims."""
        return f"{self.kind}:{self.value}"


class ValueToken(NamedTuple):
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
    # Any number of accents over one letter is one mark: a page of them must not cost a token each.
    "mark": r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+|[^\w\s]|\n",
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


def tokens(text: str) -> list[ValueToken]:
    """All tokens of plain text, in order; whitespace other than line ends falls between them."""
    if _SPOKEN.search(text):
        return _with_ibans(text, _grammar("spoken"))
    if _DIGIT.search(text) or "@" in text:
        if _IBAN_START.search(text):
            return _with_ibans(text, _grammar("all"))
        pattern = _grammar("no_iban")
    else:
        pattern = _grammar("letters" if _STRUCTURE.search(text) else "simple")
    return [ValueToken(_KIND[m.lastgroup], m[0], m.start(), m.end()) for m in pattern.finditer(text)]


_KIND: dict[str | None, str] = {**{name: name for name in _PATTERNS}, "plain_word": "word"}


def _with_ibans(text: str, pattern: re.Pattern[str]) -> list[ValueToken]:
    """As above, but an account number ends where its country says, not where the letters run out."""
    found: list[ValueToken] = []
    match = pattern.search(text)
    while match:
        if match.lastgroup == "iban":
            end = _iban_end(match)
            if end is None:
                match = _grammar("no_iban").match(text, match.start())
                continue
            found.append(ValueToken("iban", text[match.start() : end], match.start(), end))
        else:
            found.append(ValueToken(_KIND[match.lastgroup], match[0], match.start(), match.end()))
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


def shift(count: int, unit: str) -> str:
    """A number of days, months or years from now; weeks are counted in days."""
    return f"{count * int(unit[:-1]):+d}d" if unit.endswith("d") else f"{count:+d}{unit}"


_SPOKEN_SIGN = re.compile(r" ?[\[(]?\b(at|dot)\b[\])]? ?")
_TRAILING = ".,;:!?)]}'\""
_DEFAULT_PORT = {"http": ":80", "https": ":443"}
# In "1-12" and "11-2" the dash is all that tells them apart.
_SHORT = 4
_SEPARATORS = re.compile(r"[\W_]+")


def email(text: str) -> str:
    """A mail address; providers differ on the local part, so only its letter case is folded."""
    if "@" not in text:
        text = _SPOKEN_SIGN.sub(lambda m: "@" if m[1] == "at" else ".", text)
    return text.strip(_TRAILING).casefold()


def trimmed(url: str) -> str:
    """A link without the punctuation of the sentence around it."""
    end = len(url)
    while end and url[end - 1] in _TRAILING and not (url[end - 1] == ")" and "(" in url[:end]):
        end -= 1
    return url[:end]


def url(text: str) -> str:
    """A link with scheme and host folded, default port, fragment-less root and percent-encoding removed."""
    text = trimmed(text)
    if text.startswith("www."):
        text = "http://" + text
    scheme, mark, rest = text.partition("://")
    if not mark:
        return unquote(text).casefold()
    scheme = scheme.casefold().replace("hxxp", "http")
    cut = min((place for mark in "/?#" if (place := rest.find(mark)) >= 0), default=len(rest))
    host, tail = rest[:cut].casefold().rstrip("."), rest[cut:]
    host = host.removesuffix(_DEFAULT_PORT.get(scheme, "\0")).rstrip(".")
    return f"{scheme}://{unquote(host)}{unquote(tail).rstrip('/')}"


def host_of(canonical_url: str) -> str:
    """The host in a canonical link, without user-info and port."""
    rest = canonical_url.partition("://")[2]
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    return authority.rpartition("@")[2].partition(":")[0]


def compact(text: str) -> str:
    """An identifier without the spaces and dashes that people add for reading; short ones keep theirs apart."""
    bare = _SEPARATORS.sub("", text).upper()
    return bare if len(bare) > _SHORT else _SEPARATORS.sub("-", text).strip("-").upper()


def phone(text: str) -> str:
    """A phone number as digits; an international prefix of two zeros is a plus."""
    digits = "".join(char for char in text if char.isdigit())
    if text.startswith("+"):
        return "+" + digits
    return "+" + digits[2:] if text.startswith("00") else digits


def wallet(text: str) -> str:
    """A wallet address; hexadecimal ones ignore letter case, the others do not."""
    return text.lower() if text.startswith("0x") else text


def path(text: str) -> str:
    """A file path with one kind of slash."""
    return unquote(text.replace("\\", "/")).rstrip("/.,;:")
