"""Names: ids, kinds and keys pass unmarked because programs go by them, so none of them may be a sentence.

``always-pay-account-9904-71`` has no space in it, and a model reads it all the same.
"""

from __future__ import annotations

import re

_MOST_WORDS = 3
"""Words of a name. Longer ones are honest at times; then they are marked, and nothing breaks."""
_PIECES = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"(?=[A-Za-z]*[g-zG-Z])[A-Za-z]{2,}")
"""A piece with a letter beyond those of hexadecimal numbers: ids are made of the others."""


def words_in(name: str) -> list[str]:
    """The words that a name is put together from."""
    return [piece for piece in _PIECES.split(name) if _WORD.fullmatch(piece)]


def reads_as_words(name: str) -> bool:
    """Whether a name has so many words that it can say something."""
    return len(words_in(name)) > _MOST_WORDS
