"""Two processes, many threads: nothing is lost, nothing is half done, the chain verifies."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from truekeep import Keep

WRITE = """
import sys
from truekeep import Keep
home, who, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Keep.open("alice", home=home) as keep:
    for number in range(count):
        assert keep.remember(f"Fact {number} from {who}.", via="user").accepted
"""


def test_two_processes_writing_a_thousand_each_end_with_two_thousand(home: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(home), who, "1000"], stderr=subprocess.PIPE, text=True)
        for who in ("first", "second")
    ]
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    with Keep.open("alice", home=home) as keep:
        contents = {memory["content"] for memory in keep.get_memories()}
        assert len(contents) == 2000
        result = keep.audit.verify()
        assert result.ok
        assert result.events == 2001


def test_many_threads_share_one_keep(keep: Keep) -> None:
    def work(number: int) -> bool:
        stored = keep.remember(f"Fact number {number}.", via="user").accepted
        keep.recall(f"fact {number}")
        keep.get_memories(limit=3)
        return stored

    with ThreadPoolExecutor(12) as pool:
        assert all(pool.map(work, range(200)))
    assert len(keep.get_memories()) == 200
    assert keep.audit.verify().ok


def test_creating_one_keep_from_several_processes_gives_one_keep(home: Path) -> None:
    command = [sys.executable, "-c", WRITE, str(home)]
    processes = [subprocess.Popen([*command, str(who), "5"], stderr=subprocess.PIPE, text=True) for who in range(4)]
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, errors
    with Keep.open("alice", home=home) as keep:
        assert len(keep.get_memories()) == 20
        assert len(keep.audit.events(kinds=["keep.created"])) == 1
        assert keep.audit.verify().ok
