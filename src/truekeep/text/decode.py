"""Decode payloads one level deep: base64, base32, hex, binary, code points, percent, escapes and tags."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from truekeep.text.view import Edit, View, excerpt

_LONGEST = 12_000
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
_EDGES = ".,;:!?\"'()[]{}<>"


def _is_no_plain_word(token: str) -> bool:
    word = token.strip(_EDGES)
    return not (word.isalpha() and (word.islower() or word.istitle()))


def _has_long_token(text: str) -> bool:
    return any(len(token) >= 12 and _is_no_plain_word(token) for token in text.split())


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
