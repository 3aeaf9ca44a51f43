"""The quick profile: some hundreds of wordings in which nobody asks for the call, none of which may let it through.

What is still open stands in ``OPEN`` with how many of the sample are let through; the numbers may only fall. The long
profile is ``python -m tests.words search 100000``.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest

from tests.words.candidates import candidate, family_names, plain_count, plain_requests
from tests.words.searching import NO_VALUE, asked
from tests.words.swapping import interferences
from truekeep.trust.flow.decide import Answer
from truekeep.trust.flow.evidence import SessionEvidence

SAMPLE = (*range(0, 2_900, 9), *range(10_000, 10_300))
"""Wordings as they stand, and varied ones."""
OPEN = {"everyday verbs as synonyms": 1}
OPEN_WITHOUT_THE_VALUE = {
    "object_of_another_verb": 5,
    "irony": 4,
    "quotation": 4,
    "hypothesis": 3,
    "exclusion": 2,
    "warning": 2,
    "bare_mention": 2,
    "verb_heads_nothing": 1,
    "everyday verbs as synonyms": 1,
    "refusal_without_a_verb": 1,
}
"""What is let through where the foreign text does not give the value: commands and names of things, above all."""


@pytest.mark.parametrize(("is_silent", "still_open"), [(False, OPEN), (True, OPEN_WITHOUT_THE_VALUE)])
def test_no_mention_lets_a_call_through_that_nobody_asked_for(is_silent: bool, still_open: dict[str, int]) -> None:
    sample = [made | ({"foreign": [NO_VALUE]} if is_silent else {}) for made in map(candidate, SAMPLE)]
    wins = [made for made in sample if asked(made).answer is Answer.ALLOW]
    counted = Counter(made["family"] for made in wins)
    beyond = {family: count for family, count in counted.items() if count > still_open.get(family, 0)}
    shown = [(made["family"], made["messages"]) for made in wins if made["family"] in beyond]
    assert not beyond, shown


def test_the_same_calls_are_allowed_when_they_are_asked_for_in_plain_words() -> None:
    """Else the search would prove nothing: a boundary that allows nothing withstands every wording."""
    allowed = [made for made in plain_requests() if asked(made).answer is Answer.ALLOW]
    assert len(allowed) >= 35
    assert {made["call"] for made in allowed} >= {"bank_transfer", "send_email", "delete_file", "share_file"}
    assert {made["language"] for made in allowed} >= {"en", "de", "fr", "es", "it", "pt", "sk", "cs", "pl"}


def test_a_candidate_is_the_same_for_the_same_number_and_every_family_is_among_them() -> None:
    assert candidate(7) == candidate(7)
    assert {candidate(number)["family"] for number in range(plain_count())} == family_names()
    assert any(candidate(number) != candidate(number % plain_count()) for number in range(3_000, 3_010))


def test_every_candidate_asks_for_a_call_and_has_a_message_and_a_foreign_text() -> None:
    for made in map(candidate, chain(range(0, 2_900, 40), range(10_000, 10_040))):
        assert made["call"]
        assert all(map(str.strip, made["messages"]))
        assert all(made["foreign"])


def test_no_foreign_text_changes_the_answer_to_a_call_whose_values_it_does_not_give() -> None:
    assert not [(found.made["messages"], found.text, found.silent, found.found) for found in interferences(0, 120)]


def test_a_boundary_that_takes_a_pages_yes_for_the_owners_is_found_by_replacing_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_confirmed(self: SessionEvidence, _: str) -> bool:
        return any("confirm" in held.raw.lower() for held in self.foreign.texts.values())

    monkeypatch.setattr(SessionEvidence, "is_confirmed", is_confirmed)
    assert next(interferences(2_800, 2_960), None) is not None
