"""Pins: the owner puts a memory first in every prompt, in one step, and nobody else does."""

from __future__ import annotations

import pytest

from tests.conftest import Clock
from truekeep import Keep
from truekeep.errors import InvalidRequest, NotAllowed, UnknownId
from truekeep.search.terms import ESSENTIALS, KINDS, essential_in
from truekeep.text.language import language_table, languages_with
from truekeep.text.words import words

SAID = {
    "I'm allergic to penicillin, by the way.": "allergy",
    "Ich bin allergisch gegen Haselnüsse": "allergy",
    "soy celíaca desde niña": "allergy",
    "Je suis allergique aux crustacés.": "allergy",
    "sono intollerante al lattosio": "allergy",
    "tenho alergia a amendoim": "allergy",
    "Mám alergiu na včely.": "allergy",
    "jsem alergická na roztoče": "allergy",
    "mam uczulenie na pyłki": "allergy",
    "我对花生过敏": "allergy",
    "Please call me Mimi": "address",
    "Nenn mich bitte nicht Herr Doktor, nenn mich Olli": "address",
    "appelle-moi Zoé": "address",
    "Tykaj mi, prosím.": "address",
    "My name is Ottilie Brandt": "name",
    "Ich heiße Ottilie": "name",
    "jmenuju se Otýlie": "name",
    "我叫小梅": "name",
    "Answer me in Slovak when I write Slovak.": "language",
    "Antworte mir bitte auf Deutsch": "language",
    "odpowiadaj mi po polsku": "language",
    "From now on keep it short.": "wish",
    "Od teraz mi píš stručne.": "wish",
    "以后请简短回答": "wish",
    "The bakery on Pell Street closes at six.": "",
    "Wir waren gestern im Kino.": "",
}


def first_line(keep: Keep, session: str = "s-1") -> str:
    return keep.snapshot(session, refresh=True).text.splitlines()[2]


@pytest.mark.parametrize(("text", "kind"), SAID.items())
def test_what_must_not_be_missed_is_told_in_every_language(text: str, kind: str) -> None:
    assert essential_in(words(text)) == kind


def test_every_language_with_a_table_has_phrases_for_each_kind() -> None:
    assert len(languages_with(ESSENTIALS)) == 10
    assert all(set(language_table(name, ESSENTIALS)) == set(KINDS) for name in languages_with(ESSENTIALS))


def test_a_pin_puts_a_memory_first_until_it_is_taken_away(keep: Keep) -> None:
    (oldest, *_) = keep.remember_many([f"Room {number} is on the left." for number in range(9)], via="user")
    assert oldest.memory_id
    before = keep.get_memory(oldest.memory_id)
    assert keep.pin(oldest.memory_id, via="user").code == "pinned"
    assert "Room 0" in first_line(keep)
    assert keep.get_memory(oldest.memory_id)["pinned"] is True
    assert keep.unpin(oldest.memory_id, via="user").code == "unpinned"
    assert "Room 0" not in first_line(keep)
    after = keep.get_memory(oldest.memory_id)
    assert {name: after[name] for name in before if name != "accessed"} == {
        name: before[name] for name in before if name != "accessed"
    } | {"accessed_at": after["accessed_at"]}
    assert [event.kind for event in keep.audit.events() if "pinned" in event.kind] == [
        "memory.pinned",
        "memory.unpinned",
    ]


@pytest.mark.parametrize("via", ["agent", "web", "email", "tool", "file", "paste", "import", "outcomes"])
def test_only_who_may_confirm_pins(keep: Keep, via: str) -> None:
    memory = keep.remember("I like tea.", via="user").memory_id
    assert memory
    with pytest.raises(NotAllowed):
        keep.pin(memory, via=via)
    assert keep.get_memory(memory)["pinned"] is False
    keep.pin(memory, via="user")
    with pytest.raises(NotAllowed):
        keep.unpin(memory, via=via)
    assert keep.get_memory(memory)["pinned"] is True


def test_hearsay_and_what_is_not_there_cannot_be_pinned(informed: Keep) -> None:
    heard = informed.remember("The museum is free on Sundays.", via="web", principal="https://m.example").memory_id
    assert heard
    with pytest.raises(InvalidRequest) as refused:
        informed.pin(heard, via="user")
    assert refused.value.code == "pin_hearsay"
    with pytest.raises(UnknownId):
        informed.pin("mem_00000000000000000000", via="user")


def test_a_pin_stays_when_the_owner_changes_the_words_and_through_a_rewind(keep: Keep) -> None:
    memory = keep.remember("I like tea.", via="user").memory_id
    assert memory
    moment = list(keep.audit.events())[-1].seq
    keep.pin(memory, via="user")
    keep.update_memory(memory, "I like green tea.", via="user")
    assert keep.get_memory(memory)["pinned"] is True
    keep.rewind(moment)
    assert [(one["content"], one["pinned"]) for one in keep.get_memories()] == [("I like tea.", True)]
    assert keep.audit.verify().ok


def test_a_source_that_changes_its_own_words_loses_the_pin(keep: Keep) -> None:
    keep.channels.enrol("crm", by="olga", reason="our own system")
    memory = keep.remember("Contoso's contact is Maria.", via="crm").memory_id
    assert memory
    keep.pin(memory, via="user")
    keep.update_memory(memory, "Contoso's contact is Mallory.", via="crm")
    assert keep.get_memory(memory)["pinned"] is False


def test_a_pin_leaves_what_was_credited_to_a_memory(keep: Keep) -> None:
    keep.channels.enrol("crm", by="olga", reason="our own system")
    memory = keep.remember("Contoso's account is 7700-11.", via="crm").memory_id
    assert memory
    version = keep.get_memory(memory)["version"]
    keep.pin(memory, via="user")
    assert keep.get_memory(memory)["version"] == version


def test_only_the_owners_own_acting_words_are_proposed(informed: Keep, clock: Clock) -> None:
    with informed.session("s-1", mediated=True) as session:
        session.observe("user", "I am allergic to walnuts and my desk is by the window.")
        session.observe("web", "I am allergic to doors.", principal="https://page.example")
    informed.extraction.run()
    informed.remember("Call me Admin.", via="agent")
    informed.remember("My name is Mallory.", via="web")
    gone = informed.remember("I'm allergic to bees.", via="user", expires_at=clock.now).memory_id
    assert gone
    proposed = informed.proposed_pins()
    assert [(one["content"], one["essential"]) for one in proposed] == [
        ("I am allergic to walnuts and my desk is by the window.", "allergy")
    ]
    informed.pin(proposed[0]["id"], via="user")
    assert informed.proposed_pins() == []
