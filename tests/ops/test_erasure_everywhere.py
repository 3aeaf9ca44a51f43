"""After an erasure the words are nowhere: no table, no event, no file beside the keep, no answer of any process."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock, intruder
from truekeep import Keep, Tool
from truekeep.config import Paths
from truekeep.errors import InputError, StoreTampered
from truekeep.extract.conversation import Message
from truekeep.ops.erasure import TREATMENTS, Receipt
from truekeep.ops.recovery import back_up, restore
from truekeep.protect.files_key import protect_key
from truekeep.protect.files_quarantine import PassageQuarantine
from truekeep.stores.base import TABLES
from truekeep.stores.keys import is_signed_by

NAME = "Žofia Kováčová"
PHONE = "0905 123 456"
SESSION = "zofia-0905123456"
"""Names of sessions are ASCII."""
WRITTEN = {
    "as typed": NAME,
    "in capitals": NAME.upper(),
    "decomposed": unicodedata.normalize("NFD", NAME),
    "apart": "  ".join(NAME),
    "with hidden characters": "\u200b".join(NAME),
    "together": NAME.replace(" ", ""),
    "as JSON": json.dumps(NAME),
    "as JSON in JSON": json.dumps(json.dumps(NAME)),
    "in a URL": "https://example.org/?q=%C5%BDofia%20Kov%C3%A1%C4%8Dov%C3%A1",
}


LIKE_IDS = ("4111111111111111", "110101199003070011", "cus_4f3a9b2c1d0e", "0f9d2ce1b3a45d6678aa01bc")
"""A card's number, a national one and ids of other systems: they look like ids and hashes of ours."""


@dataclass
class Filled:
    """A keep in which a person and their number are in every kind of row, and who opens it."""

    home: Path
    clock: Clock

    def open(self) -> Keep:
        return Keep.open("alice", home=self.home, clock=self.clock, policy="inform", background=False)

    def erase(self) -> list[Receipt]:
        with self.open() as keep:
            return [
                keep.erase(subject=one, by="eva", reason="asked to be forgotten") for one in (NAME, PHONE, "kovacova")
            ]


@pytest.fixture
def filled(home: Path, clock: Clock) -> Filled:
    made = Filled(home, clock)
    with made.open() as keep:
        keep.remember("The office is in Nitra.", via="user")
        for number, text in enumerate(WRITTEN.values()):
            keep.remember(f"Guest {number} of the hotel is {text}.", via="user")
        _remember_beside_the_text(keep)
        _act(keep)
        _decide(keep)
        _wrap(keep)
    back_up("alice", home / "copy.db", home=home, clock=clock)
    restore("alice", home / "copy.db", by="eva", reason="a drill", home=home, clock=clock)
    (home / "copy.db").unlink()
    (home / "data" / ".alice.db.0123456789ab.truekeep-draft").write_bytes(NAME.encode())
    return made


def _remember_beside_the_text(keep: Keep) -> None:
    for metadata in (
        {NAME: 1},
        {"phone": 905123456},
        {"phones": [905123456.0]},
        {"by": NAME, "run": NAME, "session": NAME},
        {"deep": [{"er": {"by": NAME}}]},
        {"first": "Žofia", "last": "Kováčová"},
        {"packed": json.dumps({"who": NAME, "phone": 905123456})},
    ):
        keep.remember(f"Somebody drives lorry {len(json.dumps(metadata))}.", via="user", metadata=metadata)
    keep.remember("A van came.", via="user", entities=["Žofia", "Kováčová"])
    first = keep.remember(f"{NAME} drives a red van.", via="user", topics=["vans"]).memory_id
    assert first
    keep.update_memory(first, f"{NAME} drives a blue van.", via="user")
    keep.remember(f"{NAME}'s account is 5501-24.", via="web", principal="https://kovacova.example")


def _act(keep: Keep) -> None:
    tools = [Tool("pay"), Tool("search")]
    with keep.session(SESSION, mediated=True, tools=tools) as session:
        session.observe("user", f"Tell {NAME} that the parcel is here, and pay 5 euros to {NAME}, phone {PHONE}.")
        session.recall("who drives a van?")
        for arguments in ({"to": NAME, "phone": 905123456}, {NAME: "yes"}, {"note": json.dumps([NAME])}):
            session.check_action("pay", arguments, run=f"run-{SESSION}")
        session.observe_result("search", {NAME: {"phone": 905123456}})
        session.observe("web", f"{NAME} won a prize", principal="https://news.example/a")
        session.snapshot()
        session.extract()
    keep.working.put(SESSION, via="user", data={"customer": NAME, "phone": 905123456}, context=f"About {NAME}")
    keep.working.append("plain", Message("m-1", "user", f"{NAME} called", keep._clock()))
    with keep.session("plain") as session:
        session.remember("The keys are in the drawer.", via="user")
    keep.session(f"child-of-{SESSION}", parent=SESSION)


