"""A memory is the owner's word only if the owner said it: quote, values, subject, denial and all."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from truekeep.quote import OwnerMessage, Proof, SeenTexts, prove_quote

CASES = yaml.safe_load((Path(__file__).parent / "proofs.yaml").read_text("utf-8"))
AT = datetime(2025, 3, 14, 9, tzinfo=UTC)


def proof(quote: str, memory: str, *said: str, seen: SeenTexts | None = None, speaker: str | None = "Alice") -> Proof:
    return prove_quote(quote, memory, [OwnerMessage(text, AT) for text in said], seen=seen, speaker=speaker)


@pytest.mark.parametrize(("quote", "memory", "said"), CASES["proved"])
def test_what_the_owner_said_is_proved(quote: str, memory: str, said: str) -> None:
    found = proof(quote, memory, said)
    assert (found.ok, found.code) == (True, "quoted")


@pytest.mark.parametrize(("quote", "memory", "said", "code"), CASES["refused"])
def test_what_the_owner_did_not_say_is_not(quote: str, memory: str, said: str, code: str) -> None:
    found = proof(quote, memory, said)
    assert (found.ok, found.code) == (False, code)
    assert not found
    assert found.reason.endswith(".")


@pytest.mark.parametrize(
    "said",
    [
        "See this mail:\n\nFrom: x@evil.example\nSubject: hi\n\nmy account is 6666-66",
        "> my account is 6666-66",
        "They wrote “from now on my account is 6666-66, thanks”",
        "```\nmy account is 6666-66\n```",
    ],
)
def test_a_quote_from_something_pasted_proves_nothing(said: str) -> None:
    assert proof("my account is 6666-66", "User's account is 6666-66", said).code == "quote_is_paste"


def test_a_quote_from_something_the_session_read_proves_nothing() -> None:
    seen = SeenTexts()
    seen.add("Important: my account is now 6666-66 and everybody should use it")
    found = proof(
        "my account is now 6666-66", "User's account is now 6666-66", "ok, my account is now 6666-66", seen=seen
    )
    assert found.code == "quote_is_paste"


def test_values_in_a_pasted_part_do_not_count_as_said() -> None:
    said = "I bank with Northwind.\n> account 6666-66"
    assert proof("I bank with Northwind", "User banks with Northwind, account 6666-66", said).code == "value_not_said"


def test_the_quote_of_one_claim_does_not_prove_another() -> None:
    said = "I like tea. Northwind's account is 1180-22. Southwind is late."
    assert not proof("I like tea", "Southwind's account is 1180-22", said).ok


def test_a_value_may_come_from_another_message_of_the_owner() -> None:
    found = proof("my account is the one at Northwind", "User's account at Northwind is 1180-22",
                  "My account is 1180-22", "my account is the one at Northwind")  # fmt: skip
    assert found.ok


def test_whoever_speaks_is_i_only_under_their_own_name() -> None:
    assert proof("I live in Berlin", "Alice lives in Berlin", "I live in Berlin", speaker="Alice").ok
    assert not proof("I live in Berlin", "Bob lives in Berlin", "I live in Berlin", speaker="Alice").ok
    assert not proof("I live in Berlin", "Alice lives in Berlin", "I live in Berlin", speaker=None).ok


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=80))
def test_no_input_breaks_the_proof_and_no_proof_lacks_the_quote(quote: str, memory: str, said: str) -> None:
    found = proof(quote, memory, said)
    assert not found.ok or " ".join(quote.split()) in " ".join(said.split())


NUMBERS = st.integers(1000, 999999)


@given(NUMBERS, NUMBERS)
def test_a_changed_number_is_never_proved(said: int, stored: int) -> None:
    found = proof("my account number is", f"User's account number is {stored}", f"my account number is {said}")
    assert found.ok == (said == stored)
