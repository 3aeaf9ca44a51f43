"""Language that someone took pains to disguise: encoded, ciphered, written backwards or in look-alike letters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from truekeep.screens.base import Screened
from truekeep.text import View
from truekeep.text.fold import strip_marks
from truekeep.text.lexicon import words
from truekeep.types import Finding, Severity, Threat

SCREEN = "disguise"
_WORD = re.compile(r"[^\W\d_]{2,}")
_ASCII_WORD = re.compile(r"[a-z]{2,}")
# Nobody notes down facts in these; four known words in a row of letters are no coincidence.
_ENCODED = frozenset({"base64", "base32", "hex", "binary", "codes", "morse", "rot13", "shifted", "reversed", "tags"})
_RESPELLED = frozenset({"leet", "folded", "parted", "mirrored", "escapes", "percent", "joined"})
_LONGEST = 70_000
_KNOWN_NEEDED = 3
_TELLING_NEEDED = 2
_TELLING_NEEDED_JOINED = 3


def _revealed(raw: View, view: View) -> set[str]:
    """Known words that only this reading shows."""
    shown = words().known.intersection(_words_of(view.text))
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


# Single letters with something between each two: nobody writes a whole sentence so.
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:[\s._\-*~|/,:;+=]{1,3}[^\W\d_](?![^\W_])){19,}")


def _is_disguise(raw: View, view: View) -> bool:
    if view.name in _ENCODED:
        return len([word for word in _revealed(raw, view) if len(word) >= 3]) >= _KNOWN_NEEDED
    if view.name not in _RESPELLED or (view.name == "joined" and "_" in raw.text):
        return False
    needed = _TELLING_NEEDED_JOINED if view.name in {"joined", "percent"} else _TELLING_NEEDED
    return len(_revealed(raw, view) & words().telling) >= needed


def disguised_text(screened: Screened) -> list[Finding]:
    """One finding for each field that hides language which its raw text does not show."""
    findings = []
    for field in screened.fields:
        raw, *others = screened.views(field)
        hiding = next((view.name for view in others if _is_disguise(raw, view)), None)
        if hiding is None and _SPACED.search(raw.text):
            hiding = "spaced"
        if hiding is not None:
            findings.append(_finding(raw, hiding, field))
    return findings


def _finding(raw: View, hiding: str, field: str) -> Finding:
    reason = f"hides words by its spelling ({hiding})"
    return Finding(
        "disguised_text", Threat.HIDDEN_TEXT, Severity.HIGH, (0, len(raw.text)), field, SCREEN, reason=reason
    )