def _wrap(keep: Keep) -> None:
    from langgraph.store.memory import InMemoryStore

    from truekeep.protect.wrap.langgraph import protect_store

    store = protect_store(InMemoryStore(), keep, channel="web", mode="shadow", principal=NAME)
    store.put(("people", NAME), PHONE, {"text": f"{NAME} is a customer."})


def _decide(keep: Keep) -> None:
    keep.grants.add(tool="pay", where={"to": NAME}, by=NAME)
    keep.prompts.add("kovacova", f"List what {NAME} orders:\n{{message}}", by=NAME)
    keep.prompts.add("orders", "List what the user orders:\n{message}", by=NAME)
    keep.channels.enrol("crm", by=NAME, reason=f"{NAME}'s CRM")
    keep.channels.mute("web", f"{NAME}'s page", by=NAME, reason="no")
    keep.revoke(principal=f"  {NAME}", by=NAME, reason="a bad source")
    keep.revoke(principal="https://kovacova.example", by=NAME, reason=f"{NAME} wrote these")
    doomed = keep.remember(f"{NAME} sold the van.", via="user").memory_id
    assert doomed
    keep.delete_memory(doomed, via="user", reason=f"{NAME} did not")
    kept = keep.get_memories()[0]["id"]
    item = keep.bind("agent").delete_memory(kept).item_id
    assert item
    keep.review.reject(item, by=NAME, reason=f"{NAME} asked to keep it")


def leaks(text: str) -> list[str]:
    """The words as somebody would find them who knows what to look for, by another way than the product's."""
    for _ in range(3):
        text = re.sub(r"(?:\\+u([0-9a-fA-F]{4}))", lambda match: chr(int(match[1], 16)), text)
    plain = "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())
    return [word for word in ("žofia", "kováčov", "905123456", "kovacova") if word in plain]


def rows(home: Path) -> Iterator[tuple[str, str]]:
    with intruder(home) as connection:
        for table in (*TABLES, "events"):
            for row in connection.execute(f"SELECT * FROM {table}"):
                yield table, " | ".join(str(one) for one in row if not isinstance(one, bytes))


def answers(keep: Keep) -> Iterator[tuple[str, str]]:
    """What a process says when it is asked for everything."""
    ids = [entry["id"] for entry in keep.get_memories()]
    asked: dict[str, Any] = {
        "memories": keep.get_memories(),
        "listing": keep.browse(limit=80),
        "sources": keep.sources(),
        "recall": keep.recall("who drives a van or a lorry, and who called?", k=20),
        "history": [keep.history(one) for one in ids],
        "trace": [keep.trace(one).data for one in ids],
        "snapshot": keep.snapshot("another").text,
        "events": [(event.kind, dict(event.body)) for event in keep.audit.events()],
        "actors": keep.audit.actors(),
        "rejected": keep.audit.rejected_sources(keep._clock().date()),
        "incidents": keep.incidents(),
        "accounts": [keep.account(one.id).data for one in keep.incidents()],
        "prompts": list(keep.prompts.all()),
        "grants": keep.grants.list(),
        "channels": keep.channels.list(),
        "muted": keep.channels.muted(),
        "queue": [*keep.review.list(None), *keep.review.groups()],
        "tickets": keep.actions.pending(),
        "working": [keep.working.get(one) for one in keep.working.list()],
        "export": keep.export(),
    }
    return ((name, str(answer)) for name, answer in asked.items())


def test_every_table_has_a_treatment() -> None:
    assert TREATMENTS.keys() == set(TABLES)


def test_the_words_are_in_most_tables_before(filled: Filled) -> None:
    """Otherwise the tests below would look for nothing."""
    found = {table for table, text in rows(filled.home) if leaks(text)}
    by_hash = {"answers", "rivals", "derived", "marks", "exposures", "credits"}
    assert found >= set(TABLES) - by_hash | {"events"}


def test_no_row_and_no_event_holds_the_words_afterwards(filled: Filled) -> None:
    filled.erase()
    assert not [(table, text) for table, text in rows(filled.home) if leaks(text)]
    with filled.open() as keep:
        assert keep.audit.verify().ok
        texts = [entry["content"] for entry in keep.get_memories()]
        assert texts == ["The office is in Nitra.", "The keys are in the drawer."]


