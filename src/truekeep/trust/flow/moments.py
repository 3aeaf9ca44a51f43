"""Days, times of day and numbers in other units: what a call may write otherwise than the owner said it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from truekeep.trust.flow.forms import name_words

if TYPE_CHECKING:
    from truekeep.trust.flow.roles import ArgumentLeaf

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})?[T ]?(\d{2}:\d{2})?(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?")
_FACTORS = {
    "minutes": (60.0,), "min": (60.0,), "seconds": (60.0, 3600.0), "sec": (60.0, 3600.0), "cents": (100.0,),
    "minor": (100.0,), "kg": (0.4536,), "km": (1.609,), "cm": (2.54,), "meters": (0.3048,), "ttl": (3600.0, 60.0),
}  # fmt: skip
"""By a word of an argument's name: how much more its number is than the owner's, who thinks in another unit."""
HALF_DAY = 12


def moment_of(text: str) -> tuple[str | None, str | None]:
    """The day and the time of an ISO spelling; neither if it is none."""
    match = _MOMENT.fullmatch(text.strip())
    return (match[1], match[2]) if match else (None, None)


def is_moment(text: str) -> bool:
    """Whether a text is a day, a time or both, in ISO spelling."""
    return moment_of(text) != (None, None)


def in_other_units(leaf: ArgumentLeaf) -> Iterator[str]:
    """A number as the owner may have said it in another unit; what was rounded on the way is rounded back."""
    if isinstance(leaf.value, (bool, str)) or leaf.value is None or not math.isfinite(leaf.value):
        return
    number, words = leaf.value, name_words(leaf.key)
    for word in words:
        for factor in _FACTORS.get(word, ()):
            yield f"{number / factor:g}"
            yield f"{round(number / factor)}"
    if "celsius" in words:
        yield f"{5 * round((number * 1.8 + 32) / 5)}"
        yield f"{round(number * 1.8 + 32)}"
