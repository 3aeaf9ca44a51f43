"""Rehearsal: do the whole of something in a transaction and throw it away, so that the plan is what would happen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger


class _Rehearsed(Exception):
    pass


@contextmanager
def rehearsing(ledger: Ledger, *, dry_run: bool) -> Iterator[Entry]:
    """One transaction; nothing is left of it if it is only a dry run."""
    try:
        with ledger.writing() as entry:
            yield entry
            if dry_run:
                raise _Rehearsed
    except _Rehearsed:
        pass