def test_no_file_of_the_home_holds_the_words_afterwards(filled: Filled) -> None:
    receipts = filled.erase()
    files = [path for path in filled.home.rglob("*") if path.is_file()]
    assert not [path.name for path in files if ".replaced-" in path.name or path.name.endswith("-draft")]
    with intruder(filled.home) as connection:
        assert not leaks(connection.serialize("main").decode("utf-8", errors="replace"))
    others = [path for path in files if path.suffix not in (".db", ".db-wal", ".db-shm")]
    assert not [path.name for path in others if leaks(path.read_bytes().decode("utf-8", errors="replace"))]
    assert any(".replaced-" in name for name in receipts[0].files)
    assert any(name.endswith("-draft") for name in receipts[0].files)


def test_no_process_says_the_words_afterwards(filled: Filled) -> None:
    with filled.open() as other:
        assert {name for name, text in answers(other) if leaks(text)} > {"memories", "events", "actors", "sources"}
        filled.erase()
        assert not [(name, text) for name, text in answers(other) if leaks(text)]
        other.remember("Somebody else came.", via="user")
        assert other.audit.verify().ok


def test_the_receipt_names_what_is_left_to_a_person(filled: Filled) -> None:
    (filled.home / "config.toml").write_text(f'# Ask {NAME}\npolicy = "inform"\n')
    rules, paths = filled.home / "CLAUDE.md", Paths.resolve(filled.home)
    rules.write_text(f"Use tabs.\nAsk {NAME} first.\n")
    PassageQuarantine(paths.data, protect_key(paths.keys, create=True)).take_out(rules, 2, 2, "2026-01-01")
    first, second, _ = filled.erase()
    assert any("config.toml" in one for one in first.left)
    assert any("backup" in one for one in first.left)
    assert any("1 passages" in one for one in first.left)
    assert any("stores that are wrapped" in one for one in first.left)
    assert not any("config.toml" in one for one in second.left)
    assert not leaks(json.dumps([first.as_dict(), second.as_dict()]))
    assert is_signed_by(first.public_key, first.signature, first.signed_bytes())


def test_who_erases_themselves_is_not_named_either(filled: Filled) -> None:
    with filled.open() as keep:
        receipt = keep.erase(subject=NAME, by=NAME, reason="asked")
    assert receipt.by == "[erased]"
    assert not [text for _, text in rows(filled.home) if "kováčov" in text.casefold()]


def test_what_a_session_is_called_goes_and_what_restricts_it_stays(filled: Filled) -> None:
    """Otherwise erasing would make a tainted session clean."""
    with filled.open() as keep:
        assert not keep.is_clean(SESSION)
        before = len(keep._ledger.all("sessions"))
    filled.erase()
    with filled.open() as keep:
        names = [sealed.row.id for sealed in keep._ledger.all("sessions")]
        assert len(names) == before
        renamed = [name for name in names if name.startswith("erased-")]
        assert renamed
        assert not any(keep.is_clean(name) for name in renamed)


def test_subjects_that_are_words_of_the_keep_itself_erase_nothing_else(filled: Filled) -> None:
    with filled.open() as keep:
        before = [entry["content"] for entry in keep.get_memories()]
        for word in ("owner", "semantic", "user", "hearsay", "2026", "mem"):
            receipt = keep.erase(subject=word, by="eva", reason="asked", dry_run=True)
            assert "memories" not in receipt.removed, word
            assert "memories" not in receipt.redacted, word
        assert "a channel of the settings" in str(keep.erase(subject="user", by="eva", reason="x", dry_run=True).left)
        assert [entry["content"] for entry in keep.get_memories()] == before


def test_a_rewind_past_an_erasure_brings_nothing_erased_back(filled: Filled) -> None:
    with filled.open() as keep:
        at = keep.audit.head
    filled.erase()
    with filled.open() as keep:
        later = keep.remember("Said later.", via="user").memory_id
        report = keep.rewind(at, by="eva", reason="a drill")
        assert [one["id"] for one in report.data["removed"]] == [later]
        assert [entry["content"] for entry in keep.get_memories()] == [
            "The office is in Nitra.",
            "The keys are in the drawer.",
        ]
    assert not [text for _, text in rows(filled.home) if leaks(text)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE events SET body = json_set(body, '$.by', 'eva') WHERE kind = 'incident.revoked'",
        "UPDATE events SET body = json_remove(body, '$.by') WHERE kind = 'channel.enrolled'",
        "UPDATE events SET body = '{}' WHERE kind = 'incident.revoked'",
        "UPDATE events SET body = 'no JSON' WHERE kind = 'grant.added'",
        "UPDATE events SET body = json_remove(body, '$.restated') WHERE kind = 'subject.erased'",
        "UPDATE events SET kind = 'memory.stored' WHERE kind = 'incident.revoked'",
        "UPDATE events SET at = '2026-03-01T11:00:00.000000Z' WHERE kind = 'incident.revoked'",
        "UPDATE events SET state = zeroblob(32) WHERE kind = 'incident.revoked'",
        "UPDATE events SET hash = zeroblob(32) WHERE kind = 'incident.revoked'",
    ],
)
def test_an_event_in_which_something_was_erased_is_sealed_like_any_other(filled: Filled, edit: str) -> None:
    filled.erase()
    with intruder(filled.home) as connection:
        connection.execute(edit)
    with pytest.raises(StoreTampered) as refused:
        filled.open()
    assert refused.value.code in ("chain_broken", "store_diverged")


