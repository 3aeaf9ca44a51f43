"""Two writers forced onto one keep: stopped in the middle, cut off by the server, clocks days apart. Any fork is told.

``python -m tests.postgres.two_writers 1000`` plays a thousand rounds on a server of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from random import Random

from tests.postgres.server import SERVICE, Database, Server
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import TruekeepError

NAME = "contended"
SKEW = timedelta(days=3)
EACH = 3
"""Writes of each writer in a round."""
_DISTURBANCES = ("none", "stopped", "stolen")


def settings_for(dsn: str) -> Settings:
    return replace(Settings(), store=dsn, embedder="none", busy_seconds=4.0)


def write(home: Path, dsn: str, writer: int, pipe: Connection) -> None:
    """Write whenever told to, and say what was acknowledged; this writer's clock is days off."""
    skew = SKEW if writer else -SKEW
    settings = settings_for(dsn)
    keep = Keep.open(NAME, home=home, settings=settings, clock=lambda: datetime.now(UTC) + skew, background=False)
    pipe.send("ready")
    while (number := pipe.recv()) is not None:
        acknowledged, refused = [], []
        for part in range(EACH):
            text = f"Crate {number}-{writer}-{part} holds cables."
            try:
                if keep.remember(text, via="user").accepted:
                    acknowledged.append(text)
            except TruekeepError as error:
                refused.append((text, error.code))
        pipe.send((acknowledged, refused))
    keep.close()


class Contest:
    """Rounds of two processes on one keep."""

    def __init__(self, database: Database, home: Path, seed: int) -> None:
        self.database, self.home = database, home
        self._random = Random(seed)
        self._processes: list[tuple[SpawnProcess, Connection]] = []
        self.acknowledged: list[str] = []
        self.refused: Counter[str] = Counter()
        self.unclear: set[str] = set()

    def play(self, rounds: int) -> None:
        Keep.open(NAME, home=self.home, settings=settings_for(self.database.dsn), background=False).close()
        context = multiprocessing.get_context("spawn")
        for writer in (0, 1):
            ours, theirs = context.Pipe()
            process = context.Process(target=write, args=(self.home, self.database.dsn, writer, theirs))
            process.start()
            self._processes.append((process, ours))
            assert ours.recv() == "ready"
        try:
            for number in range(rounds):
                self._round(number)
        finally:
            for process, pipe in self._processes:
                pipe.send(None)
                process.join(30)
        self._require_one_history()

    def _round(self, number: int) -> None:
        for _, pipe in self._processes:
            pipe.send(number)
        self._disturb(self._random.choice(_DISTURBANCES))
        for _, pipe in self._processes:
            assert wait([pipe], timeout=60), "a writer hangs"
            acknowledged, refused = pipe.recv()
            self.acknowledged += acknowledged
            self.refused.update(code for _, code in refused)
            self.unclear.update(text for text, _ in refused)

    def _disturb(self, how: str) -> None:
        """At a random moment: stop one process so long that the server may take its lock away, or take it at once."""
        wait([pipe for _, pipe in self._processes], timeout=self._random.uniform(0, 0.06))
        process, _ = self._processes[self._random.randrange(2)]
        if how == "stopped" and process.pid is not None:
            os.kill(process.pid, signal.SIGSTOP)
            # Longer than the server bears it now and then, mostly only long enough for the other one to go on.
            time.sleep(2.2 if self._random.random() < 0.05 else self._random.uniform(0, 0.08))
            os.kill(process.pid, signal.SIGCONT)
        elif how == "stolen":
            with suppress(Exception):
                self.database.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                    f"AND usename = '{SERVICE}' AND state <> 'idle' ORDER BY random() LIMIT 1"
                )

    def _require_one_history(self) -> None:
        """One chain, every acknowledged text once, and nothing that nobody tried."""
        with Keep.open(
            NAME,
            home=self.home,
            settings=settings_for(self.database.dsn),
            clock=lambda: datetime.now(UTC) + SKEW,
            background=False,
        ) as keep:
            found = keep.audit.verify()
            assert found.ok, found.problems
            there = Counter(one["content"] for one in keep.get_memories(limit=100_000))
        assert set(there.values()) <= {1}, "written twice"
        assert set(self.acknowledged) <= there.keys(), "acknowledged and lost"
        assert there.keys() <= set(self.acknowledged) | self.unclear, "written by nobody"
        ((events, newest),) = self.database.run("SELECT count(*), max(seq) FROM truekeep.events")
        assert events == newest, "a gap or a fork in the chain"


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory(prefix="tk-2w-") as folder:
        Path(folder).chmod(0o711)
        place = Path(folder) / "pg"
        place.mkdir()
        server = Server(place)
        try:
            contest = Contest(server.database(), Path(folder) / "home", seed=1)
            contest.play(rounds)
        finally:
            server.stop()
    told = ", ".join(f"{number} {code}" for code, number in contest.refused.items()) or "none"
    print(f"{rounds} rounds: {len(contest.acknowledged)} acknowledged, 0 lost, 0 twice, 0 forks; refused: {told}")


if __name__ == "__main__":
    main()
