"""Naming: whether a text has a subject's words in it, one after the other, however they are written.

Case, Unicode forms, hidden characters, digits of other scripts, punctuation and spacing do not count, and escapes of
JSON, URLs and HTML are seen through. A name is found only as words: between separators, at a change of case or from
letters to digits, and anywhere in scripts that put no spaces between words. What a subject is called otherwise,
inflected or encrypted is not found.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from truekeep.text.fold import INVISIBLE, folded

_SEPARATORS = re.compile(r"[\W_]+")
_MARKS = bytes(code for code in range(32, 127) if not chr(code).isalnum())
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_HIDDEN = re.compile(f"[{INVISIBLE}]+")
_CODE_UNITS = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_ESCAPE = re.compile(r"\\[\\/bfnrt\"']")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese and, for its particles, Korean."""
_DEEPEST = 3
"""Escapes within escapes that are seen through: JSON in JSON in a URL."""
_SHORTEST = 3
"""Letters and digits that a subject has at least: fewer stand in too many other words."""
_SHORTEST_UNSPACED = 2
_SHORTEST_NUMBER = 5
"""Digits of a number that is also known without its zeros: fewer are too many other numbers."""


@dataclass(frozen=True, slots=True)
class SubjectWords:
    """The words of a subject."""

    letters: str
    """Its letters and digits, without anything between them."""
    _plain: str
    """The same without marks: what is looked for first."""
    _each: tuple[str, ...]
    """Its words apart, as they may stand in different members."""

    @classmethod
    def of(cls, subject: str) -> SubjectWords:
        """The words in what somebody typed."""
        return cls(_spelt(subject)[0], _letters(subject), tuple(map(_letters, subject.split())))

    @property
    def is_telling(self) -> bool:
        """Whether they are enough to be told from other words."""
        return len(self._plain) >= (_SHORTEST_UNSPACED if _UNSPACED.match(self.letters) else _SHORTEST)

    def are_in(self, text: str) -> bool:
        """Whether a text names the subject."""
        return any(self._plain in _letters(one) and self._stand_in(one) for one in _readings(text)) or (
            # A number that was kept as one has lost its zeros, also where it was written out again.
            self._without_zeros is not None and self._without_zeros.are_in(text)
        )

    def may_be_in(self, text: str) -> bool:
        """Whether a text, such as a row's JSON, is worth a closer look; this one costs little."""
        if self._without_zeros is not None:
            return self._without_zeros.may_be_in(text)
        return any(all(word in letters for word in self._each) for letters in map(_letters, _readings(text)))

    @property
    def _without_zeros(self) -> SubjectWords | None:
        short = self.letters.lstrip("0")
        is_number = self.letters.isdecimal() and len(short) >= _SHORTEST_NUMBER
        return SubjectWords(short, short, (short,)) if is_number and short != self.letters else None

    def are(self, number: float) -> bool:
        """Whether a number is the subject: one of digits that was kept as a number, and lost its zeros by that."""
        if isinstance(number, bool) or not self.letters.isdecimal():
            return False
        digits = str(int(number)) if number == number // 1 and abs(number) < 1e300 else repr(number)
        return _SEPARATORS.sub("", digits) in (self.letters, self.letters.lstrip("0"))

    def _stand_in(self, text: str) -> bool:
        letters, bounds = _spelt(text)
        at = letters.find(self.letters)
        while at >= 0:
            if bounds[at] and bounds[at + len(self.letters)]:
                return True
            at = letters.find(self.letters, at + 1)
        return False


def _letters(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text.lower().encode().translate(None, _MARKS).decode()
    letters = _SEPARATORS.sub("", folded(text))
    if letters.isascii():
        return letters
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), letters)


def _readings(text: str) -> Iterator[str]:
    """The text, and what it is without its escapes."""
    for _ in range(_DEEPEST):
        yield text
        plain = _unescaped(text)
        if plain == text:
            return
        text = plain
    yield text


def _unescaped(text: str) -> str:
    if "\\" in text:
        text = _ESCAPE.sub(" ", _CODE_UNITS.sub(_decoded, text))
    if "%" in text:
        text = unquote(text)
    return html.unescape(text) if "&" in text else text


def _decoded(match: re.Match[str]) -> str:
    units = bytes.fromhex(match[0].replace("\\u", ""))
    return units.decode("utf-16-be", errors="replace")


def _spelt(text: str) -> tuple[str, list[bool]]:
    """The letters and digits of a text as they are compared; and for each, and for the end, whether a word may begin.

    Where one may begin, the one before it may end.
    """
    letters: list[str] = []
    bounds: list[bool] = []
    before = ""
    for char in unicodedata.normalize("NFKC", _HIDDEN.sub("", unicodedata.normalize("NFKC", text))):
        kind = unicodedata.category(char)
        if kind[0] not in "LMN":
            before = ""
            continue
        spelt = str(unicodedata.decimal(char)) if kind == "Nd" else char.casefold().replace("i\u0307", "i")
        letters += spelt
        bounds += [_is_bound(before, char, kind), *([False] * (len(spelt) - 1))]
        before = char
    return "".join(letters), [*bounds, True]


def _is_bound(before: str, char: str, kind: str) -> bool:
    if kind[0] == "M":
        return False
    if not before or before.isdecimal() != char.isdecimal() or (before.islower() and char.isupper()):
        return True
    return bool(_UNSPACED.match(before) or _UNSPACED.match(char))
