"""The primary is killed under load, again and again, and its standby takes over: is everything there that was promised?

``python -m tests.postgres.failover 50`` plays fifty rounds: two servers with synchronous replication, two writers on
one keep and a connection string that names both servers. Every process of the primary is killed at once, the standby is
promoted, and a new standby is made of it.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from tests.postgres.server import SERVICE, Server
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import CommitUnknown, TruekeepError

NAME = "survivor"


def settings_for(dsn: str) -> Settings:
    return replace(Settings(), store=dsn, embedder="none", busy_seconds=20.0)


def write(home: Path, dsn: str, writer: int, pipe: Connection) -> None:
    """Write until told to stop; say after each text what became of it, and whether the log ever went back."""
    keep = Keep.open(NAME, home=home, settings=settings_for(dsn), background=False)
    head = number = 0
    while not pipe.poll():
        text = f"Crate {writer}-{number} holds cables."
        number += 1
        try:
            code = "written" if keep.remember(text, via="user").accepted else "refused"
            if keep.audit.head < head:
                code = "stale"
            head = keep.audit.head
        except CommitUnknown:
            code = "unknown"
        except TruekeepError as error:
            code = error.code
        pipe.send((text, code))
    pipe.recv()
    keep.close()


class Failover:
    """Two servers that take turns, and two writers that do not care which."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._made = folder, 0
        self.home = folder / "home"
        self.primary = Server(self._place())
        self._database = self.primary.database().name
        self.primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        self.standby = Server(self._place(), copy_of=self.primary)
        self.told: Counter[str] = Counter()
        self.fate: dict[str, str] = {}
        self.gaps: list[float] = []
        """Seconds from each kill to the first write that was acknowledged after it."""

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

    def play(self, rounds: int) -> None:
        Keep.open(NAME, home=self.home, settings=settings_for(self.dsn), background=False).close()
        context, writers = multiprocessing.get_context("spawn"), list[tuple[SpawnProcess, Connection]]()
        for number in (0, 1):
            ours, theirs = context.Pipe()
            process = context.Process(target=write, args=(self.home, self.dsn, number, theirs))
            process.start()
            writers.append((process, ours))
        pipes = [pipe for _, pipe in writers]
        try:
            for _ in range(rounds):
                self._listen(pipes, 10)
                self._kill(pipes)
        finally:
            for process, pipe in writers:
                pipe.send("stop")
                while process.is_alive():
                    self._hear([pipe])
                process.join(30)
        self._require_kept()

    def _kill(self, pipes: list[Connection]) -> None:
        self.primary.kill()
        began = time.monotonic()
        self.standby.promote()
        self.primary = self.standby
        self.standby = Server(self._place(), copy_of=self.primary)
        self._hear(pipes, 0)  # what was acknowledged before
        self._listen(pipes, 1)
        self.gaps.append(time.monotonic() - began)

    def _listen(self, pipes: list[Connection], count: int) -> None:
        """Until so many writes more were acknowledged."""
        wanted, until = self.told["written"] + count, time.monotonic() + 120
        while self.told["written"] < wanted:
            assert time.monotonic() < until, f"nobody can write any more: {self.told}"
            self._hear(pipes)

    def _hear(self, pipes: list[Connection], patience: float = 1) -> None:
        for pipe in wait(pipes, timeout=patience):
            assert isinstance(pipe, Connection)
            try:
                while pipe.poll():
                    text, code = pipe.recv()
                    self.told[code] += 1
                    self.fate[text] = code
            except EOFError:
                return

    def _require_kept(self) -> None:
        with Keep.open(NAME, home=self.home, settings=settings_for(self.dsn), background=False) as keep:
            found = keep.audit.verify()
            assert found.ok, found.problems
            there = Counter(one["content"] for one in keep.get_memories(limit=1_000_000))
        assert set(there.values()) <= {1}, "written twice"
        assert not self.told["stale"], "the log went back"
        lost = [text for text, code in self.fate.items() if code == "written" and text not in there]
        assert not lost, f"{len(lost)} were acknowledged and lost"
        denied = [text for text, code in self.fate.items() if code not in ("written", "unknown") and text in there]
        assert not denied, "said not to be written, and written"
        assert there.keys() <= self.fate.keys(), "written by nobody"

    def stop(self) -> None:
        self.standby.stop()
        self.primary.stop()


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory(prefix="tk-fo-") as folder:
        Path(folder).chmod(0o711)
        played = Failover(Path(folder))
        try:
            played.play(rounds)
        finally:
            played.stop()
    told = ", ".join(f"{number} {code}" for code, number in sorted(played.told.items()))
    gaps = f"median {statistics.median(played.gaps):.1f} s, longest {max(played.gaps):.1f} s"
    print(f"{rounds} kills: 0 acknowledged lost, 0 doubled, 0 stale; {told}; until the next write {gaps}")


if __name__ == "__main__":
    main()
