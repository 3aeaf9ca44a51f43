"""One round: some processes work on a keep, are killed at a random moment, and the keep is held against the model."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.model import History, Operation, Step
from tests.crash.nursery import context
from tests.crash.operations import look, work

RACES = {"unknown_id", "store_busy", "keep_in_use", "item_settled", "already_undone", "memory_changed", "keys_rotated"}
"""Refusals that another writer can be the reason of; a writer alone gets none."""
_MOST_OPERATIONS = 8
"""That each writer may get done in a round."""
_LONGEST_DELAY = 0.03
"""Seconds until it is killed after that, which is longer than most operations take."""


@dataclass
class Diary:
    """What one process said."""

    acknowledged: list[Step] = field(default_factory=list)
    hashes: dict[int, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    under_way: Operation | None = None
    last: int = 0

    def take_in(self, said: dict[str, Any]) -> None:
        if "broke" in said:
            raise AssertionError("\n".join([*self.refused.values(), said["broke"]]))
        if "doing" in said:
            self.under_way = said["doing"]
        elif "done" in said and self.under_way is not None:
            self.last = said["done"]
            self.acknowledged.append(Step(self.under_way, self.last))
            self.hashes[self.last] = said["hash"]
            self.under_way = None
        elif "refused" in said:
            self.refused[said["refused"]] = said["why"]
            self.under_way = None


class Rounds:
    """Rounds on one keep, each going on from where the last was killed."""

    def __init__(self, home: Path, random: Random) -> None:
        self._home = home
        self._random = random
        self._context = context()
        self._history = History()
        self.acknowledged = 0
        self.cut_off = 0

    def play(self, writers: int) -> None:
        """One round."""
        diaries = self._killed(writers)
        found = self._looked()
        assert not found["problems"]
        for diary in diaries:
            assert diary.hashes.items() <= {seq: bytes(value).hex() for seq, value in found["heads"].items()}.items()
            allowed = RACES if writers > 1 else set()
            assert diary.refused.keys() <= allowed, "\n".join(diary.refused.values())
        done = [step for diary in diaries for step in diary.acknowledged]
        under_way = [(diary.under_way, diary.last) for diary in diaries if diary.under_way]
        newest = max(found["heads"])
        explained = self._history.explain(done, under_way, found["facts"], newest)
        assert explained, self._differences(done, under_way, found)
        self.acknowledged += len(done)
        self.cut_off += len(under_way)

    def _killed(self, writers: int) -> list[Diary]:
        started = [self._start(number) for number in range(writers)]
        diaries = {pipe: Diary(last=int(self._history.points[-1][0])) for _, pipe in started}
        if self._random.random() < 0.85:  # the others may die while they open the keep
            self._let_work(diaries, self._random.randint(0, _MOST_OPERATIONS) * writers)
        for process, _ in started:
            wait([process.sentinel], timeout=self._random.uniform(0, _LONGEST_DELAY))
            process.kill()
        for process, pipe in started:
            self._bury(process, pipe, diaries[pipe])
        return list(diaries.values())

    def _let_work(self, diaries: dict[Connection, Diary], operations: int) -> None:
        """Wait until so many operations were acknowledged, however slow the machine is."""
        while sum(len(diary.acknowledged) for diary in diaries.values()) < operations:
            ready = wait(list(diaries), timeout=60)
            assert ready, "nothing was done for a minute"
            for pipe in ready:
                assert isinstance(pipe, Connection)
                diaries[pipe].take_in(pipe.recv())

    def _start(self, writer: int) -> tuple[ForkServerProcess, Connection]:
        reading, writing = self._context.Pipe(duplex=False)
        targets = [int(seq) for seq, _ in self._history.points[-12:]]
        arguments = (self._home, writer, self._random.randrange(10**9), targets, writing)
        process = self._context.Process(target=work, args=arguments)
        process.start()
        writing.close()
        return process, reading

    def _bury(self, process: ForkServerProcess, pipe: Connection, diary: Diary) -> None:
        for said in _messages(pipe):
            diary.take_in(said)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        process.close()

    def _looked(self) -> dict[str, Any]:
        reading, writing = self._context.Pipe(duplex=False)
        process = self._context.Process(target=look, args=(self._home, writing))
        process.start()
        writing.close()
        (found,) = _messages(reading)
        process.join()
        assert "broke" not in found, found.get("broke")
        return dict(found)

    def _differences(
        self, done: Sequence[Step], under_way: Sequence[tuple[Operation, int]], found: dict[str, Any]
    ) -> str:
        """What was expected and is not there, for whoever reads the failure."""
        steps = sorted(done, key=lambda step: step.seq or 0)
        expected, actual = self._history.replay(steps)[-1][1].facts(), found["facts"]
        lines = [f"{step.seq}: {step.operation}" for step in steps] + [f"under way: {one}" for one in under_way]
        for part in ("live", "waiting"):
            lines.append(f"{part} missing: {[one for one in expected[part] if one not in actual[part]]}")
            lines.append(f"{part} too much: {[one for one in actual[part] if one not in expected[part]]}")
        for reason in expected["incidents"].keys() | actual["incidents"].keys():
            one, other = expected["incidents"].get(reason), actual["incidents"].get(reason)
            lines += [f"{reason}: {one}\n  is {other}"] if one != other else []
        return "\n".join(lines)


def _messages(pipe: Connection) -> Iterator[dict[str, Any]]:
    """Everything that was said until the other end was closed; a message cut off by death was not said."""
    with pipe:
        while True:
            try:
                yield pipe.recv()
            except (EOFError, OSError):
                return
