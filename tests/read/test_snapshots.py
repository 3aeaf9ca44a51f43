"""Snapshots: the same bytes for everyone, everywhere, until somebody asks for new ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

from tests.conftest import Clock, intruder
from truekeep import Keep, StoreTampered
from truekeep.stores import records

READ = "import sys; from truekeep import Keep; print(Keep.open('alice', home=sys.argv[1]).snapshot('s-1').digest)"


def test_a_thousand_reads_from_many_threads_give_one_digest(keep: Keep) -> None:
    keep.remember_many([f"Fact number {number}." for number in range(50)], via="user")
    with ThreadPoolExecutor(16) as pool:
        digests = set(pool.map(lambda _: keep.snapshot("s-1").digest, range(1000)))
    assert len(digests) == 1


@pytest.mark.slow
def test_another_process_gets_the_same_bytes(keep: Keep, home: Path) -> None:
    keep.remember("The office is in Nitra.", via="user")
    mine = keep.snapshot("s-1").digest
    keep.remember("It closes at five.", via="user")
    found = subprocess.run([sys.executable, "-c", READ, str(home)], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == mine


@pytest.mark.slow
def test_two_processes_that_freeze_at_once_agree(keep: Keep, home: Path) -> None:
    keep.remember("The office is in Nitra.", via="user")
    command = [sys.executable, "-c", READ, str(home)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    digests = {process.communicate()[0].strip() for process in running}
    assert len(digests) == 1
    assert keep.snapshot("s-1").digest in digests


def test_later_writes_do_not_change_it_until_it_is_refreshed(keep: Keep) -> None:
    keep.remember("The office is in Nitra.", via="user")
    first = keep.snapshot("s-1")
    stored = keep.remember("It closes at five.", via="user").memory_id
    assert stored
    keep.delete_memory(keep.get_memories()[0]["id"], via="user")
    assert keep.snapshot("s-1") == replace(first, stale=True)  # and says that something in it is gone
    fresh = keep.snapshot("s-1", refresh=True)
    assert fresh.digest != first.digest
    assert "closes at five" in fresh.text
    assert "Nitra" not in fresh.text


def test_sessions_have_their_own(keep: Keep) -> None:
    keep.remember("The office is in Nitra.", via="user")
    with keep.session("s-1") as first, keep.session("s-2") as second:
        frozen = first.snapshot()
        keep.remember("It closes at five.", via="user")
        assert first.snapshot() == frozen
        assert "closes at five" in second.snapshot().text


def test_an_empty_keep_has_a_snapshot_too(keep: Keep) -> None:
    text = keep.snapshot("s-1").text
    assert text.startswith("<memories>\n")
    assert text.endswith("</memories>\n")


def test_hearsay_neither_takes_room_nor_changes_a_byte(informed: Keep) -> None:
    informed.remember("My favourite tea is green tea.", via="user")
    before = informed.snapshot("s-1").text
    informed.remember_many([f"Tea offer {number}." for number in range(100)], via="web")
    assert informed.snapshot("s-2").text == before
    assert "green tea" in before


def test_a_snapshot_keeps_to_its_budget_and_says_how_many_more_there_are(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("snapshot_chars = 400\n")
    with Keep.open("alice", home=home) as keep:
        keep.remember("Always answer me in Slovak", via="user")
        keep.remember_many([f"Shelf {number} holds the jars of {number} plums" for number in range(30)], via="user")
        lines = keep.snapshot("s-1").text.splitlines()
        entries = [line for line in lines if line.startswith("- ")]
        assert sum(len(line) + 1 for line in entries) <= 400
        assert "Slovak" in entries[0]
        assert "Shelf 29" in entries[1]
        assert lines[-2] == f"({31 - len(entries)} more can be found with recall)"
        assert keep.snapshot("s-1", refresh=True).text.splitlines() == lines


def test_an_altered_snapshot_is_refused_and_can_be_made_anew(home: Path, keep: Keep) -> None:
    keep.remember("The office is in Nitra.", via="user")
    keep.snapshot("s-1")
    with intruder(home) as connection:
        connection.execute("UPDATE snapshots SET body = replace(body, 'Nitra', 'Sered')")
    with pytest.raises(StoreTampered) as caught:
        keep.snapshot("s-1")
    assert caught.value.code == "snapshot_unverified"
    assert "Nitra" in keep.snapshot("s-1", refresh=True).text
    assert keep.audit.verify().ok


def test_every_line_says_when_whence_and_whether_it_may_act(informed: Keep, clock: Clock) -> None:
    informed.remember("The office is in Nitra.", via="user")
    informed.remember("It closes at five.", via="web", principal="example.com")
    lines = informed.snapshot("s-1").text.splitlines()
    assert f"- [as of {clock():%Y-%m-%d} | user | may act] The office is in Nitra." in lines
    assert not any("It closes at five." in line for line in lines)


def test_wishes_come_before_what_was_said_again_and_that_before_the_newest(keep: Keep) -> None:
    keep.remember("Always answer in Slovak.", via="user")
    for number in range(2):
        with keep.session(f"s-{number}", mediated=True) as session:
            session.observe("user", "My cat Mia sleeps on the piano.")
        keep.extraction.run()
    pinned = keep.remember("The fuse box is behind the coats.", via="user").memory_id
    keep.remember("The boiler was repaired.", via="user")
    assert pinned
    keep.pin(pinned, via="user")
    lines = keep.snapshot("s-1").text.splitlines()[2:-1]
    assert [line.rpartition("] ")[2] for line in lines] == [
        "The fuse box is behind the coats.",
        "Always answer in Slovak.",
        "My cat Mia sleeps on the piano.",
        "The boiler was repaired.",
    ]


def test_what_differs_only_in_form_is_in_it_once(keep: Keep) -> None:
    keep.remember_many(["The office is in Nitra.", "the office is in  nitra!"], via="user")
    assert keep.snapshot("s-1").text.lower().count("nitra") == 1


def bodies_read(do: Callable[[], object]) -> int:
    """How many memories are read meanwhile."""
    count, reading = 0, records.memory_from.__code__

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is reading

    sys.setprofile(note)
    try:
        do()
    finally:
        sys.setprofile(None)
    return count


def test_the_first_snapshot_of_a_process_reads_about_as_many_memories_as_it_shows(keep: Keep, home: Path) -> None:
    keep.remember_many([f"Box {number} holds the winter coats of room {number}." for number in range(700)], via="user")
    keep.close()
    with Keep.open("alice", home=home) as again:
        assert bodies_read(lambda: again.snapshot("s-1")) < 350
        assert "more can be found with recall" in again.snapshot("s-1").text


def test_the_order_is_the_same_where_index_cards_are_missing(keep: Keep, home: Path) -> None:
    verdicts = keep.remember_many([f"Room {number} has a stove." for number in range(200)], via="user")
    keep.remember("From now on answer me in Slovak.", via="user")
    for number in (3, 8):
        with keep.session(f"s-{number}", mediated=True) as session:
            session.observe("user", f"Room {number} has a stove.")
    keep.pin(str(verdicts[5].memory_id), via="user")
    keep.pin(str(verdicts[6].memory_id), via="user")
    keep.unpin(str(verdicts[6].memory_id), via="user")
    before = keep.snapshot("s-a").text
    first = [line.partition("] ")[2] for line in before.splitlines() if "] " in line][:4]
    assert first == [
        "Room 5 has a stove.",
        "From now on answer me in Slovak.",
        "Room 8 has a stove.",
        "Room 3 has a stove.",
    ]
    with keep._ledger.writing() as entry:
        for row in list(keep._ledger.current("memories")):
            entry.attach("memories", row, b"")
        entry.event("memories.reindexed", model="", count=0)
    keep.close()
    with Keep.open("alice", home=home) as again:
        assert again.snapshot("s-b").text == before
