"""Text that is not meant to be seen: characters nobody sees, and language that someone took pains to disguise.

The latter is encoded, ciphered, written backwards or in look-alike letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from truekeep.screens.panel import Screened
from truekeep.text.fold import strip_marks
from truekeep.text.language import known_words
from truekeep.text.view import View
from truekeep.types import Finding, Severity, Threat

_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff"
)
_ALPHABETIC = "0-9A-Za-z\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff"
_ZERO_WIDTH = "\u200b-\u200d\u2060-\u2064\u206a-\u206f\ufeff\u180e\u034f\u115f\u1160\u3164\uffa0\u17b4\u17b5"
_ANY = re.compile(
    f"[{_ZERO_WIDTH}\u00ad\u202a-\u202e\u2066-\u2069\ufe00-\ufe0f\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"
)
# A flag is a black flag, a region in tag letters and the cancel tag (Unicode TS 51).
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,7}\U000e007f")
_TAG = re.compile("[\U000e0000-\U000e007f]+")
_ESCAPE = re.compile("\x1b|\x9b|\x90|\x9d")
_OVERRIDE = re.compile("[\u202d\u202e]")
_OPENS_RIGHT_TO_LEFT = re.compile("[\u202b\u2067]")
_RIGHT_TO_LEFT_LETTER = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_OPEN, _CLOSE = frozenset("\u202a\u202b\u2066\u2067\u2068"), frozenset("\u202c\u2069")
_INVISIBLE = re.compile(
    # between two letters of an alphabet that joins nothing; scripts that need joiners are not listed
    f"(?<=[{_ALPHABETIC}])[{_ZERO_WIDTH}]+(?=[{_ALPHABETIC}])"
    # a syllable break never leaves one letter alone between two of them
    "|(?<=[^\\W\\d_]\u00ad)[^\\W\\d_]\u00ad"
    # runs carry bits
    f"|[{_ZERO_WIDTH}]{{4,}}|[\ufe00-\ufe0f]{{2,}}"
    # selectors that choose nothing: not after a picture, a keycap or an ideograph
    "|(?<=[A-Za-z])[\ufe00-\ufe0f]|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
    "|[\U000e0100-\U000e01ef]{2,}"
    "|[\u3164\uffa0\u206a-\u206f\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]"
    "|[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x8f\x91-\x9a\x9c\x9e\x9f]"
)
_JOINERS = re.compile(f"[{_ZERO_WIDTH}]")
_HONEST_JOINER = re.compile(
    f"[{_PICTURE}\ufe0f\U0001f3fb-\U0001f3ff]\u200d(?=[{_PICTURE}])"
    "|(?<=[\u0590-\u0fff\u1000-\u109f\u1780-\u17ff\u0900-\u0dff])[\u200b-\u200d]"
    "|(?<=[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff])\u200b"
    "|\\A\ufeff"
)
_MOST_STRAY_JOINERS = 8
"""Some keyboards leave a few behind; a hidden message needs many."""

_REASONS = {
    "tag_characters": "tag characters spell text that nobody sees",
    "ansi_escape": "terminal escape sequences can hide or forge what a person reads",
    "direction_override": "direction controls make the text read differently from what is stored",
    "invisible_characters": "invisible characters stand inside words or carry data",
}
_WORD = re.compile(r"[^\W\d_]{2,}")
_ASCII_WORD = re.compile(r"[a-z]{2,}")
# Nobody notes down facts in these; four known words in a row of letters are no coincidence.
_ENCODED = frozenset({"base64", "base32", "hex", "binary", "codes", "morse", "rot13", "shifted", "reversed", "tags"})
_RESPELLED = frozenset({"leet", "folded", "parted", "mirrored", "escapes", "percent", "joined"})
_LONGEST = 70_000
"""Characters that are looked at: combining marks can make a text long that reads short."""
_KNOWN_NEEDED = 3
"""Words that decoding must bring to light; one or two come about by chance."""
_TELLING_NEEDED = 2
"""Words of an attack's vocabulary that must appear only in the view."""
_TELLING_NEEDED_JOINED = 3
"""Views that join letters bring words to light by chance more often."""
# Single letters with something between each two: nobody writes a whole sentence so.
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:[\s._\-*~|/,:;+=]{1,3}[^\W\d_](?![^\W_])){19,}")


