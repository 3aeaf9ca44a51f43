"""Whoever has only the encrypted file: whatever bytes are put there, a read gets what was written or is refused."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from truekeep import Keep
from truekeep.errors import StoreError, StoreTampered
from truekeep.stores.sqlite import PAGE_BYTES

PAGE = PAGE_BYTES
Files = dict[str, bytes]


class Stage:
    """A home, and its data directory as it was at three moments, with the log still unmerged and merged."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "data"
        with self.open() as keep:
            held = [keep.remember(f"The depot in street {n} is closed.", via="web").item_id for n in range(6)]
            self.grow(keep, range(20))
        self.oldest = self.files()
        with self.open() as keep:
            self.grow(keep, range(20, 40))
            self.old_live = self.files()
        self.old = self.files()
        with self.open() as keep:
            for item in held[:4]:
                assert item
                keep.review.reject(item, by="eva", reason="not so")
            self.grow(keep, range(40, 50))
            self.new_live = self.files()
        self.new = self.files()
        self.anchor = (home / "keys" / "keeps" / "alice.anchor").read_bytes()
        self.good = self.read()

    @staticmethod
    def grow(keep: Keep, numbers: range) -> None:
        for number in numbers:
            assert keep.remember(f"The greenhouse in row {number} is heated.", via="user").accepted

    def open(self) -> Keep:
        return Keep.open("alice", home=self.home, embedder=lambda: None)

    def files(self) -> Files:
        return {path.name: path.read_bytes() for path in self.data.iterdir()}

    def put(self, files: Files) -> None:
        """These bytes as the data directory, under the newest anchor."""
        (self.home / "keys" / "keeps" / "alice.anchor").write_bytes(self.anchor)
        shutil.rmtree(self.data)
        self.data.mkdir(mode=0o700)
        for name, content in files.items():
            (self.data / name).write_bytes(content)

    def read(self) -> list[Any]:
        """Everything a host could ask: lists, single entries, what was rejected, what waits."""
        with self.open() as keep:
            listed = keep.get_memories()
            return [
                [entry["content"] for entry in listed],
                [keep.get_memory(entry["id"])["content"] for entry in listed],
                [hit.text for hit in keep.recall("greenhouse row 7", k=3)],
                [keep.remember(f"The depot in street {n} is closed.", via="web").code for n in range(4)],
                len(keep.review.list()),
            ]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("raw") / "home")


def refused_or_right(stage: Stage, files: Files) -> str:
    stage.put(files)
    try:
        assert stage.read() == stage.good
    except StoreError as refusal:
        return refusal.code if refusal.hint else "refused without a hint"
    return "served as written"


