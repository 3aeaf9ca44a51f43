"""Erasing a subject leaves nothing of it: not in rows, not in the index, not in freed pages, not in the audit log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import Clock, intruder
from truekeep import Keep
from truekeep.cli import cli
from truekeep.errors import InputError, InvalidRequest, UnknownId
from truekeep.ops.erasure import Receipt
from truekeep.stores.base import TABLES
from truekeep.stores.keys import is_signed_by

NAME = "Xenia Quillfeather"
LEFT = ["The office is in Nitra.", "A mail about parcels came."]


@pytest.fixture
def filled(home: Path, clock: Clock) -> Callable[[], Keep]:
    """A keep in which a person is in every kind of row."""
    with Keep.open("alice", home=home, clock=clock, policy="inform", background=False) as keep:
        keep.remember("The office is in Nitra.", via="user")
        first = keep.remember(f"{NAME} drives a red van, account 5501-22.", via="user", topics=["vans"]).memory_id
        assert first
        keep.update_memory(first, f"{NAME} drives a blue van, account 5501-23.", via="user")
        keep.remember("Somebody drives a lorry.", via="user", entities=[NAME])
        keep.remember("A mail about parcels came.", via="email", principal="mail.example.org")
        with keep.session("s-1", mediated=True) as session:
            session.observe("user", f"Tell {NAME} that the parcel is here.")
            session.observe("web", "XENIA  QUILLFEATHER won a prize.", principal="https://news.example/a")
            session.snapshot()
            session.recall("who drives a van?")
        item = keep.bind("agent").delete_memory(first).item_id
        assert item
        keep.review.reject(item, by="eva", reason=f"{NAME} asked to keep it")
        doomed = keep.remember(f"{NAME} sold the van.", via="user").memory_id
        assert doomed
        keep.delete_memory(doomed, via="user", reason=f"{NAME} did not")
        keep.channels.enrol("crm", by="eva", reason=f"{NAME}'s CRM")
        keep.snapshot("s-2")
    return lambda: Keep.open("alice", home=home, clock=clock, policy="inform", background=False)


def erased(keep: Keep, **options: object) -> Receipt:
    given = {"subject": NAME, "by": "eva", "reason": "asked to be forgotten"} | options
    return keep.erase(**given)  # type: ignore[arg-type]


def everything(home: Path) -> str:
    """All text in all tables and events, as someone with the encryption key reads it."""
    with intruder(home) as connection:
        tables = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in (*TABLES, "events")]
    return str(tables).casefold()


def raw_bytes(home: Path) -> bytes:
    """Every page of the file as it is once decrypted, with its free space."""
    with intruder(home) as connection:
        return connection.serialize("main").lower()


def test_nothing_of_the_subject_is_left_in_any_row(home: Path, filled: Callable[[], Keep]) -> None:
    assert "quillfeather" in everything(home)
    with filled() as keep:
        receipt = erased(keep)
        assert receipt.removed["memories"] == 3
        assert {"history", "queue", "snapshots", "observations"} <= receipt.removed.keys()
        assert {"tombstones", "channels"} <= receipt.redacted.keys()
        assert receipt.scrubbed
        assert [entry["content"] for entry in keep.get_memories()] == LEFT
        assert not keep.recall("who drives a van?", k=5)
        assert keep.audit.verify().ok
    assert "quillfeather" not in everything(home)
    # Four digits alone also stand in a MAC now and then.
    assert not re.search(r"5501\W?2[23]|\b5501\b", everything(home))


def test_nothing_of_the_subject_is_left_in_the_files_bytes(home: Path, filled: Callable[[], Keep]) -> None:
    with filled() as keep:
        assert erased(keep).scrubbed
        log = home / "data" / "alice.db-wal"
        assert log.stat().st_size == 0
    content = raw_bytes(home)
    assert b"nitra" in content
    assert b"quillfeather" not in content
    assert b"blue van" not in content


def test_rows_that_were_merely_removed_would_be_seen_in_the_bytes(home: Path, filled: Callable[[], Keep]) -> None:
    """The look into the file sees what freed pages hold, where they are not overwritten."""
    filled().close()
    with intruder(home) as connection:
        connection.pragma("secure_delete", 0)
        for table in (*TABLES, "events"):
            connection.execute(f"DELETE FROM {table}")
    assert "quillfeather" not in everything(home)
    assert b"quillfeather" in raw_bytes(home)


def test_the_audit_log_keeps_hashes_ids_and_who_decided(home: Path, filled: Callable[[], Keep]) -> None:
    with filled() as keep:
        before = [event.seq for event in keep.audit.events()]
        receipt = erased(keep)
        events = keep.audit.events()
        assert [event.seq for event in events][: len(before)] == before
        told = json.dumps([dict(event.body) for event in events])
        assert "Quillfeather" not in told
        assert "[erased]" in told
        last = next(event for event in events if event.kind == "subject.erased")
    assert (last.body["by"], last.body["subject"]) == ("eva", receipt.subject)
    assert last.seq == receipt.event


def test_the_receipt_is_signed_by_the_keep(filled: Callable[[], Keep]) -> None:
    with filled() as keep:
        receipt = erased(keep)
    assert is_signed_by(receipt.public_key, receipt.signature, receipt.signed_bytes())
    forged = replace(receipt, removed={"memories": 99})
    assert not is_signed_by(forged.public_key, forged.signature, forged.signed_bytes())
    assert "Quillfeather" not in json.dumps(receipt.as_dict())


def test_looking_first_changes_nothing(home: Path, filled: Callable[[], Keep]) -> None:
    before = everything(home)
    with filled() as keep:
        plan = erased(keep, dry_run=True)
        assert plan.removed["memories"] == 3
        assert (plan.event, plan.signature, plan.scrubbed) == (None, "", False)
    assert everything(home) == before


def test_some_memories_are_erased_by_their_ids_with_all_their_traces(home: Path, filled: Callable[[], Keep]) -> None:
    with filled() as keep:
        wanted = next(entry["id"] for entry in keep.get_memories() if "blue van" in entry["content"])
        child = keep.remember("The blue van needs tyres.", via="user", parents=[wanted]).memory_id
        receipt = keep.erase([wanted], by="eva", reason="asked")
        assert receipt.memories == (wanted,)
        assert receipt.derived == (child,)
        assert receipt.removed["memories"] == 1
        assert receipt.removed["history"] == 1
        with pytest.raises(UnknownId):
            keep.get_memory(wanted)
        assert keep.audit.verify().ok
    with intruder(home) as connection:
        for table in ("memories", "history", "queue", "snapshots", "exposures"):
            dump = str(connection.execute(f"SELECT body FROM {table}").fetchall())
            assert "red van" not in dump
            assert wanted not in dump or table == "memories", table


def test_nothing_remembers_what_an_erased_memory_contradicted_or_repeated(home: Path, clock: Clock) -> None:
    with Keep.open("alice", home=home, clock=clock, policy="inform", background=False) as keep:
        for source in ("crm", "billing"):
            keep.channels.enrol(source, by="eva", reason="ours")
        for via, number in (("user", "5501-22"), ("crm", "5501-23"), ("billing", "5501-23"), ("web", "5501-99")):
            assert keep.remember(f"{NAME}'s account is {number}.", via=via).memory_id
        keep.remember("Northwind's account is 7702-11.", via="user")
        gone = set(erased(keep).memories)
        assert len(gone) == 4
        keep.remember("Northwind's account is 7702-12.", via="user")
        assert keep.audit.verify().ok
    with intruder(home) as connection:
        for table in set(TABLES) - {"notes"}:
            dump = str(connection.execute(f"SELECT id, tag, body FROM {table}").fetchall())
            assert not [memory for memory in gone if memory in dump], table


def test_an_incident_keeps_its_books_without_the_name(home: Path, filled: Callable[[], Keep]) -> None:
    with filled() as keep:
        keep.revoke(channel="email", by="eva", reason=f"{NAME} wrote these")
        erased(keep)
        assert [incident.reason for incident in keep.incidents()] == ["[erased]"]
        assert keep.audit.verify().ok
    assert "quillfeather" not in everything(home)


def test_the_subject_is_found_however_it_is_written_and_only_as_words(home: Path, clock: Clock) -> None:
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        for text in (
            "I met ANA-MARIA Kovac.",
            "ana maria\u200b kovac called.",
            "Anna Maria Kovac is another.",
            "Banana maria kovacic.",
        ):
            assert keep.remember(text, via="user").accepted
        assert keep.erase(subject="Ana Maria Kovac", by="eva", reason="asked").removed["memories"] == 2
        assert len(keep.get_memories()) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"subject": None},
        {"subject": ""},
        {"subject": "ab"},
        {"subject": "x" * 500},
        {"subject": "!?!"},
        {"ids": ["mem_00000000000000000000"]},
        {"by": ""},
        {"reason": ""},
        {"reason": f"because of {NAME}"},
    ],
)
def test_an_erasure_that_cannot_be_meant_is_refused(filled: Callable[[], Keep], options: dict[str, object]) -> None:
    with filled() as keep:
        before = len(keep.audit.events())
        with pytest.raises(InputError):
            erased(keep, **options)
        assert len(keep.audit.events()) == before


def test_ids_that_are_not_there_are_refused(filled: Callable[[], Keep]) -> None:
    with filled() as keep, pytest.raises(UnknownId):
        keep.erase(["mem_00000000000000000000"], by="eva", reason="asked")


def test_other_processes_see_that_it_is_gone(filled: Callable[[], Keep]) -> None:
    with filled() as keep, filled() as other:
        assert other.recall("who drives a van?", k=5)
        erased(keep)
        assert not other.recall("who drives a van?", k=5)
        assert [entry["content"] for entry in other.get_memories()] == LEFT


def test_an_altered_row_with_the_subject_in_it_goes_as_well(home: Path, filled: Callable[[], Keep]) -> None:
    with intruder(home) as connection:
        connection.execute("UPDATE memories SET body = replace(body, 'blue', 'green')")
    with filled() as keep:
        erased(keep)
        assert [entry["blocked"] for entry in keep.get_memories()] == [False, False]
        assert keep.audit.verify().ok


def test_the_terminal_erases_and_prints_a_receipt(home: Path, filled: Callable[[], Keep]) -> None:
    base = ["erase", "--subject", NAME, "--by", "eva", "--reason", "asked", "--keep", "alice", "--home", str(home)]
    assert "Would erase: 3 rows of memories" in CliRunner().invoke(cli, [*base, "--dry-run"]).output
    receipt = json.loads(CliRunner().invoke(cli, [*base, "--format", "json"]).output)
    assert receipt["removed"]["memories"] == 3
    again = CliRunner().invoke(cli, base)
    assert again.exit_code == 0
    assert "Receipt: event" in again.output


def test_a_keep_destroys_itself_only_when_it_is_named(home: Path, filled: Callable[[], Keep]) -> None:
    keep = filled()
    with pytest.raises(InvalidRequest):
        keep.destroy(confirm="yes")
    assert keep.get_memories()
    keep.destroy(confirm="alice")
    assert not list((home / "data").iterdir())
