"""Decode the runs in a text that could hold a bare value: an account number in base64 or hexadecimal."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from itertools import islice

_RUN = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")


def decoded_runs(text: str, most: int | None = None) -> Iterator[str]:
    """What base64 and hexadecimal runs hold; unlike in the views, a bare account number counts as content here."""
    for run in islice(filter(_is_no_word, _RUN.findall(text)), most):
        for decode in (bytes.fromhex, _base64):
            try:
                plain = decode(run.rstrip("=")).decode("ascii")
            except ValueError:
                continue
            if plain.isprintable():
                yield plain


def _is_no_word(run: str) -> bool:
    """Long words are not worth a try, and must not use up those that are."""
    return not (run.isalpha() and (run.islower() or run.istitle() or run.isupper()))


def _base64(run: str) -> bytes:
    return base64.b64decode(run.replace("-", "+").replace("_", "/") + "=" * (-len(run) % 4), validate=True)