def test_what_was_erased_in_an_event_cannot_be_put_back(filled: Filled) -> None:
    kind = "incident.revoked"
    with intruder(filled.home) as connection:
        old = connection.execute("SELECT seq, body FROM events WHERE kind = ?", (kind,)).fetchall()
    filled.erase()
    with intruder(filled.home) as connection:
        connection.executemany("UPDATE events SET body = ?2 WHERE seq = ?1", old)
    with pytest.raises(StoreTampered, match="chain is broken"):
        filled.open()


def test_erasing_again_in_the_same_events_holds_and_outlasts_new_keys(filled: Filled) -> None:
    from truekeep.config import Paths, Settings
    from truekeep.stores.rotation import rotate_data

    filled.erase()
    with filled.open() as keep:
        keep.erase(subject="eva", by="ines", reason="asked")
        assert keep.audit.verify().ok
        assert "eva" not in keep.audit.actors()
    rotate_data(Paths.resolve(filled.home), "alice", filled.clock, Settings())
    with filled.open() as keep:
        keep.erase(subject="ines", by="otto", reason="asked")
        assert keep.audit.verify().ok
        assert not {"eva", "ines"} & keep.audit.actors().keys()


def test_a_stranger_in_a_table_that_nobody_sees_goes_as_well(filled: Filled) -> None:
    with intruder(filled.home) as connection:
        connection.execute(
            "INSERT INTO tombstones(seq, id, tag, body, mac) VALUES (900, 'x', '', ?, zeroblob(32))",
            (json.dumps({"reason": NAME}),),
        )
    filled.erase()
    assert not [text for _, text in rows(filled.home) if leaks(text)]


def test_a_call_keeps_no_words_of_a_memory_that_is_erased_by_its_id(filled: Filled) -> None:
    with filled.open() as keep:
        wanted = [entry["id"] for entry in keep.get_memories() if "blue van" in entry["content"]]
        assert keep.erase(wanted, by="eva", reason="asked").redacted["tickets"]
        bodies = [json.loads(sealed.row.body) for sealed in keep._ledger.all("tickets")]
    assert not [body for body in bodies if wanted[0] in body.get("matched_values", {})]


@pytest.mark.parametrize("number", LIKE_IDS)
def test_a_number_that_looks_like_an_id_of_ours_is_erased_wherever_it_stands(home: Path, number: str) -> None:
    with Keep.open("alice", home=home, policy="inform", background=False) as keep:
        stays = keep.remember("The office is in Nitra.", via="user").memory_id
        assert stays
        keep.remember("The plan is blue.", via="user", session=number, topics=[number], entities=[number])
        keep.remember("The van is red.", via="user", session=number, metadata={"customer": number, number: [number]})
        keep.remember(number, via="user", session=f"s-{number}")
        keep.remember("Prizes are won here.", via="web", principal="https://news.example", session=f"member:{number}")
        keep.session(number, mediated=True).check_action("pay", {"card": number}, run=number)
        keep.grants.add(tool="pay", where={"card": number}, by="eva")
        keep.revoke(session=number, by="eva", reason="a bad session", dry_run=False)
        keep.erase(subject=number, by="eva", reason="asked to be forgotten")
        rows = [sealed.row for table in TABLES for sealed in keep._ledger.everything(table)]
        told = [part for row in rows for part in (row.id, row.tag, row.body)]
        told += [event.body for event in keep._ledger.events()]
        assert [part for part in told if number in part] == []
        assert keep.get_memory(stays)["id"] == stays
        assert keep.audit.verify().ok


def test_an_id_of_the_keeps_is_no_subject(home: Path) -> None:
    """Taken for one, it would be left where it stands, and the receipt would say that it is gone."""
    with Keep.open("alice", home=home, background=False) as keep:
        memory = keep.remember("The office is in Nitra.", via="user").memory_id
        with pytest.raises(InputError) as refused:
            keep.erase(subject=memory, by="eva", reason="asked")
        assert refused.value.code == "subject_is_id"
