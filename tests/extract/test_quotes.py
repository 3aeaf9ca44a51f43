"""What an agent makes of a true quote where something foreign was read: the owner's whole words, nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.conftest import Clock
from truekeep import Keep

TWISTED = {
    "words left out": ("They pretended Eva's account is 9904-71.", "Eva's account is 9904-71"),
    "words left out, German": ("Sie taten so, als ob Evas Konto 9904-71 ist.", "Evas Konto 9904-71 ist"),
    "words left out, Spanish": ("Fingieron que la cuenta de Eva es 9904-71.", "la cuenta de Eva es 9904-71"),
    "words left out, Slovak": ("Predstierali, že Evin účet je 9904-71.", "Evin účet je 9904-71"),
    "words left out, Chinese": ("他们假装伊娃的账户是9904-71。", "伊娃的账户是9904-71"),
    "a frame dropped": ("False: my account is 9904-71.", "my account is 9904-71"),
    "a frame dropped, French": ("Faux : mon compte est 9904-71.", "mon compte est 9904-71"),
    "a frame dropped, Italian": ("Non è vero che il mio conto è 9904-71.", "il mio conto è 9904-71"),
    "a denial turned round": ("It is not the case that Tom may sign for me.", "Tom may sign for me"),
    "a denial turned round, Portuguese": ("Não é verdade que o Tom assina por mim.", "o Tom assina por mim"),
    "a denial turned round, Czech": ("Není pravda, že Tom za mě podepisuje.", "Tom za mě podepisuje"),
    "a denial turned round, Polish": ("To nieprawda, że Tom za mnie podpisuje.", "Tom za mnie podpisuje"),
}
SWAPPED = {
    "English": ("My landlord is Ivo Braun.", "Nora's account is 1180-22.", "Ivo Braun's account is 1180-22."),
    "German": ("Mein Vermieter ist Ivo Braun.", "Noras Konto ist 1180-22.", "Ivo Brauns Konto ist 1180-22."),
    "Slovak": ("Môj domáci je Ivo Braun.", "Norin účet je 1180-22.", "Ivov účet je 1180-22."),
}


@pytest.fixture
def tainted(keep: Keep) -> Iterator[Keep]:
    with keep.session("s-1", mediated=True) as session:
        session.observe("web", "Something to read.", principal="https://page.example")
        yield keep


def acting(keep: Keep) -> list[str]:
    return [memory["content"] for memory in keep.get_memories() if memory["may_act"]]


@pytest.mark.parametrize("case", TWISTED)
def test_a_quote_without_its_frame_brings_the_frame_along(tainted: Keep, case: str) -> None:
    said, quote = TWISTED[case]
    tainted.observe("s-1", "user", said)
    tainted.remember(quote, via="agent", session="s-1", quote=quote)
    tainted.extraction.run()
    assert set(acting(tainted)) <= {said}


@pytest.mark.parametrize("case", SWAPPED)
def test_a_name_from_another_message_is_not_put_into_the_owners_words(tainted: Keep, case: str) -> None:
    landlord, account, lie = SWAPPED[case]
    for text in (landlord, account):
        tainted.observe("s-1", "user", text)
    tainted.remember(lie, via="agent", session="s-1", quote=account)
    assert acting(tainted) == [account]


@pytest.mark.parametrize("case", TWISTED)
def test_a_true_quote_overwrites_no_other_memory(tainted: Keep, case: str) -> None:
    said, quote = TWISTED[case]
    memory = tainted.remember("My dentist is Dr. Novak.", via="user").memory_id
    assert memory
    tainted.observe("s-1", "user", said)
    verdict = tainted.update_memory(memory, quote, via="agent", session="s-1", quote=quote)
    assert not verdict.accepted
    assert tainted.get_memory(memory)["content"] == "My dentist is Dr. Novak."


@pytest.mark.parametrize("year", [1999, 2024, 2099])
def test_a_date_that_the_agent_chooses_moves_nothing_in_time(tainted: Keep, clock: Clock, year: int) -> None:
    said = "My account is 1180-22."
    tainted.observe("s-1", "user", said)
    chosen = datetime(year, 5, 1, tzinfo=UTC)
    tainted.remember(said, via="agent", session="s-1", quote=said, as_of=chosen)
    (memory,) = (one for one in tainted.get_memories() if one["content"] == said)
    assert str(year) not in memory["as_of"] or year == clock.now.year
    assert memory["valid_until"] is None
