"""A process that writes to a wrapped store and is killed at one of its steps: ``python -m … HOME FILE STEP``."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from typing import Any

from langgraph.store.sqlite import SqliteStore

from truekeep import Keep
from truekeep.protect.wrap.langgraph import protect_store
from truekeep.stores.ledger import Ledger

NS = ("memories", "anna")
WRITES = (("a", "I prefer dark mode"), ("b", "I prefer tea"), ("a", "I prefer light mode"), ("b", None), ("c", "I ski"))
"""Two entries, a change, a deletion and one more."""


class Fuse:
    """Counts steps, and kills the process hard before or after one of them."""

    def __init__(self, at: int) -> None:
        self.left = at

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Write, say what was acknowledged, and die at the step."""
    home, file, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
    fuse = Fuse(at)
    connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection)
    with Keep.open("alice", home=home, background=False) as keep:
        wrapped = protect_store(store, keep, channel="user", mode="enforce")
        plain, batch = Ledger.writing, store.batch

        def writing(self: Ledger) -> Any:
            fuse.step()
            return plain(self)

        def batched(ops: Any) -> Any:
            fuse.step()
            result = batch(ops)
            fuse.step()
            return result

        Ledger.writing, store.batch = writing, batched  # type: ignore[method-assign]
        for number, (key, text) in enumerate(WRITES):
            wrapped.put(NS, key, {"data": text}) if text else wrapped.delete(NS, key)
            print(number, flush=True)
            fuse.step()


if __name__ == "__main__":
    main()
