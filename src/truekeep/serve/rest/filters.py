"""Filters of a search: what a client asks for becomes a limit that is never relaxed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from pydantic import Field

from truekeep.config import PAGE_CAP
from truekeep.read.recall import Filters
from truekeep.serve.rest.models import Body, Moment, Name, Word
from truekeep.serve.rest.records import type_of
from truekeep.types import Memory

Accessed = Callable[[str], datetime | None]
"""When a memory was last shown, by its id."""


class OneOf(Body):
    """A limit on one name."""

    eq: Name | None = None
    in_: list[Name] | None = Field(default=None, max_length=PAGE_CAP)
    not_eq: Name | None = None
    not_in: list[Name] | None = Field(default=None, max_length=PAGE_CAP)
    ne: Name | None = None

    def admits(self, value: object) -> bool:
        """Whether a value is within the limit."""
        return (
            (self.eq is None or value == self.eq)
            and (self.in_ is None or value in self.in_)
            and (self.not_eq is None or value != self.not_eq)
            and (self.ne is None or value != self.ne)
            and (self.not_in is None or value not in self.not_in)
        )


class AnyOf(Body):
    """A limit on a set of words."""

    any: list[Word] | None = Field(default=None, max_length=PAGE_CAP)
    all: list[Word] | None = Field(default=None, max_length=PAGE_CAP)
    none: list[Word] | None = Field(default=None, max_length=PAGE_CAP)

    def admits(self, words: tuple[str, ...]) -> bool:
        """Whether a set of words is within the limit."""
        held = set(words)
        return (
            (self.any is None or not held.isdisjoint(self.any))
            and (self.all is None or held.issuperset(self.all))
            and (self.none is None or held.isdisjoint(self.none))
        )


class When(Body):
    """A limit on a moment."""

    gte: Moment | None = None
    lte: Moment | None = None
    gt: Moment | None = None
    lt: Moment | None = None
    eq: Moment | None = None

    def admits(self, moment: datetime | None) -> bool:
        """Whether a moment is within the limit; one that is not known is within none."""
        if moment is None:
            return not any((self.gte, self.lte, self.gt, self.lt, self.eq))
        return (
            (self.gte is None or moment >= self.gte)
            and (self.lte is None or moment <= self.lte)
            and (self.gt is None or moment > self.gt)
            and (self.lt is None or moment < self.lt)
            and (self.eq is None or moment == self.eq)
        )


class FilterLimits(Body):
    """Every filter of a search."""

    session_id: OneOf | None = None
    namespace: OneOf | None = None
    user_id: OneOf | None = None
    topics: AnyOf | None = None
    entities: AnyOf | None = None
    created_at: When | None = None
    last_accessed: When | None = None
    event_date: When | None = None
    memory_type: OneOf | None = None

    def admit(self, memory: Memory, accessed: Accessed) -> bool:
        """Whether a memory is within all of them."""
        names = (
            (self.session_id, memory.origin.session),
            (self.namespace, memory.metadata.get("namespace")),
            (self.user_id, memory.metadata.get("user_id")),
            (self.memory_type, type_of(memory.kind, memory.metadata)),
        )
        words = ((self.topics, memory.topics), (self.entities, memory.entities))
        moments = ((self.created_at, memory.created_at), (self.event_date, memory.as_of))
        return (
            all(limit is None or limit.admits(value) for limit, value in names)
            and all(limit is None or limit.admits(held) for limit, held in words)
            and all(limit is None or limit.admits(moment) for limit, moment in moments)
            and (self.last_accessed is None or self.last_accessed.admits(accessed(memory.id) or memory.created_at))
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is limited."""
        return not any(getattr(self, name) is not None for name in FilterLimits.model_fields)

    def as_filters(self, accessed: Accessed) -> Filters:
        """The same limits for a recall, which asks them before it cuts its answer."""
        return Filters() if self.is_empty else Filters(where=lambda memory: self.admit(memory, accessed))


def narrowed(limits: FilterLimits, **names: Any) -> FilterLimits:
    """The same limits, and equality with every name that is given."""
    return limits.model_copy(update={name: OneOf(eq=value) for name, value in names.items() if value is not None})
