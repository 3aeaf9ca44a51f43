"""The postings of stored values: the same answers whether they are few, many, sorted, or came since."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from truekeep.trust.flow import stored
from truekeep.trust.flow.reading import stem
from truekeep.trust.flow.stored import ValuePostings, fingerprint

TEXTS = [f"Northwind's account is {number}-22, says eva{number % 3}@example.org." for number in range(40)]
ACCOUNT = f"s {stem('account')}"
KEYS = [ACCOUNT, *(f"k mail:eva{number}@example.org" for number in range(3)), "f mail", "s nowhere"]
PRINTS = [fingerprint(text) for text in TEXTS]


def standing(filed: dict[int, int], key: str) -> list[int]:
    """The places that have the key, looked for one by one."""
    wanted = stored._hash(key)
    found = (place for place, text in filed.items() if wanted in {PRINTS[text][at : at + 8] for at in range(0, 800, 8)})
    return sorted(found, reverse=True)


@pytest.mark.parametrize(("few", "recent"), [(1_024, 4_096), (0, 4_096), (0, 3), (1_024, 3)])
def test_they_answer_as_looking_at_each_text_does(monkeypatch: pytest.MonkeyPatch, few: int, recent: int) -> None:
    monkeypatch.setattr(stored, "_FEW", few)
    monkeypatch.setattr(stored, "_MOST_RECENT", recent)
    chance, filed = random.Random(7), {place: place for place in range(20)}
    postings = ValuePostings()
    postings.fill([(place, PRINTS[text]) for place, text in filed.items()])
    for _ in range(60):
        place, text = chance.randrange(30), chance.randrange(len(TEXTS))
        if chance.random() < 0.3:
            postings.remove(place)
            filed.pop(place, None)
        else:
            postings.put(place, PRINTS[text])
            filed[place] = text
        key = chance.choice(KEYS)
        assert postings.places(key) == standing(filed, key)


def test_a_keep_that_is_filled_again_answers_for_what_is_there_now() -> None:
    postings = ValuePostings()
    postings.fill([(1, PRINTS[0]), (2, PRINTS[1])])
    assert postings.places(ACCOUNT) == [2, 1]
    postings.fill([(2, PRINTS[2]), (3, PRINTS[3])])
    assert postings.places(ACCOUNT) == [3, 2, 1]


def test_a_look_up_among_few_loads_no_numpy() -> None:
    code = (
        "import sys; from truekeep.trust.flow.stored import ValuePostings, fingerprint\n"
        "postings = ValuePostings(); postings.fill([(1, fingerprint('Room 12 is free.'))])\n"
        "print(postings.places('s room'), 'numpy' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[1] False"
