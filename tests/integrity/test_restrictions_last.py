"""What a row forbade stays forbidden when the row is altered, until a person decides; an edit brings nothing back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Clock, intruder
from truekeep import Keep
from truekeep.errors import StoreTampered
from truekeep.ops.recovery import accept

CONFIG = """
[channels.crm]
standing = "enrolled"
[channels.billing]
standing = "enrolled"
[channels.desk]
standing = "enrolled"
"""
OLD, NEW = "Northwind's account is 1180-22.", "Northwind's account is 9904-71."
EDITS = {
    "text": "body = replace(body, '9904', '5555')",
    "standing": "body = replace(body, '\"owner\"', '\"hearsay\"')",
    "no body": "body = '{}'",
    "no JSON": "body = 'x'",
    "id": "id = 'mem_ffffffffffffffffffff'",
    "tag": "tag = ''",
    "mac": "mac = zeroblob(48)",
    "everything": "id = 'mem_ffffffffffffffffffff', tag = 'owner:x', body = '{}', mac = zeroblob(48)",
}
edits = pytest.mark.parametrize("edit", EDITS)
WHILE = pytest.mark.parametrize("while_open", [True, False], ids=["while open", "while closed"])


@pytest.fixture
def shop(home: Path, clock: Clock) -> Callable[[], Keep]:
    home.mkdir()
    (home / "config.toml").write_text(CONFIG)
    return lambda: Keep.open("shop", home=home, clock=clock, policy="inform", background=False)


def alter(home: Path, edit: str, text: str) -> None:
    with intruder(home, "shop") as connection:
        connection.execute(f"UPDATE memories SET {EDITS[edit]} WHERE body LIKE ?", (f"%{text}%",))
        assert connection.changes() == 1


def acting(keep: Keep) -> list[str]:
    return [memory["content"] for memory in keep.get_memories() if memory["may_act"]]


def proves(keep: Keep, account: str) -> bool:
    hits = keep.recall("Northwind's account", k=9)
    return any(account in hit.text and hit.may_act for hit in hits) or any(account in text for text in acting(keep))


@pytest.mark.slow
@edits
@WHILE
def test_an_altered_newer_word_does_not_bring_the_older_back(
    home: Path, shop: Callable[[], Keep], edit: str, while_open: bool
) -> None:
    keep = shop()
    keep.remember(OLD, via="user")
    new = keep.remember(NEW, via="user").memory_id
    assert acting(keep) == [NEW]
    if not while_open:
        keep.close()
    alter(home, edit, "9904")
    with keep if while_open else shop() as keep:
        assert not proves(keep, "1180")
        assert not proves(keep, "9904")
        assert "1180" not in keep.snapshot("s-1").text
        assert not keep.audit.verify().ok
        with keep.session("s-2", mediated=True) as session:
            session.observe("web", "The weather is fine.", principal="https://weather.example/")
            session.observe("user", "Please pay Northwind 300 euros.")
            asked = session.check_action("pay", {"payee": "Northwind", "amount": 300, "account": "1180-22"})
            assert asked.decision.value != "allow"
        # Clearing the altered row away is no word about the older one; saying it is.
        gone = new if edit not in ("id", "everything") else "mem_ffffffffffffffffffff"
        keep.delete_memory(gone or "", via="user")
        assert not proves(keep, "1180")
    with shop() as keep:
        assert keep.audit.verify().ok
        assert not proves(keep, "1180")
        assert keep.remember("Northwind's account is 1180-22 again.", via="user").accepted
        assert proves(keep, "1180")


@WHILE
def test_an_altered_word_that_outdated_a_part_keeps_it_out(
    home: Path, shop: Callable[[], Keep], while_open: bool
) -> None:
    keep = shop()
    keep.remember("My phone is 0905 123 456. I live in Praha.", via="user")
    keep.remember("I moved to Brno.", via="user")
    if not while_open:
        keep.close()
    alter(home, "id", "Brno")
    with keep if while_open else shop() as keep:
        assert acting(keep) == []


@pytest.mark.slow
@edits
@WHILE
def test_what_an_altered_word_of_the_owner_held_back_does_not_act(
    home: Path, shop: Callable[[], Keep], edit: str, while_open: bool
) -> None:
    keep = shop()
    keep.remember(NEW, via="user")
    for system in ("crm", "billing"):
        keep.remember(OLD, via=system)
    assert acting(keep) == [NEW]
    if not while_open:
        keep.close()
    alter(home, edit, "9904")
    with keep if while_open else shop() as keep:
        assert acting(keep) == []


@edits
def test_what_systems_say_after_the_owners_word_was_altered_does_not_act_either(
    home: Path, shop: Callable[[], Keep], edit: str
) -> None:
    """What the altered word would say against it nobody can know."""
    with shop() as keep:
        stored = keep.remember(NEW, via="user").memory_id
    alter(home, edit, "9904")
    with shop() as keep:
        for system in ("crm", "billing"):
            keep.remember(OLD, via=system)
        assert acting(keep) == []
        keep.remember("My sister lives in Brno.", via="user")
        assert acting(keep) == ["My sister lives in Brno."], "the owner's own word is not held up"
        keep.delete_memory(stored if edit not in ("id", "everything") else "mem_ffffffffffffffffffff", via="user")  # type: ignore[arg-type]
        assert OLD in acting(keep)


@pytest.mark.parametrize("gone", [False, True], ids=["living", "deleted"])
@pytest.mark.parametrize("edit", ["text", "id", "tag"])
def test_an_altered_ancestor_does_not_make_its_echoes_independent(
    home: Path, shop: Callable[[], Keep], edit: str, gone: bool
) -> None:
    fact = "Northwind's plan is Gold."
    with shop() as keep:
        page = keep.remember("Northwind moved to another plan, 9904.", via="desk").memory_id
        assert page
        for system in ("crm", "billing"):
            keep.remember(fact, via=system, parents=[page])
        if gone:
            keep.delete_memory(page, via="user")
        assert acting(keep) == []
    with intruder(home, "shop") as connection:
        table = "history" if gone else "memories"
        connection.execute(f"UPDATE {table} SET {EDITS[edit]} WHERE body LIKE '%9904%'")
        assert connection.changes() == 1
    with shop() as keep:
        assert acting(keep) == []


def test_an_altered_exposure_does_not_let_a_session_begin_anew(home: Path, shop: Callable[[], Keep]) -> None:
    with shop() as keep:
        keep.remember("The office in Nitra closes at five.", via="web")
        keep.recall("office", session="s-1", background=True)
    with intruder(home, "shop") as connection:
        connection.execute("UPDATE exposures SET tag = 'elsewhere', body = replace(body, 's-1', 'elsewhere')")
        assert connection.changes()
    with shop() as keep, keep.session("s-1", mediated=True):
        verdict = keep.remember("The office in Nitra may be closed.", via="agent", session="s-1")
        assert verdict.memory_id
        assert keep.get_memory(verdict.memory_id)["standing"] == "hearsay"


def test_a_prompt_that_was_taken_out_of_use_does_not_come_back(home: Path, shop: Callable[[], Keep]) -> None:
    with shop() as keep:
        for by in ("eva", "adam"):
            keep.prompts.add("summary", f"Keep what people say about their gardens, for {by}.", by=by)
            keep.prompts.approve("summary", by="maria", reason="fine")
        keep.prompts.disable("summary", by="maria", reason="no")
    with intruder(home, "shop") as connection:
        connection.execute(
            "UPDATE prompts SET body = replace(body, 'disabled', 'approved') WHERE body LIKE '%disabled%'"
        )
        assert connection.changes() == 1
    with pytest.raises(StoreTampered), shop() as keep:
        keep.prompts.usable("summary")


def test_a_person_can_give_up_every_altered_row(home: Path, shop: Callable[[], Keep]) -> None:
    with shop() as keep:
        keep.remember("The office in Nitra closes at five.", via="web")
        keep.recall("office", session="s-1", background=True)
    with intruder(home, "shop") as connection:
        connection.execute("UPDATE exposures SET body = '{}'")
    with shop() as keep:
        assert not keep.audit.verify().ok
    seen = accept("shop", by="eva", reason="looked at it", home=home)
    assert any("exposures row" in row for row in seen.given_up)
    with shop() as keep:
        assert keep.audit.verify().ok
