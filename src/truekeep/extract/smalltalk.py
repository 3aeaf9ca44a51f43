"""Small talk: greetings, thanks, acknowledgements and commands without a name, value or date, which nobody looks for.

A sentence is small talk only if every word of it is in one language's table. What is in no table is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from truekeep.text.fold import bare
from truekeep.text.language import language_table, languages_with

_SENTENCE = re.compile("[^.!?;,\u2026\u3002\uff01\uff1f\uff0c\n]+")
_WORD = re.compile("[\u3400-\u9fff]|[^\\W_]+(?:'[^\\W_]+)*")
_SIZES = range(5, 0, -1)
"""Words of a phrase."""
_LONGEST = 200
"""Nobody greets for longer; the text of a longer message is not even looked at."""
Words = tuple[str, ...]


def is_small_talk(text: str) -> bool:
    """Whether nothing in a message is worth keeping."""
    if len(text) > _LONGEST:
        return False
    sentences = [words for part in _SENTENCE.findall(text) if (words := _words(part))]
    return any(all(table.has(words) for words in sentences) for table in _tables())


@dataclass(frozen=True, slots=True)
class _Table:
    said: frozenset[Words]
    polite: frozenset[Words]
    heads: frozenset[Words]
    objects: frozenset[Words]

    def has(self, words: Words) -> bool:
        return _is_made_of(words, (self.said,)) or (
            _is_made_of(words, (self.heads, self.polite, self.objects))
            and any(words[at : at + size] in self.heads for at in range(len(words)) for size in _SIZES)
        )


def _is_made_of(words: Words, known: Sequence[frozenset[Words]]) -> bool:
    """Whether there are only known phrases one after the other, the longest taken first."""
    while words:
        taken = next((size for size in _SIZES if any(words[:size] in phrases for phrases in known)), None)
        if taken is None:
            return False
        words = words[taken:]
    return True


@cache
def _tables() -> tuple[_Table, ...]:
    tables = (language_table(name, "smalltalk") for name in languages_with("smalltalk"))
    parts = ("said", "polite", "heads", "objects")
    return tuple(_Table(*(frozenset(map(_words, table[part].split("|"))) for part in parts)) for table in tables)


def _words(text: str) -> Words:
    return tuple(_WORD.findall(bare(text)))
