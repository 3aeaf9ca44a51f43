"""The primary is killed under load, again and again, and its standby takes over: is everything there that was promised?

``python -m tests.postgres.failover 50`` plays fifty rounds: two servers with synchronous replication, two writers and a
reader on one keep and a connection string that names both servers. Every process of the primary is killed at once, the
standby is promoted, and a new standby is made of it. ``python -m tests.postgres.patroni 50`` lets Patroni and etcd do
that with three servers.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Protocol, TypeAlias

from tests.postgres.server import SERVICE, Server
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import CommitUnknown, TruekeepError

NAME = "survivor"
_PATIENCE = 600
"""Seconds until somebody must have written again, on a machine that is busy with other things."""
Head: TypeAlias = "Synchronized[int]"
"""The number of the newest event that was acknowledged to anybody."""


def settings_for(dsn: str) -> Settings:
    return replace(Settings(), store=dsn, embedder="none", busy_seconds=20.0)


def write(home: Path, dsn: str, writer: int, newest: Head, pipe: Connection) -> None:
    """Write until told to stop; say after each text what became of it, and whether the log ever was behind."""
    keep = Keep.open(NAME, home=home, settings=settings_for(dsn), background=False)
    pipe.send(("", "opened"))
    number = 0
    while not pipe.poll(0.01):
        text = f"Crate {writer}-{number} holds cables."
        number += 1
        floor = newest.value
        try:
            code = "written" if keep.remember(text, via="user").accepted else "refused"
        except CommitUnknown:
            code = "unknown"
        except TruekeepError as error:
            code = error.code
        if code == "written" and not _is_newer(keep, floor, newest):
            code = "stale"
        pipe.send((text, code))
    pipe.recv()
    keep.close()


def _is_newer(keep: Keep, floor: int, newest: Head) -> bool:
    """Whether the log goes on where it was; the server may die between the write and this look."""
    try:
        head = keep.audit.head
    except TruekeepError:
        return True
    with newest.get_lock():
        newest.value = max(newest.value, head)
    return head > floor


def read(home: Path, dsn: str, newest: Head, pipe: Connection) -> None:
    """Read until told to stop; no read may be behind what was acknowledged to anybody before it began."""
    keep = Keep.open(NAME, home=home, settings=settings_for(dsn), background=False)
    pipe.send(("", "opened"))
    while not pipe.poll(0.02):
        floor = newest.value
        try:
            code = "read" if keep.audit.head >= floor else "stale"
        except TruekeepError:
            continue
        pipe.send(("", code))
    pipe.recv()
    keep.close()


class Servers(Protocol):
    """A primary, and whatever takes over from it."""

    @property
    def dsn(self) -> str:
        """All places, whichever of them takes writes."""

    def fail(self, number: int) -> None:
        """Kill the primary, for the how manieth time, and begin to let another one take its place."""

    def mend(self) -> None:
        """Make what was killed a standby again; somebody writes meanwhile."""

    def stop(self) -> None:
        """End everything."""


class Pair:
    """Two servers that take turns."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._made = folder, 0
        self.primary = Server(self._place())
        self._database = self.primary.database().name
        self.primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        self.standby = Server(self._place(), copy_of=self.primary)

    @property
    def dsn(self) -> str:
        """Both places, whichever of them takes writes."""
        places = ",".join(str(self._folder / name) for name in ("pg0", "pg1"))
        return f"postgresql://{SERVICE}@/{self._database}?host={places}&target_session_attrs=read-write"

    def _place(self) -> Path:
        place = self._folder / f"pg{self._made % 2}"
        self._made += 1
        if place.exists():
            place.rename(self._folder / f"dead-{self._made}")
        place.mkdir()
        return place

    def fail(self, number: int) -> None:  # noqa: ARG002 - one way to die is enough here
        """Kill the primary and promote the standby."""
        self.primary.kill()
        self.standby.promote()
        self.primary = self.standby

    def mend(self) -> None:
        """Make a new standby; until it is there, no write is acknowledged."""
        self.standby = Server(self._place(), copy_of=self.primary)

    def stop(self) -> None:
        """End both."""
        self.standby.stop()
        self.primary.stop()


