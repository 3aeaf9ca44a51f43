"""What was encoded or ciphered: base64, hexadecimal and the like one level deep, shifted or mirrored letters."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from string import ascii_lowercase, ascii_uppercase
from urllib.parse import unquote

from truekeep.text.language import known_words
from truekeep.text.view import LONG, Edit, View, excerpt, rewrite
from truekeep.text.words import letter_runs

_LONGEST = 12_000  # characters of one payload; the longest text has fewer
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{12,}(?:[ \t]*\r?\n[A-Za-z0-9+/_-]{12,})*={0,2}")
_BASE32 = re.compile(r"(?<![A-Za-z0-9])[A-Z2-7]{16,}={0,6}(?![A-Za-z0-9])")
_HEX = re.compile(r"(?<![A-Za-z0-9])(?:0x)?[0-9A-Fa-f]{2}(?:[ :,\-]?(?:0x|\\x)?[0-9A-Fa-f]{2}){7,}(?![A-Za-z0-9])")
_BINARY = re.compile(r"(?<![0-9])[01]{7,8}(?:[ ,]?[01]{7,8}){3,}(?![0-9])")
_CODES = re.compile(r"(?<![0-9.])(?:[0-9]{2,3}[ ,;]{1,2}){5,}[0-9]{2,3}(?![0-9.])")
_MORSE = re.compile(r"(?<![.\-\w])(?:[.\-\u00b7\u2013]{1,6}[ /|]{1,3}){6,}[.\-\u00b7\u2013]{1,6}(?![.\-\w])")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[A-Za-z0-9._~+-]{0,40}){2,}")
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|[uU]([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|U([0-9A-Fa-f]{8}))")
_TAGS = re.compile("[\U000e0020-\U000e007e]{2,}")
_READABLE = re.compile(r"[^\W\d_]{2,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")


def readable(data: bytes) -> str | None:
    """The bytes as text, if that is what they are: UTF-8 (or UTF-16), mostly letters and spaces."""
    for encoding in ("utf-8", "utf-16-le"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        letters = sum(char.isalpha() or char == " " for char in text)
        if letters >= 0.8 * len(text) and text.isprintable() and _READABLE.search(text):
            return text
        if letters >= 0.7 * len(text) and all(char.isprintable() or char in "\t\r\n" for char in text):
            return text
    return None


def _base64(run: str) -> str | None:
    digits = re.sub(r"\s+", "", run).rstrip("=").replace("-", "+").replace("_", "/")
    if digits.isdigit() or (digits.isalpha() and (digits.islower() or digits.istitle())):
        return None
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    try:
        return readable(base64.b64decode(digits + "=" * (-len(digits) % 4)))
    except (binascii.Error, ValueError):
        return None


def _base32(run: str) -> str | None:
    digits = run.rstrip("=")
    try:
        return readable(base64.b32decode(digits + "=" * (-len(digits) % 8)))
    except (binascii.Error, ValueError):
        return None


def _hex(run: str) -> str | None:
    digits = re.sub(r"0x|\\x|[ :,\-]", "", run)
    return readable(bytes.fromhex(digits)) if len(digits) % 2 == 0 else None


def _binary(run: str) -> str | None:
    digits = re.sub(r"[ ,]", "", run)
    groups = re.findall(r"[01]{8}", digits) if len(digits) % 8 == 0 else re.findall(r"[01]{7}", digits)
    return readable(bytes(int(group, 2) for group in groups))


def _codes(run: str) -> str | None:
    numbers = [int(number) for number in re.findall(r"[0-9]+", run)]
    return readable(bytes(numbers)) if all(32 <= number < 127 for number in numbers) else None


_MORSE_SIGNS = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.."
)
_MORSE_LETTERS = dict(zip(_MORSE_SIGNS.split(" "), "abcdefghijklmnopqrstuvwxyz", strict=True))


def _morse(run: str) -> str | None:
    words = re.split(r"\s*[/|]\s*| {2,}", run.translate(str.maketrans("\u00b7\u2013", ".-")).strip())
    return " ".join("".join(_MORSE_LETTERS.get(sign, "?") for sign in word.split()) for word in words)


def _percent(run: str) -> str | None:
    return unquote(run.replace("+", " "), errors="replace")


# What a text must hold before it is worth looking for the encoding: each begins with a class that is rare in prose.
_PAIRS = re.compile(r"[0-9A-Fa-f]{2}[ :,\-]?(?:0x|\\x)?(?:[0-9A-Fa-f]{2}[ :,\-]?(?:0x|\\x)?){4}")
_DIGITS = re.compile(r"[0-9]{2,3}[ ,;]{1,2}[0-9]{2,3}[ ,;]{1,2}[0-9]")
_SEVEN_BITS = re.compile(r"[01]{7}")
_SIGNS = re.compile(r"[.\-\u00b7\u2013][ /|]{1,3}[.\-\u00b7\u2013]{1,6}[ /|]")
_LONG_TOKEN = re.compile(r"\S{12,}")
_EDGES = ".,;:!?\"'()[]{}<>"


def _is_no_plain_word(token: str) -> bool:
    word = token.strip(_EDGES)
    return not (word.isalpha() and (word.islower() or word.istitle()))


def _has_long_token(text: str) -> bool:
    return any(map(_is_no_plain_word, _LONG_TOKEN.findall(text)))


_DECODERS: tuple[tuple[str, Callable[[str], object], re.Pattern[str], Callable[[str], str | None]], ...] = (
    ("hex", _PAIRS.search, _HEX, _hex),
    ("binary", _SEVEN_BITS.search, _BINARY, _binary),
    ("codes", _DIGITS.search, _CODES, _codes),
    ("base32", _has_long_token, _BASE32, _base32),
    ("base64", _has_long_token, _BASE64, _base64),
    ("percent", lambda text: "%" in text, _PERCENT, _percent),
    ("morse", _SIGNS.search, _MORSE, _morse),
)


def _found(text: str, pattern: re.Pattern[str], decoder: Callable[[str], str | None]) -> Iterator[Edit]:
    for match in pattern.finditer(text):
        plain = decoder(match[0][:_LONGEST])
        if plain is not None and plain != match[0]:
            yield match.start(), match.end(), plain[: len(match[0])]


def decoded(base: View) -> Iterator[View]:
    """One view for each encoding that occurs, the payload put in its place."""
    text = base.text
    for name, is_likely, pattern, decoder in _DECODERS:
        edits = list(_found(text, pattern, decoder)) if is_likely(text) else None
        if edits:
            yield excerpt(base, name, edits)
    if "\\" in text:
        escapes = [(m.start(), m.end(), _character(m)) for m in _ESCAPE.finditer(text)]
        if escapes:
            yield excerpt(base, "escapes", escapes)


def _character(match: re.Match[str]) -> str:
    code = int(next(group for group in match.groups() if group), 16)
    return chr(code) if code < 0x110000 else ""


def tags(raw: View) -> View | None:
    """ASCII that was smuggled in as tag characters or as variation selectors."""
    edits = [(m.start(), m.end(), " " + "".join(chr(ord(c) - 0xE0000) for c in m[0])) for m in _TAGS.finditer(raw.text)]
    if edits:
        return excerpt(raw, "tags", edits)
    edits = [(m.start(), m.end(), _selected(m[0])) for m in _SELECTORS.finditer(raw.text)]
    return excerpt(raw, "tags", edits) if edits else None


def _selected(run: str) -> str:
    data = bytes(ord(c) - 0xFE00 if c <= "\ufe0f" else ord(c) - 0xE0100 + 16 for c in run)
    return data.decode("utf-8", "replace")


_LETTERS = re.compile(r"[^\W\d_]+")
_NEEDED = 2
_CLOSE = 8
_AROUND = 300


@cache
def _alphabet(by: int) -> dict[int, int]:
    return str.maketrans(
        ascii_lowercase + ascii_uppercase,
        ascii_lowercase[by:] + ascii_lowercase[:by] + ascii_uppercase[by:] + ascii_uppercase[:by],
    )


def _shifted(text: str, by: int) -> str:
    return text.translate(_alphabet(by))


@cache
def _clues() -> dict[str, tuple[int, ...]]:
    """Ciphered form of a known word -> how to undo it (1-25 shifts, 0 backwards); real words are no clue."""
    known = known_words().known
    clues: dict[str, tuple[int, ...]] = {}
    for word in known:
        if len(word) < 3 or not word.isascii():
            continue
        for how in range(26):
            hidden = _shifted(word, 26 - how) if how else word[::-1]
            if hidden not in known:
                clues[hidden] = (*clues.get(hidden, ()), how)
    return clues


@cache
def clue_words() -> frozenset[str]:
    """Every ciphered form; a text without any of them was not ciphered."""
    return frozenset(_clues())


def deciphered(base: View) -> list[View]:
    """The readings in which at least two known words appear that the text as it stands does not have."""
    text = base.text
    clues = _clues()
    runs = letter_runs(text)
    tally = Counter(how for word in clues.keys() & set(runs) for how in clues[word])
    likely = [how for how, count in tally.most_common() if count >= _NEEDED]
    if len(text) > LONG:
        near = _close(runs, likely)
        passages = _passages(text, near) if near else {}
        return [view for how, spans in passages.items() for view in _readings(base, how, spans)]
    return [view for how in likely[:2] for view in _readings(base, how, [(0, len(text))])]


def _close(runs: Sequence[str], likely: list[int]) -> dict[int, list[int]]:
    """Which words of a long text are clues to one cipher close to another such clue; far apart they are chance."""
    clues, wanted = _clues(), frozenset(likely)
    before: dict[int, int] = {}
    found: dict[int, list[int]] = {}
    for index in [index for index, word in enumerate(runs) if word in clues]:
        for how in wanted.intersection(clues[runs[index]]):
            earlier = before.get(how)
            if earlier is not None and index - earlier <= _CLOSE and runs[earlier] != runs[index]:
                found.setdefault(how, []).append(index)
            before[how] = index
    return found


def _passages(text: str, near: dict[int, list[int]]) -> dict[int, list[tuple[int, int]]]:
    """The surroundings of those words."""
    places = [match.start() for match in _LETTERS.finditer(text.lower())]
    found: dict[int, list[tuple[int, int]]] = {}
    for how, indices in near.items():
        spans = found.setdefault(how, [])
        for index in indices:
            _widen(spans, max(0, places[index] - _AROUND), min(len(text), places[index] + _AROUND))
    return found


def _widen(spans: list[tuple[int, int]], start: int, end: int) -> None:
    if spans and start <= spans[-1][1]:
        spans[-1] = spans[-1][0], max(end, spans[-1][1])
    else:
        spans.append((start, end))


def _readings(base: View, how: int, spans: list[tuple[int, int]]) -> list[View]:
    text = base.text
    if how:
        name = "rot13" if how == 13 else "shifted"
        if spans == [(0, len(text))]:
            # One letter for one: positions stay, so no edit needs to be remembered.
            return [View(name, _shifted(text, how), base)]
        return [_only(base, name, [(start, end, _shifted(text[start:end], how)) for start, end in spans])]
    mirrored = [(m.start(), m.end(), m[0][::-1]) for span in spans for m in _LETTERS.finditer(text, *span)]
    return [
        _only(base, "reversed", [(start, end, text[start:end][::-1]) for start, end in spans]),
        excerpt(base, "mirrored", mirrored),
    ]


def _only(base: View, name: str, edits: list[Edit]) -> View:
    """The deciphered passages and nothing else, each on a line of its own."""
    kept: list[Edit] = []
    done = 0
    for edit in edits:
        if edit[0] > done:
            kept.append((done, edit[0], "\n"))
        kept.append(edit)
        done = edit[1]
    if done < len(base.text):
        kept.append((done, len(base.text), ""))
    return rewrite(base, name, kept)


_RUN = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")


def decoded_runs(text: str, most: int | None = None) -> Iterator[str]:
    """What base64 and hexadecimal runs hold; unlike in the views, a bare account number counts as content here."""
    for run in islice(filter(_is_no_word, _RUN.findall(text)), most):
        for decode in (bytes.fromhex, _value_base64):
            try:
                plain = decode(run.rstrip("=")).decode("ascii")
            except ValueError:
                continue
            if plain.isprintable():
                yield plain


def _is_no_word(run: str) -> bool:
    """Long words are not worth a try, and must not use up those that are."""
    return not (run.isalpha() and (run.islower() or run.istitle() or run.isupper()))


def _value_base64(run: str) -> bytes:
    return base64.b64decode(run.replace("-", "+").replace("_", "/") + "=" * (-len(run) % 4), validate=True)