@pytest.mark.slow
def test_a_flipped_bit_is_refused_or_changes_nothing(stage: Stage) -> None:
    rng, data = random.Random(5), stage.new["alice.db"]
    outcomes = set()
    for page in range(len(data) // PAGE):
        flipped = bytearray(data)
        flipped[page * PAGE + rng.randrange(PAGE)] ^= 1 << rng.randrange(8)
        outcomes.add(refused_or_right(stage, {"alice.db": bytes(flipped)}))
    assert "store_corrupt" in outcomes


def test_swapped_pages_are_refused_or_change_nothing(stage: Stage) -> None:
    rng, data = random.Random(6), stage.new["alice.db"]
    pages = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
    outcomes = set()
    for _ in range(40):
        first, second = rng.sample(range(len(pages)), 2)
        swapped = list(pages)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        outcomes.add(refused_or_right(stage, {"alice.db": b"".join(swapped)}))
    assert "store_corrupt" in outcomes


def test_an_old_page_put_back_is_refused_or_changes_nothing(stage: Stage) -> None:
    """Each old page is genuine, and in its own place: also those of the indexes that rows are looked up by."""
    old, new = stage.old["alice.db"], stage.new["alice.db"]
    outcomes = set()
    for at in range(0, len(old), PAGE):
        if old[at : at + PAGE] != new[at : at + PAGE]:
            outcomes.add(refused_or_right(stage, {"alice.db": new[:at] + old[at : at + PAGE] + new[at + PAGE :]}))
    assert {"rows_missing", "served as written"} <= outcomes


def test_old_pages_put_back_together_are_refused_or_change_nothing(stage: Stage) -> None:
    rng = random.Random(7)
    old, new = stage.old["alice.db"], stage.new["alice.db"]
    differing = [at for at in range(0, len(old), PAGE) if old[at : at + PAGE] != new[at : at + PAGE]]
    outcomes = Counter[str]()
    for _ in range(40):
        mixed = bytearray(new)
        for at in rng.sample(differing, rng.randrange(2, len(differing))):
            mixed[at : at + PAGE] = old[at : at + PAGE]
        outcomes[refused_or_right(stage, {"alice.db": bytes(mixed)})] += 1
    assert outcomes.total() - outcomes["served as written"] >= 30, outcomes


WHOLE: dict[str, Callable[[Stage], Files]] = {
    "an old file": lambda stage: stage.old,
    "an old file with its old log": lambda stage: stage.old_live,
    "an old file with the new log": lambda stage: {**stage.oldest, "alice.db-wal": stage.new_live["alice.db-wal"]},
    "a new file without its log": lambda stage: {"alice.db": stage.new_live["alice.db"]},
    "a new file with an old log": lambda stage: {
        **stage.new_live,
        "alice.db-wal": stage.old_live["alice.db-wal"],
    },
    "an empty file": lambda _: {"alice.db": b""},
    "half a file": lambda stage: {"alice.db": stage.new["alice.db"][: len(stage.new["alice.db"]) // 2]},
    "a file cut at a page": lambda stage: {"alice.db": stage.new["alice.db"][: 9 * PAGE]},
    "no file": lambda _: {},
    "noise": lambda _: {"alice.db": random.Random(8).randbytes(20 * PAGE)},
}


@pytest.mark.parametrize("what", WHOLE)
def test_another_state_of_the_whole_is_refused(stage: Stage, what: str) -> None:
    assert refused_or_right(stage, WHOLE[what](stage)) not in ("served as written", "refused without a hint")


@pytest.mark.parametrize("file", ["old", "new"])
def test_a_log_beside_the_file_it_was_written_for_is_what_a_crash_leaves(stage: Stage, file: str) -> None:
    files: Files = getattr(stage, file)
    assert refused_or_right(stage, {**files, "alice.db-wal": stage.new_live["alice.db-wal"]}) == "served as written"


def test_a_cut_log_is_refused(stage: Stage) -> None:
    """Every commit that is cut off the end had been anchored."""
    log = stage.new_live["alice.db-wal"]
    for length in sorted({32, 33, *range(100, len(log) - 1, max(1, len(log) // 25)), len(log) - 1}):
        found = refused_or_right(stage, {**stage.new_live, "alice.db-wal": log[:length]})
        assert found != "served as written", length


def test_a_flipped_bit_in_the_log_is_refused(stage: Stage) -> None:
    rng, log = random.Random(9), stage.new_live["alice.db-wal"]
    outcomes = Counter[str]()
    for _ in range(25):
        flipped = bytearray(log)
        flipped[rng.randrange(32, len(log))] ^= 1 << rng.randrange(8)
        outcomes[refused_or_right(stage, {**stage.new_live, "alice.db-wal": bytes(flipped)})] += 1
    # A frame that a later one of the same page replaces is never read, so that a flip in it changes nothing.
    assert outcomes.total() - outcomes["served as written"] >= 20, outcomes


def test_a_doctored_shared_memory_file_changes_nothing(stage: Stage) -> None:
    shm = stage.new_live.get("alice.db-shm", b"")
    noise = random.Random(10).randbytes(len(shm) or 32768)
    assert refused_or_right(stage, {**stage.new_live, "alice.db-shm": noise}) == "served as written"


def test_the_refusal_says_what_where_since_when_and_how_to_recover(stage: Stage) -> None:
    stage.put(stage.old)
    with pytest.raises(StoreTampered) as caught:
        stage.read()
    error = caught.value
    assert error.code == "store_rolled_back"
    assert error.where.startswith("events ")
    assert error.since.startswith("after event ")
    assert "truekeep audit accept" in error.hint
