"""Steps: between two steps of long work on a text, whoever has to be quick may go first.

A thread that works on a large text keeps the interpreter from others, and nobody can take it away for longer than a
moment. So long work says where it may pause. Whoever shares a process among several callers leaves here what is then
done; everywhere else it is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")

GIVE_WAY: ContextVar[Callable[[], None] | None] = ContextVar("give_way", default=None)
"""What is done between two steps."""


def between_steps() -> None:
    """A place where the work may pause."""
    give_way = GIVE_WAY.get()
    if give_way is not None:
        give_way()


def in_steps(things: Iterable[_T], size: int) -> Iterator[_T]:
    """The same things, with a place to pause after every so many."""
    give_way = GIVE_WAY.get()
    if give_way is None:
        yield from things
        return
    for place, thing in enumerate(things, 1):
        yield thing
        if not place % size:
            give_way()
