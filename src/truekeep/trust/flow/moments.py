"""Days, times of day and numbers in other units: what a call may write otherwise than the owner said it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from truekeep.trust.flow.forms import name_words
from truekeep.trust.flow.reading import TextReading, read_table

if TYPE_CHECKING:
    from truekeep.trust.flow.roles import ArgumentLeaf

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})?[T ]?(\d{2}:\d{2})?(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?")
_FACTORS = {
    "minutes": (60.0,), "min": (60.0,), "seconds": (60.0, 3600.0), "sec": (60.0, 3600.0), "cents": (100.0,),
    "minor": (100.0,), "kg": (0.4536,), "km": (1.609,), "cm": (2.54,), "meters": (0.3048,), "ttl": (3600.0, 60.0),
}  # fmt: skip
"""By a word of an argument's name: how much more its number is than the owner's, who thinks in another unit."""
HALF_DAY = 12
_HOURS, _MINUTES, _APART = 24, 60, 3
"""Of a day, of an hour, and words between an hour and its part: "ten minutes to nine"."""
_WITH_H = re.compile(r"(\d{1,2})h(\d{2})")


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


@lru_cache(maxsize=256)
def spoken_times(reading: TextReading) -> Mapping[str, int]:
    """The times of day that are said in words, by the clock of twelve and of twenty-four hours, each with its place.

    An hour stands beside a part of one or a number of minutes, and what stands between them says which side of it is
    meant: "half past seven", "halb acht", "las ocho y cuarto", "ten to nine".
    """
    table = {name: frozenset(words.split()) for name, words in read_table("act", "roles.toml")["clock_words"].items()}
    parts = {"half": 30, "half_before": -30, "quarter": 15}
    row = [(place, parts[name]) for word, place, _ in reading.spans for name in parts if word in table[name]]
    numbers = {v.start: int(v.form) for v in reading.values if v.kind == "num" and v.form.isdigit()}
    found = {(int(match[1]), int(match[2]), match.start()) for match in _WITH_H.finditer(reading.flat)}
    row += [(place, number) for place, number in numbers.items() if number < _MINUTES]
    for (first, one), (second, other) in pairwise(sorted(row)):
        between = {word for word, place, _ in reading.between(first, second) if place > first}
        if len(between) > _APART or (not between and {first, second} <= numbers.keys()):
            continue
        side = -1 if between & table["before"] else 1
        pairs = ((other, one, second), (one, other, first))
        found |= {(hour, side * part, at) for hour, part, at in pairs if at in numbers}
    return {
        f"{at // _MINUTES:02d}:{at % _MINUTES:02d}": place
        for hour, part, place in found
        for half in ((0, HALF_DAY) if hour <= HALF_DAY else (0,))
        if (at := ((hour + half) % _HOURS * _MINUTES + part) % (_HOURS * _MINUTES)) >= 0
    }
