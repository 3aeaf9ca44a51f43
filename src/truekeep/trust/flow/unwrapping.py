"""Undo what a value may be wrapped in on its way out: encodings within encodings, packed, mirrored, in codes.

A text is taken out of one wrapping after the other, a few layers deep. How many texts come of it and how long they are
together is bounded, so that nothing expands. What would not fit makes the whole incomplete, and what cannot be undone
is a run that nobody can read: neither may be sent unasked.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from urllib.parse import unquote

from truekeep.text.decode import decoded
from truekeep.text.view import View

_DEEPEST = 3  # each layer costs as much as the one before; what is wrapped deeper cannot be read and is asked about
_MOST_TEXTS, _MOST_CHARACTERS = 40, 6_000
"""Of all that comes out of one text."""
_MOST_PACKED = 2_000
"""Characters that a packed run unpacks to at most."""
_LEAST = 4
_SPACE, _DELETE = 32, 127
_RUN = re.compile(r"[A-Za-z0-9+/_-]{6,4000}={0,2}")
_ASCII_RUN = re.compile(r"[!-~]{5,400}")
_CODED = re.compile(r"(?<![0-9])[0-9]{2,3}(?:([-._/ ,;:])[0-9]{2,3})(?:\1[0-9]{2,3}){2,200}(?![0-9])")
_SPACED_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{2}(?:([-._/ :])[0-9a-f]{2}){3,200}(?![0-9A-Za-z])", re.IGNORECASE)
_SINGLE = re.compile(r"(?<!\w)\w(?:[-._ /,:]\w){3,100}(?!\w)")
_SPELT_OUT = re.compile(r"(?<=\w)[-_ ]?[-_ (\[{]\s?(at|dot)\s?[-_ )\]}][-_ ]?(?=\w)", re.IGNORECASE)
"""Addresses as people write them who do not want to be found: "eva (at) clinic (dot) example"."""
_PIECES = re.compile(r"[A-Za-z0-9]+")
_HUMPS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CHANGES = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_OPAQUE_LENGTH, _OPAQUE_PIECES, _OPAQUE_DIGITS, _LONGEST_WORD = 16, 12, 20, 24
_WORDY = 3
"""Letters of a word within a name that programs give ("getUserName"); runs of letters without sense are shorter."""


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """What came out of a text, and whether that is all of it."""

    texts: tuple[str, ...]
    is_all: bool
    """Whether everything that could be undone was; else the text may say more than is known."""


@lru_cache(maxsize=256)
def unwrapped(text: str) -> Unwrapped:
    """What a text says under its wrappings, each way it can be read; not the text itself."""
    found: dict[str, None] = {text: None}
    layer, room, is_all = [text], _MOST_CHARACTERS, True
    for _ in range(_DEEPEST):
        deeper: list[str] = []
        for other in (other for one in layer for other in _undone(one)):
            if other in found or len(other.strip()) < _LEAST:
                continue
            if len(found) > _MOST_TEXTS or len(other) > room:
                is_all = False
                continue
            room -= len(other)
            found[other] = None
            deeper.append(other)
        layer = deeper
    return Unwrapped(tuple(islice(found, 1, None)), is_all)


def _undone(text: str) -> Iterator[str]:
    """One layer less, in each way in which a text can be wrapped; all that one way undoes is one text."""
    words = text.split()
    if marked := [word for word in words if "%" in word]:
        yield unquote(" ".join(marked).replace("+", " "), errors="replace")
    if marked := [word for word in words if "&" in word]:
        yield html.unescape(" ".join(marked))
    if _SPELT_OUT.search(text):
        yield _SPELT_OUT.sub(lambda match: "@" if match[1].lower() == "at" else ".", text)
    runs = [run for run in _RUN.findall(text) if not _is_word(run)]
    for way in _OF_RUNS:
        yield "\n".join(filter(None, (_readable(way, run) for run in runs)))
        yield "\n".join(filter(None, (_readable(way, run[::-1]) for run in runs)))
    odd = [run for run in _ASCII_RUN.findall(text) if not (_is_word(run) or run.isalnum())]
    for way in (base64.b85decode, base64.a85decode):
        yield "\n".join(filter(None, (_readable(way, run) for run in odd)))
    yield "\n".join(map(_of_codes, (match[0] for match in _CODED.finditer(text))))
    yield "\n".join("".join(filter(str.isalnum, match[0])) for match in _SINGLE.finditer(text))
    spaced = ("".join(_PIECES.findall(match[0])) for match in _SPACED_HEX.finditer(text))
    yield "\n".join(filter(None, (_readable(bytes.fromhex, run) for run in spaced)))
    if len(text) <= _MOST_CHARACTERS:
        yield from (view.text for view in decoded(View("raw", text)))


def _of_codes(run: str) -> str:
    return "".join(chr(code) for code in map(int, re.findall(r"[0-9]+", run)) if _SPACE <= code < _DELETE)


def _is_word(run: str) -> bool:
    letters = run.strip(".,;:!?\"'()[]{}<>-_/")
    return letters.isalpha() and (letters.islower() or letters.istitle() or (letters.isupper() and len(letters) < 16))


def _base64(run: str) -> bytes:
    digits = run.rstrip("=").replace("-", "+").replace("_", "/")
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)


def _base32(run: str) -> bytes:
    digits = run.rstrip("=").upper()
    return base64.b32decode(digits + "=" * (-len(digits) % 8))


def _hexadecimal(run: str) -> bytes:
    return bytes.fromhex(run.removeprefix("0x"))


_OF_RUNS: tuple[Callable[[str], bytes], ...] = (_base64, _hexadecimal, _base32)


def _readable(decode: Callable[[str], bytes], run: str) -> str:
    """A run decoded and, where it was packed, unpacked; nothing where no text comes out."""
    try:
        data = decode(run)
    except (binascii.Error, ValueError):
        return ""
    for packed in (data, _unpacked(data)):
        try:
            text = packed.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if len(text) >= _LEAST and text.isprintable():
            return text
    return ""


def _unpacked(data: bytes) -> bytes:
    for way in (47, -15):  # with either header, or with none
        try:
            return zlib.decompressobj(way).decompress(data, _MOST_PACKED)
        except zlib.error:
            continue
    return b""


def shifted(text: str) -> str:
    """The text with its letters moved by half the alphabet, which undoes itself."""
    return codecs.encode(text, "rot13")


def opaque_runs(text: str) -> Iterator[tuple[int, int]]:
    """Where a text has runs that nobody can read: long, of letters and figures mixed, and made of no words."""
    for match in _RUN.finditer(text):
        if len(match[0]) >= _OPAQUE_LENGTH and is_opaque(match[0]):
            yield match.span()


def is_opaque(run: str) -> bool:
    """Whether a run of characters could hold anything: no slug, date, path or name that a program gives."""
    return _unreadable(run) >= _OPAQUE_PIECES


def is_opaque_together(parts: Iterable[str]) -> bool:
    """The same for the parts of a link; a short name of a film or an article is in many, two of them in few."""
    unread = [_unreadable(part) for part in parts]
    return max(unread, default=0) >= _OPAQUE_PIECES or sum(unread) >= 2 * _OPAQUE_PIECES


def _unreadable(run: str) -> int:
    """How many characters of a run are in pieces that are neither words nor numbers."""
    pieces = _PIECES.findall(run)
    return sum(len(one) for one in pieces if not _is_plain(one) or (one.isdigit() and len(one) >= _OPAQUE_DIGITS))


def _is_plain(piece: str) -> bool:
    if piece.isdigit():
        return True
    if piece.isalpha():
        humps = _HUMPS.findall(piece)
        return len(max(humps, key=len)) <= _LONGEST_WORD and len(piece) >= _WORDY * len(humps)
    # "covid19" and "2nd" change once between letters and figures.
    return len(_CHANGES.findall(piece)) <= 1
