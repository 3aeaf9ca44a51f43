"""What this process has verified of a store: where its chain stands, and what that left in every place.

The whole store is checked when it is opened. After that what other processes changed is followed, and now and then
the whole is checked again while they write.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

from truekeep.stores.anchor import Anchors
from truekeep.stores.audit import Tip, Touched, apply, check_anchor, follow, nothing_expected
from truekeep.stores.base import TABLES, Backend, Row
from truekeep.stores.inspection import Inspection, inspect_chain, inspect_rows, newest_here, require_sound, unsound
from truekeep.stores.seal import Seal

_SELDOM = 50
"""A whole check is due when this many times what it cost has passed since the last one."""


class Verified:
    """The verified state of one store. Whoever asks holds the ledger's lock, and a view of the store."""

    def __init__(
        self, backend: Backend, seal: Seal, anchors: Anchors, tell: Callable[[Sequence[Touched]], None]
    ) -> None:
        self._backend = backend
        self._first_seal = seal
        self._tell = tell
        self._changes = -1
        self.anchors = anchors
        self.tip = Tip(seal)
        self.expected = nothing_expected()
        self.found = Inspection(self.expected)
        """What the last look at everything found."""
        self.is_intact = False
        """Whether a full check found nothing wrong, and only this process has written since."""
        self.due = 0.0

    def begin(self) -> bool:
        """Trust what was just checked as a whole; says whether all of it is what this keep wrote."""
        self.is_intact = not self.found.unverified
        self._changes = self._backend.changes()
        return self.is_intact

    def advance(self, changed: Sequence[Touched], tip: Tip) -> None:
        """Move on with the chain: to the end of a transaction of this process, or of what was verified of others'."""
        self.tip = tip
        apply(self.expected, changed)
        self._tell(changed)

    def catch_up(self) -> None:
        """Verify what other processes added; a change that no event explains costs a full check."""
        changes, newest, known = self._backend.changes(), newest_here(self._backend), self.tip.head
        if changes == self._changes and newest == known:
            return
        self.is_intact = False
        check_anchor(known, self._backend.event(known.seq), newest)
        changed: list[Touched] = []
        self.advance(changed, follow(self.tip, self._backend.events(after=known.seq), changed))
        if known == self.tip.head or not self._adds_up() or time.monotonic() > self.due:
            require_sound(unsound(self._backend, self.check()), self.tip.head)
        self._changes = changes

    def _adds_up(self) -> bool:
        """Whether there are as many rows as the chain left, and the strangers that are known."""
        strangers = Counter(place.table for place in self.found.foreign)
        return all(self._backend.count(table) == len(self.expected[table]) + strangers[table] for table in TABLES)

    def check(self, seen: list[Row] | None = None) -> Inspection:
        """Look at everything; what is expected is known afterwards. ``seen`` gets the memories, if they are few."""
        started = time.monotonic()
        self.tip = inspect_chain(self._backend, self._first_seal, self.anchors)
        found = inspect_rows(self._backend, self.tip, seen)
        self.expected, self.found = found.expected, found
        found.require_nothing_lost(self.tip.head)
        now = time.monotonic()
        self.due = now + _SELDOM * (now - started)
        return found
