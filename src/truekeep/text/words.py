"""Cuts text into the terms that are indexed and searched for: folded, stemmed, hashed to 32 bits."""

from __future__ import annotations

import hashlib
import re
import tomllib
import unicodedata
import zlib
from functools import cache, lru_cache
from importlib import resources

from truekeep.search.stem import stem

_WORD = re.compile(r"[^\W_]+")
_NEGATED = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_CONTRACTIONS = {"m": "am", "re": "are", "ve": "have", "ll": "will"}
MAX_WORD = 64
"""Longer runs are cut: they are keys or noise, and their head tells them apart."""


@cache
def word_lists() -> dict[str, frozenset[str]]:
    """The lists of ``data/search/words.toml`` by name."""
    source = resources.files("truekeep") / "data" / "search" / "words.toml"
    lists = tomllib.loads(source.read_text(encoding="utf-8"))
    return {name: frozenset(members.split()) for name, members in lists.items()}


def words(text: str) -> list[str]:
    """The words of a text in order, folded: case, width, accents and apostrophes do not matter."""
    expanded = _NEGATED.sub(" not", text)
    if not expanded.isascii():
        expanded = _without_marks(expanded)
        expanded = _UNSPACED.sub(lambda run: " " + _pairs(run[0]) + " ", expanded)
    return [word[:MAX_WORD] for word in _WORD.findall(expanded.casefold())]


@lru_cache(maxsize=50_000)
def term(word: str) -> int:
    """The term of a folded word, or 0 for a stop word."""
    if word in word_lists()["stop"]:
        return 0
    return zlib.crc32(stem(word).encode("utf-8", "replace")) or 1


def terms(text: str) -> list[int]:
    """The terms of a text in order, stop words left out."""
    return [number for number in map(term, words(text)) if number]


def wording(found: list[str]) -> int:
    """A 64-bit fingerprint of what words say; equal for two texts that differ in nothing but form and fillers.

    Prepositions, pronouns and order count: "from her to him" and "from him to her" are not the same claim.
    """
    filler = word_lists()["filler"]
    kept = [stem(_CONTRACTIONS.get(word, word)) for word in found if word not in filler]
    digest = hashlib.blake2b(" ".join(kept).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def is_negation(word: str) -> bool:
    """Whether the word is indexed only to keep "I do" and "I do not" apart."""
    return word in word_lists()["negation"]


def _without_marks(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    # Hangul comes apart under NFKD and has to be put together again.
    return unicodedata.normalize("NFKC", bare)


def _pairs(run: str) -> str:
    """Scripts without spaces are indexed by overlapping pairs of letters."""
    return " ".join(run[place : place + 2] for place in range(max(1, len(run) - 1)))