def _direction(text: str) -> Iterator[tuple[int, int]]:
    for match in _OVERRIDE.finditer(text):
        yield match.span()
    if not _RIGHT_TO_LEFT_LETTER.search(text):
        for match in _OPENS_RIGHT_TO_LEFT.finditer(text):
            yield match.span()
    for start, line in _lines(text):
        depth = 0
        for offset, char in enumerate(line):
            depth += (char in _OPEN) - (char in _CLOSE)
            if depth < 0:
                yield start + offset, start + offset + 1
                break
        if depth > 0:
            yield start, start + len(line)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, line
        start += len(line)


def _invisible(text: str) -> Iterator[tuple[int, int]]:
    for match in _INVISIBLE.finditer(text):
        yield match.span()
    stray = len(_JOINERS.findall(text)) - len(_HONEST_JOINER.findall(text))
    if stray > _MOST_STRAY_JOINERS and stray * 20 > len(text):
        yield 0, len(text)


def _tags(text: str) -> Iterator[tuple[int, int]]:
    without_flags = _FLAG.sub(lambda match: " " * len(match[0]), text)
    return (match.span() for match in _TAG.finditer(without_flags))


def _escapes(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _ESCAPE.finditer(text))


_CHECKS = (
    ("tag_characters", _tags),
    ("ansi_escape", _escapes),
    ("direction_override", _direction),
    ("invisible_characters", _invisible),
)


def hidden_text(screened: Screened) -> list[Finding]:
    """One finding for each way of hiding text that a field uses, at its first place."""
    findings = []
    for name, text in screened.fields.items():
        if not _ANY.search(text):
            continue
        for rule_id, check in _CHECKS:
            span = next(iter(check(text)), None)
            if span is not None:
                findings.append(_finding(rule_id, span, name))
    return findings


def _finding(rule_id: str, span: tuple[int, int], field: str) -> Finding:
    return Finding(rule_id, Threat.HIDDEN_TEXT, Severity.HIGH, span, field, "hidden", reason=_REASONS[rule_id])


def _revealed(raw: View, view: View) -> set[str]:
    """Known words that only this reading shows."""
    shown = known_words().known.intersection(_words_of(view.text))
    return set(shown - _plain_words(raw.text)) if shown else set()


def _words_of(text: str) -> list[str]:
    lower = text.lower()
    return (_ASCII_WORD if lower.isascii() else _WORD).findall(lower)


@lru_cache(maxsize=4)
def _plain_words(text: str) -> frozenset[str]:
    """The words of the raw text; asked for once for each of its readings."""
    # An accent that belongs to its letter is spelling; a mark that composes with nothing splits the word.
    composed = text if text.isascii() else unicodedata.normalize("NFC", text[:_LONGEST])
    return frozenset(map(strip_marks, set(_words_of(composed))))


def _is_disguise(raw: View, view: View) -> bool:
    if view.name in _ENCODED:
        return len([word for word in _revealed(raw, view) if len(word) >= 3]) >= _KNOWN_NEEDED
    if view.name not in _RESPELLED or (view.name == "joined" and "_" in raw.text):
        return False
    needed = _TELLING_NEEDED_JOINED if view.name in {"joined", "percent"} else _TELLING_NEEDED
    return len(_revealed(raw, view) & known_words().telling) >= needed


def disguised_text(screened: Screened) -> list[Finding]:
    """One finding for each field that hides language which its raw text does not show."""
    findings = []
    for field in screened.fields:
        raw, *others = screened.views(field)
        hiding = next((view.name for view in others if _is_disguise(raw, view)), None)
        if hiding is None and _SPACED.search(raw.text):
            hiding = "spaced"
        if hiding is not None:
            findings.append(_disguised(raw, hiding, field))
    return findings


def _disguised(raw: View, hiding: str, field: str) -> Finding:
    reason = f"hides words by its spelling ({hiding})"
    return Finding(
        "disguised_text", Threat.HIDDEN_TEXT, Severity.HIGH, (0, len(raw.text)), field, "disguise", reason=reason
    )
