"""Supposing: a whole answer from one look at the store.

A view asks the store at its beginning whether anybody else wrote. Where the store is a server, each costs messages. So
an answer may be made of what this process has verified already, supposing that nobody has written since. The question
for its rows asks for that too, in one view of the store; if somebody did write, the answer is thrown away and made
again, with views. So what is given is never older than what was asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from truekeep.stores.base import Row
    from truekeep.stores.inspection import Verified

Made = TypeVar("Made")


class Outrun(Exception):
    """What was supposed does not hold, or does not suffice."""


class Supposed:
    """One state of a store, of which all of an answer is made. Whoever asks holds the ledger's lock."""

    def __init__(self, verified: Verified) -> None:
        self._verified = verified
        self._tip = verified.tip
        self.is_sure = False
        """Whether the store was asked since, and had not changed."""

    def require(self) -> None:
        """Refuse another state: a thread of this process may have written, or caught up with what others did."""
        if self._verified.tip is not self._tip:
            raise Outrun

    def rows(self, table: str, seqs: Sequence[int]) -> list[Row]:
        """The rows at those places, as they are in the store now."""
        self.require()
        found = self._verified.glance(table, seqs)
        if found is None:
            raise Outrun
        self.is_sure = True
        return found


def supposing(
    make: Callable[[], Made], verified: Verified, lock: AbstractContextManager[object], mine: threading.local
) -> Made:
    """What ``make`` gives while this thread supposes; made again with views if that did not hold."""
    with lock:
        mine.supposed = supposed = Supposed(verified)
    try:
        made = make()
        with lock:
            if not supposed.is_sure:
                supposed.rows("memories", ())
    except Outrun:
        pass
    else:
        return made
    finally:
        mine.supposed = None
    return make()
