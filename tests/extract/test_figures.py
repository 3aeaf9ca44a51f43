"""The published figures, through a whole keep: what is stored of the snippets, with which proof, and from where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from truekeep import Keep
from truekeep.extract.measure import Score, Snippet, snippets
from truekeep.stores.records import memory_from

SETS = ("development", "held_out")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Keep, list[Snippet]]]:
    """A keep that has heard, and distilled, all 200 snippets."""
    home: Path = tmp_path_factory.mktemp("figures")
    chosen = [snippet for name in SETS for snippet in snippets(name)]
    with Keep.open("ana", home=home) as keep:
        for number, snippet in enumerate(chosen):
            talk, session = snippet.conversation, f"s-{number}"
            keep.working.put(session, via="user", speaker=talk.speaker)
            keep.working.append(session, *talk.messages)
            for said in read_in(chosen, number):
                keep.observe(session, "web", said, role="user")
            keep.extract(session)
        yield keep, chosen


def read_in(chosen: list[Snippet], number: int) -> list[str]:
    """What the agent reads in a session: the first-person facts of another one, which an extractor would take."""
    return [message.text for message in chosen[(number + 7) % len(chosen)].conversation.owner_messages()]


def stored(keep: Keep) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for memory in keep.get_memories():
        found.setdefault(memory["origin"]["session"], []).append(memory["content"])
    return found


def quote_of(keep: Keep, memory_id: str) -> str:
    """The stored quote; listings do not show it, because nobody sanitised it."""
    quote = memory_from(keep._way_out.reader.found(memory_id)).origin.quote
    assert quote
    return quote


def test_there_are_two_hundred_snippets_in_several_languages(filled: tuple[Keep, list[Snippet]]) -> None:
    _, chosen = filled
    assert len(chosen) == 200
    assert len({snippet.language for snippet in chosen}) >= 5


def test_what_is_stored_of_them_keeps_the_promised_precision_and_recall(filled: tuple[Keep, list[Snippet]]) -> None:
    keep, chosen = filled
    total, texts = Score(), stored(keep)
    for number, snippet in enumerate(chosen):
        total.add(snippet, texts.get(f"s-{number}", []))
    assert total.precision >= 0.9
    assert total.recall >= 0.6


def test_every_owner_fact_carries_a_quote_that_the_owner_said(filled: tuple[Keep, list[Snippet]]) -> None:
    keep, chosen = filled
    said = {f"s-{number}": snippet.conversation.owner_messages() for number, snippet in enumerate(chosen)}
    facts = [memory for memory in keep.get_memories() if memory["standing"] == "owner"]
    assert len(facts) > 100
    for memory in facts:
        quote = quote_of(keep, memory["id"])
        assert any(quote in message.text for message in said[memory["origin"]["session"]])


def test_nothing_that_was_read_reaches_the_active_store(filled: tuple[Keep, list[Snippet]]) -> None:
    keep, chosen = filled
    memories = keep.get_memories()
    assert {memory["origin"]["channel"] for memory in memories} == {"user"}
    for memory in memories:
        number = int(memory["origin"]["session"].removeprefix("s-"))
        quote = quote_of(keep, memory["id"])
        said = [message.text for message in chosen[number].conversation.owner_messages()]
        assert not any(quote in text for text in read_in(chosen, number) if text not in said)
