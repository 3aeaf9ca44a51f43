"""Reading values and claims takes time in proportion to the text, whatever the text is."""

from __future__ import annotations

import time

import pytest

from tests.yardstick import allowed
from truekeep.text.salient import read_values
from truekeep.trust.influence import claim_of, hearsay_marks

pytestmark = pytest.mark.slow

SEEDS = [
    "1234567890", "1 ", "12 34 ", "1,", "1.", "1,000,", "-1", "1-2-", "a,", "a.b.", "Aa ", "Aa Bb ", "A", "a",
    '"x" ', '"', "'", "$5 ", "€", "5 eur ", "GB29 NWBK 6016 1331 9268 19 ", "GB29", "0x", "0xabcdef", "a@b.c ", "a@",
    "@", "http://a.b/ ", "http://", "www.", "+421 ", "00", "2024-01-01 ", "1/2/", "May ", "not ", "n't ",
    "twenty one ", "hundred ", "million ", "a and ", "is ", "of the ", "'s ", "(", ")(", "\n", "\t ", " ", ".", "...",
    "é", "б", "記", "\u200b", "%", "1%", "true ", "AB-12 ", "a_b_", "A.B. ", "Mr. ", "I ", "my ", "x is y. ",
]  # fmt: skip
LENGTH = 24_000


@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_a_repeated_seed_is_read_in_time(seed: str) -> None:
    text = (seed * (LENGTH // len(seed) + 1))[:LENGTH]
    started = time.process_time()
    _ = read_values(text).values
    claim_of(text)
    hearsay_marks(text)
    assert time.process_time() - started < allowed(3)