class Failover:
    """Servers that fail, two writers and a reader that do not care which of them answers."""

    def __init__(self, folder: Path, servers: Servers) -> None:
        self.home = folder / "home"
        self.servers, self.dsn = servers, servers.dsn
        self.told: Counter[str] = Counter()
        self.fate: dict[str, str] = {}
        self.gaps: list[float] = []
        """Seconds from each kill to the first write that was acknowledged after it."""

    def play(self, rounds: int, each: int = 10) -> None:
        """So many kills, with so many acknowledged writes between them."""
        Keep.open(NAME, home=self.home, settings=settings_for(self.dsn), background=False).close()
        context, begun = multiprocessing.get_context("spawn"), list[tuple[SpawnProcess, Connection]]()
        newest = context.Value("Q", 0)
        for number in (0, 1, None):
            ours, theirs = context.Pipe()
            work = (read, (newest,)) if number is None else (write, (number, newest))
            process = context.Process(target=work[0], args=(self.home, self.dsn, *work[1], theirs))
            process.start()
            begun.append((process, ours))
        pipes = [pipe for _, pipe in begun]
        while self.told["opened"] < len(pipes):
            self._hear(pipes)
        try:
            for number in range(rounds):
                self._listen(pipes, each)
                self._kill(number, pipes)
        finally:
            for process, pipe in begun:
                pipe.send("stop")
                with suppress(EOFError):
                    while process.is_alive():
                        self._hear([pipe])
                process.join(30)
        self._require_kept()

    def _kill(self, number: int, pipes: list[Connection]) -> None:
        began = time.monotonic()
        self.servers.fail(number)
        self._hear(pipes, 0)  # what was acknowledged before
        with ThreadPoolExecutor(1) as thread:
            mended = thread.submit(self.servers.mend)
            self._listen(pipes, 1)
            self.gaps.append(time.monotonic() - began)
            print(f"{number + 1}: {self.gaps[-1]:.1f} s", flush=True)
            while not mended.done():
                self._hear(pipes, 0.1)
            mended.result()

    def _listen(self, pipes: list[Connection], count: int) -> None:
        """Until so many writes more were acknowledged."""
        wanted, until = self.told["written"] + count, time.monotonic() + _PATIENCE
        while self.told["written"] < wanted:
            assert time.monotonic() < until, f"nobody can write any more: {self.told}"
            self._hear(pipes)

    def _hear(self, pipes: list[Connection], patience: float = 1) -> None:
        for pipe in wait(pipes, timeout=patience):
            assert isinstance(pipe, Connection)
            while pipe.poll():
                text, code = pipe.recv()
                self.told[code] += 1
                self.fate[text] = code

    def _require_kept(self) -> None:
        with Keep.open(NAME, home=self.home, settings=settings_for(self.dsn), background=False) as keep:
            found = keep.audit.verify()
            assert found.ok, found.problems
            there = Counter(one["content"] for one in keep.get_memories(limit=1_000_000))
        assert set(there.values()) <= {1}, "written twice"
        assert not self.told["stale"], "the log went back"
        lost = [text for text, code in self.fate.items() if code == "written" and text not in there]
        assert not lost, f"{len(lost)} were acknowledged and lost"
        denied = [code for text, code in self.fate.items() if code not in ("written", "unknown") and text in there]
        assert not denied, f"said not to be written, and written: {Counter(denied)}"
        assert there.keys() <= self.fate.keys(), "written by nobody"


def main(make: Callable[[Path], Servers]) -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory(prefix="tk-fo-") as folder:
        Path(folder).chmod(0o711)
        servers = make(Path(folder))
        try:
            played = Failover(Path(folder), servers)
            played.play(rounds)
        finally:
            servers.stop()
    told = ", ".join(f"{number} {code}" for code, number in sorted(played.told.items()))
    gaps = sorted(played.gaps)
    within = f"median {statistics.median(gaps):.1f} s, longest {gaps[-1]:.1f} s"
    print(f"{rounds} kills: 0 acknowledged lost, 0 doubled, 0 stale; {told}; until the next write {within}")


if __name__ == "__main__":
    main(Pair)
