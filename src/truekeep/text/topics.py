"""Topics: which words of what somebody wants forgotten or corrected tell what it is about, and which mean the same.

Compared are words and not meanings: a table per language (``data/languages/XX/forget.toml``) lists the words that tell
nothing, and small groups of words that name the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from truekeep.text.language import language, language_table, names
from truekeep.text.words import words

TABLE = "forget"
HAN = re.compile("[\u3400-\u9fff]")
_DIGITS = re.compile(r"\d+")
_BENDING = frozenset({"sk", "cs", "pl"})
"""Languages whose names of days have cases."""
_LEAST_STEM = 3
_COMPOUND = 5
"""Letters of a word that may stand at the end of a longer one."""


@cache
def is_unspaced(name: str) -> bool:
    """Whether a language is written without spaces."""
    return not language_table(name, TABLE).get("spaced", True)


def telling(text: str, name: str) -> list[str]:
    """The words of a topic that tell what it is about, each once."""
    if HAN.search(text):
        kept = [phrase for phrase, _ in phrases(name) if HAN.search(phrase) and phrase in text]
        for vague in _vague_signs(name):
            text = text.replace(vague, " ")
        return list(dict.fromkeys((*kept, *words(text))))
    vague_words = _vague(name)
    return list(dict.fromkeys(word for word in words(text) if word not in vague_words or word in groups(name)))


@cache
def _vague(name: str) -> frozenset[str]:
    table = language_table(name, TABLE)
    return frozenset(words(" ".join((*table.get("vague", ()), *table.get("polite", ())))))


@cache
def _vague_signs(name: str) -> tuple[str, ...]:
    return tuple(sorted(language_table(name, TABLE).get("vague", ()), key=len, reverse=True))


def are_forms(one: str, other: str, name: str) -> bool:
    """Whether two words look like forms of one: by their endings, a long beginning, or as the end of a compound."""
    if one == other:
        return True
    if HAN.search(one) or _DIGITS.search(one + other):
        return False
    shared = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    shared = min(len(one), len(other)) if shared is None else shared
    longest = max(len(one), len(other))
    if shared >= _LEAST_STEM and _endings(name).issuperset((one[shared:], other[shared:])):
        return True
    short, long = sorted((one, other), key=len)
    if len(short) >= _COMPOUND and (
        long.endswith(short) or (long.startswith("ne") and are_forms(short, long[2:], name))
    ):
        return True
    return (shared == 4 and longest <= 6) or (shared > 4 and (longest - shared <= 3 or shared >= 0.6 * longest))


@cache
def _endings(name: str) -> frozenset[str]:
    """What words of a language end in, as far as it only bends them."""
    return frozenset(("", *words(" ".join(language_table(name, TABLE).get("endings", ())))))


def is_value(word: str) -> bool:
    """Whether a word is a number, or a day or a month."""
    return bool(_DIGITS.search(word)) or day_of(word) is not None


def day_of(word: str) -> str | None:
    """The number of a day of the week or a month, also of several ("Wednesdays")."""
    known = _day_names()
    return (
        known.get(word) or known.get(word.removesuffix("s")) or known.get(f"{word[:-1]}-") or known.get(f"{word[:-2]}-")
    )


@cache
def _day_names() -> dict[str, str]:
    """Days of the week and months, as they are called in any language, and their numbers."""
    found: dict[str, str] = {}
    for name in names():
        tables = language(name)
        for spelling, number in tables.weekdays.items():
            found.update(dict.fromkeys(words(spelling), f"d{number}"))
            if name in _BENDING:
                found.update({f"{word[:-1]}-": f"d{number}" for word in words(spelling) if len(word) > 4})
        for spelling, number in tables.months.items():
            found.setdefault("".join(words(spelling)[:1]), f"m{number}")
    found.pop("", None)
    return found


@cache
def groups(name: str) -> dict[str, frozenset[str]]:
    """The groups of each word of a language that means the same as others."""
    made: dict[str, set[str]] = {}
    for group, spelling in _same(name):
        found = words(spelling)
        if len(found) == 1:
            made.setdefault(found[0], set()).add(group)
    return {word: frozenset(found) for word, found in made.items()}


def groups_of(token: str, name: str) -> frozenset[str]:
    """The groups of a word or a phrase."""
    return groups(name).get(token) or frozenset(group for phrase, group in phrases(name) if phrase == token)


@cache
def phrases(name: str) -> tuple[tuple[str, str], ...]:
    """Phrases of several words, or of signs without spaces, and their group."""
    found = ((f" {' '.join(words(spelling))} ", group) for group, spelling in _same(name) if len(words(spelling)) > 1)
    han = ((spelling, group) for group, spelling in _same(name) if HAN.search(spelling))
    return (*found, *han)


def _same(name: str) -> Iterable[tuple[str, str]]:
    for group, spellings in language_table(name, TABLE).get("same", {}).items():
        yield from ((group, spelling) for spelling in spellings)
