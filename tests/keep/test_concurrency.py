"""Two processes, many threads: nothing is lost, nothing is half done, the chain verifies."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from truekeep import Keep
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.stores.anchor import AnchorHead, Anchors

pytestmark = pytest.mark.slow

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


def test_what_another_process_changed_or_removed_meanwhile_is_not_deleted_or_changed_by_an_old_look(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Keep.open("alice", home=home) as keep, Keep.open("alice", home=home) as other:
        plots = [keep.remember(f"Plot {number} is leased.", via="user").memory_id for number in range(3)]
        first, second, third = map(str, plots)
        reader = keep._way_out.reader
        looks = reader.found

        def slow(memory_id: str) -> object:
            found = looks(memory_id)
            monkeypatch.setattr(reader, "found", looks)
            if memory_id == third:
                other.update_memory(third, "Plot 2 is sold.", via="user")
            else:
                other.delete_memory(memory_id, via="user")
                other.remember("Another takes its place.", via="user")
            return found

        monkeypatch.setattr(reader, "found", slow)
        with pytest.raises(UnknownId):
            keep.delete_memory(first, via="user")
        monkeypatch.setattr(reader, "found", slow)
        with pytest.raises(UnknownId):
            keep.update_memory(second, "Plot 1 is sold.", via="user")
        monkeypatch.setattr(reader, "found", slow)
        with pytest.raises(InvalidRequest) as caught:
            keep.update_memory(third, "Plot 2 is fallow.", via="user")
        assert caught.value.code == "memory_changed"
        assert sorted(one["content"] for one in keep.get_memories())[-1] == "Plot 2 is sold."
        assert keep.audit.verify().ok


def test_a_write_between_a_view_and_the_look_at_the_anchor_is_no_rollback(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view ends before what the anchor has by then; only a store that was really rolled back is refused."""
    real = Anchors.heads
    with Keep.open("alice", home=home) as other:
        is_due = [False]

        def heads(anchors: Anchors) -> list[tuple[str, AnchorHead | None]]:
            if is_due[0]:
                is_due[0] = False
                assert other.remember(f"Event {other.audit.events()[-1].seq} came first.", via="user").accepted
            return real(anchors)

        monkeypatch.setattr(Anchors, "heads", heads)
        is_due[0] = True
        with Keep.open("alice", home=home) as keep:
            assert len(keep.get_memories()) == 1
            is_due[0] = True
            assert keep.audit.verify().ok
            keep._ledger._verified.due = 0.0  # a whole check is due with the next read
            assert other.remember("Another one.", via="user").accepted
            is_due[0] = True
            assert len(keep.get_memories()) == 4
            assert not is_due[0]
