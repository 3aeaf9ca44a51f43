"""A process that writes to a wrapped store and is killed at one of its steps: ``python -m … HOME FILE STEP``."""

from __future__ import annotations

import sqlite3
import sys

from langgraph.store.sqlite import SqliteStore

from tests.protect.fuse import Fuse
from truekeep import Keep
from truekeep.protect.wrap.langgraph import protect_store
from truekeep.stores.ledger import Ledger

NS = ("memories", "anna")
WRITES = (("a", "I prefer dark mode"), ("b", "I prefer tea"), ("a", "I prefer light mode"), ("b", None), ("c", "I ski"))
"""Two entries, a change, a deletion and one more."""


def main() -> None:
    """Write, say what was acknowledged, and die at the step."""
    home, file, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
    fuse = Fuse(at)
    connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection)
    with Keep.open("alice", home=home, background=False) as keep:
        wrapped = protect_store(store, keep, channel="user", mode="enforce")
        fuse.before(Ledger, "writing")
        fuse.around(store, "batch")
        for number, (key, text) in enumerate(WRITES):
            wrapped.put(NS, key, {"data": text}) if text else wrapped.delete(NS, key)
            print(number, flush=True)
            fuse.step()


if __name__ == "__main__":
    main()
