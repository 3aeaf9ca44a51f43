"""Days, times of day and numbers in other units: what a call may write otherwise than the owner said it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from truekeep.trust.flow.evidence import ValueOrigin
from truekeep.trust.flow.reading import read, stem
from truekeep.trust.flow.requests import PROVING, OwnerSaid
from truekeep.trust.flow.roles import ArgumentLeaf, words_of
from truekeep.trust.flow.scope import RequestScope, proves
from truekeep.trust.flow.tools import name_words

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})?[T ]?(\d{2}:\d{2})?(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?")
_SMALL_NUMBER = re.compile(r"(?<![\d.])\d{1,2}(?![\d])")
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


def prove_moment(scope: RequestScope, leaf: ArgumentLeaf, day: str | None, clock: str | None) -> ValueOrigin | None:
    """A day and a time of day: each said, or the day today, or the time later on a day that is proved."""
    origin = _day(scope, leaf, day) if day else ValueOrigin.REQUEST
    if origin is None:
        return None
    if clock and clock != "00:00" and not _clock(scope, clock):
        remembered = scope.remembered(read(clock), leaf.key)
        if not remembered and day not in scope.days:
            return None
    if day:
        scope.days.add(day)
    return origin


def _day(scope: RequestScope, leaf: ArgumentLeaf, day: str) -> ValueOrigin | None:
    if day == scope.evidence.now.date().isoformat():
        return ValueOrigin.COMPOSED
    for message in scope.messages:
        days = [v for v in message.reading.values if v.kind == "date" and _dates(scope, message, v.start)]
        if any(v.form == day for v in days):
            return ValueOrigin.REQUEST
        if any(v.form[:7] == day[:7] for v in days) and str(int(day[8:])) in _digits(message):
            return ValueOrigin.REQUEST
    return ValueOrigin.MEMORY if scope.remembered(read(day), leaf.key) else None


def _clock(scope: RequestScope, clock: str) -> bool:
    hour, minute = int(clock[:2]), clock[3:]
    hours = {str(hour), str(hour - HALF_DAY)} if minute == "00" else set()
    for message in scope.messages:
        for value in message.reading.values:
            if value.kind == "time" and value.form == clock and _dates(scope, message, value.start):
                return True
            if value.kind == "num" and value.form in hours and _dates(scope, message, value.start):
                return True
        if hours & _digits(message) or (clock == "12:00" and message.reading.stems & _noon()):
            return True
    return False


def _noon() -> frozenset[str]:
    return frozenset(map(stem, words_of("noon")))


def _dates(scope: RequestScope, message: OwnerSaid, place: int) -> bool:
    """Whether a time at a place counts; one that an earlier message dictated is still the owner's."""
    return message.sort_at(place) in PROVING if message is not scope.own else proves(message, place)


def _digits(message: OwnerSaid) -> frozenset[str]:
    """Small numbers in the plain clauses of a message, however they are joined: "4-11 january"."""
    return frozenset(
        str(int(match[0])) for match in _SMALL_NUMBER.finditer(message.reading.flat) if proves(message, match.start())
    )


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
