"""A view: the text as a reader might see it, with the way back to the raw characters."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

Edit = tuple[int, int, str]
"""``(start, end, replacement)`` in the coordinates of the view that is rewritten."""


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text. ``raw_span`` maps a span of it back to the text as it was given."""

    name: str
    text: str
    _base: View | None = field(default=None, repr=False, compare=False)
    _ends: tuple[int, ...] = field(default=(), repr=False, compare=False)
    _edits: tuple[tuple[int, int, int], ...] = field(default=(), repr=False, compare=False)

    def raw_span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the raw text that produced ``text[start:end]``."""
        size = len(self.text)
        start = min(max(start, 0), size)
        end = min(max(end, start), size)
        if self._base is None:
            return start, end
        if not size:
            return self._base.raw_span(0, len(self._base.text))
        first = self._char(min(start, size - 1))
        last = first if end <= start else self._char(end - 1)
        return self._base.raw_span(first[0], max(first[1], last[1]))

    def _char(self, index: int) -> tuple[int, int]:
        """The base span behind one character: inside an edit all of it, elsewhere one character."""
        after = bisect_right(self._ends, index)
        if after < len(self._edits) and self._edits[after][0] <= index:
            return self._edits[after][1:]
        shift = self._edits[after - 1][2] - self._ends[after - 1] if after else 0
        return index + shift, index + shift + 1


def rewrite(base: View, name: str, edits: Iterable[Edit]) -> View:
    """Apply ordered, non-overlapping edits to a view; the result knows where each character came from."""
    pieces: list[str] = []
    ends: list[int] = []
    kept: list[tuple[int, int, int]] = []
    source, done, length = base.text, 0, 0
    for start, end, replacement in edits:
        pieces.append(source[done:start])
        length += start - done
        pieces.append(replacement)
        kept.append((length, start, end))
        length += len(replacement)
        ends.append(length)
        done = end
    pieces.append(source[done:])
    return View(name, "".join(pieces), base, tuple(ends), tuple(kept))


LONG = 8_192
"""Beyond this a text is no memory but a file; readings of it hold only what they change, and its surroundings."""
_AROUND = 400
_CUT = re.compile(r"[.!?:;,)\]>|](?=\s)")


def excerpt(base: View, name: str, edits: Iterable[Edit]) -> View:
    """The view with these edits; of a long text only what is near one, as all else is read in the base.

    It is cut behind marks after which a clause may begin in any case, so no clause gets a new beginning.
    """
    long = len(base.text) > LONG
    return rewrite(base, name, _with_gaps(base.text, edits) if long else edits)


def changes(view: View) -> View:
    """Of a long view over the raw text only what it changes, and its surroundings; all else is read in the raw text."""
    if view._base is None or view._base._base is not None or len(view.text) <= LONG:
        return view
    texts = (view.text[edit[0] : end] for edit, end in zip(view._edits, view._ends, strict=True))
    return excerpt(
        view._base, view.name, [(start, end, text) for (_, start, end), text in zip(view._edits, texts, strict=True)]
    )


def _with_gaps(text: str, edits: Iterable[Edit]) -> Iterator[Edit]:
    done = 0
    for edit in edits:
        yield from _gap(text, done, edit[0])
        yield edit
        done = edit[1]
    yield from _gap(text, done, len(text))


def _gap(text: str, done: int, start: int) -> Iterator[Edit]:
    """What may be left out between the end of one edit and the start of the next."""
    low = done + _AROUND if done else 0
    high = start - _AROUND if start < len(text) else start
    if high - low < 2 * _AROUND:
        return
    first = _CUT.search(text, low, low + _AROUND) if low else None
    *_, last = (None, *_CUT.finditer(text, high - _AROUND, high)) if high < len(text) else (None,)
    if (first or not low) and (last or high == len(text)):
        yield first.end() if first else 0, last.end() if last else high, "\n"


def whole(base: View, name: str, text: str) -> View:
    """A view whose every span points at the whole base, for readings that have no local order."""
    return rewrite(base, name, [(0, len(base.text), text)])


# Between two steps of long work on a text, whoever has to be quick may go first. A thread that works on a large text
# keeps the interpreter from others, so long work says where it may pause. Whoever shares a process among several
# callers leaves here what is then done; everywhere else it is nothing.

_T = TypeVar("_T")

GIVE_WAY: ContextVar[Callable[[], object]] = ContextVar("give_way", default=bool)
"""What is called between two steps; ``bool()`` does nothing."""

WATCH: ContextVar[Callable[[str], AbstractContextManager[object]]] = ContextVar("watch", default=nullcontext)
"""Makes the block of every named step, as a service does that traces what its requests wait for. The name says nothing
of what the step is about; a null context does nothing."""


def in_steps(things: Iterable[_T], size: int) -> Iterable[_T]:
    """The same things, with a place to pause after every so many."""
    give_way = GIVE_WAY.get()
    return things if give_way is bool else _pausing(things, size, give_way)


def _pausing(things: Iterable[_T], size: int, give_way: Callable[[], object]) -> Iterator[_T]:
    for place, thing in enumerate(things, 1):
        yield thing
        if not place % size:
            give_way()
