"""The runs of letters of a text, lower case: what readings and screens look for words in."""

from __future__ import annotations

import re
from functools import lru_cache

_RUN = re.compile(r"[^\W\d_]+")
_ASCII_RUN = re.compile(r"[a-z]+")


@lru_cache(maxsize=4)
def letter_runs(text: str) -> tuple[str, ...]:
    """Every run of letters in order; the last few texts are kept, because several readings ask for the same one."""
    lower = text.lower()
    # A plain class is looked up in a table; the general one asks the character database.
    return tuple((_ASCII_RUN if lower.isascii() else _RUN).findall(lower))
