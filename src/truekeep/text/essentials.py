"""Essentials: what in a text a prompt must not miss, told by a few phrases of each language.

Nothing is decided by it. It puts standing wishes first in a snapshot, and proposes to the owner what to pin.
"""

from __future__ import annotations

import re
from functools import cache

from truekeep.text.fold import bare
from truekeep.text.language import language_table, languages_with

TABLE = "essentials"
WISH = "wish"
KINDS = ("allergy", "address", "name", "language", WISH)
"""What there is not to be missed; where a text says several, the first of these."""
STANDING_WISHES = frozenset({WISH, "address", "language"})
"""Those that ask for something to be done from now on."""
_WORD = re.compile("[\u3400-\u9fff]|[^\\W_]+(?:'[^\\W_]+)*")
_SHORTEST = 4
"""Letters that the beginning of a word has at least."""
Phrases = dict[str, tuple[tuple[int, tuple[str, ...]], ...]]
"""By its first word the kinds of a phrase, as their places in ``KINDS``, and the words that follow."""


def essential_in(text: str) -> str:
    """Which of the essentials a text seems to say; nothing for most texts."""
    words, (stems, phrases), best = _WORD.findall(bare(text)), _tables(), len(KINDS)
    for place, word in enumerate(words):
        for kind, (beginning,) in stems.get(word[:_SHORTEST], ()):
            if kind < best and word.startswith(beginning):
                best = kind
        for kind, rest in phrases.get(word, ()):
            if kind < best and tuple(words[place + 1 : place + 1 + len(rest)]) == rest:
                best = kind
    return KINDS[best] if best < len(KINDS) else ""


@cache
def _tables() -> tuple[Phrases, Phrases]:
    """Of all languages: how words begin, by their first letters, and phrases, by their first word."""
    stems: Phrases = {}
    phrases: Phrases = {}
    for name in languages_with(TABLE):
        for kind, listed in language_table(name, TABLE).items():
            for phrase in listed.split(" | "):
                first, *rest = _WORD.findall(phrase)
                table, key, then = phrases, first, tuple(rest)
                if phrase.endswith("*"):
                    table, key, then = stems, first[:_SHORTEST], (first,)
                table[key] = (*table.get(key, ()), (KINDS.index(kind), then))
    return stems, phrases
