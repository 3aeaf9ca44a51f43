"""Members of an answer, read with their types: what is not of its type is not the service's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from truekeep.errors import AnswerRefused
from truekeep.types import utc_moment

T = TypeVar("T")


class Members:
    """The members of one JSON object."""

    __slots__ = ("_held",)

    def __init__(self, held: object) -> None:
        if not isinstance(held, Mapping):
            raise malformed()
        self._held = held

    def text(self, name: str) -> str:
        """A string."""
        return self._of(name, str)

    def maybe_text(self, name: str) -> str | None:
        """A string, or nothing."""
        return None if self._held.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        """True or false."""
        return self._of(name, bool)

    def whole(self, name: str) -> int:
        """A whole number."""
        value = self._held.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise malformed()
        return value

    def number(self, name: str) -> float:
        """A number."""
        return as_number(self._held.get(name))

    def maybe_number(self, name: str) -> float | None:
        """A number, or nothing."""
        return None if self._held.get(name) is None else self.number(name)

    def counts(self, name: str) -> dict[str, int]:
        """How many of each."""
        held = Members(self.mapping(name))
        return {key: held.whole(key) for key in held.everything()}

    def moment(self, name: str) -> datetime:
        """A moment with its time zone."""
        try:
            moment = utc_moment(self.text(name))
        except ValueError:
            raise malformed() from None
        if moment.tzinfo is None:
            raise malformed()
        return moment

    def maybe_moment(self, name: str) -> datetime | None:
        """A moment, or nothing."""
        return None if self._held.get(name) is None else self.moment(name)

    def mapping(self, name: str) -> dict[str, Any]:
        """An object as it is."""
        return dict(self._of(name, dict))

    def everything(self) -> dict[str, Any]:
        """All of them as they are."""
        return dict(self._held)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        return self.each(name, as_text)

    def each(self, name: str, read: Callable[[Any], T]) -> tuple[T, ...]:
        """A list, each entry read."""
        return tuple(read(entry) for entry in self._of(name, list))

    def one_of(self, name: str, known: Mapping[str, T]) -> T:
        """One of a few words."""
        word = self.text(name)
        if word not in known:
            raise malformed()
        return known[word]

    def _of(self, name: str, kind: type[T]) -> T:
        value = self._held.get(name)
        if not isinstance(value, kind):
            raise malformed()
        return value


def as_text(value: object) -> str:
    """A string."""
    if not isinstance(value, str):
        raise malformed()
    return value


def as_number(value: object) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        raise malformed()
    return float(value)


def as_texts(value: object) -> tuple[str, ...]:
    """A list of strings."""
    return tuple(as_text(entry) for entry in as_list(value))


def as_list(value: object, length: int | None = None) -> Iterable[Any]:
    """A list, perhaps of a known length."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise malformed()
    return value


def malformed() -> AnswerRefused:
    """The answer is JSON, but not what the service says."""
    return AnswerRefused(
        "The answer has not the form that the service gives it.",
        code="malformed_answer",
        hint="Check that the service and the client are of the same version.",
    )
