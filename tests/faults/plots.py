"""Memories that can be counted: writes one after another until one fails, and looks at what is there afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path

from tests.crash.nursery import NAME, SETTINGS
from truekeep import Keep, TruekeepError

TEXT = "Plot {} is leased to tenant {}."
BATCH = 12


def opened(home: Path) -> Keep:
    return Keep.open(NAME, home=home, settings=SETTINGS)


def write(keep: Keep, numbers: Iterable[int]) -> list[str]:
    """Each as a write of its own; returns what was acknowledged."""
    return [text for text in map(_text, numbers) if keep.remember(text, via="user").accepted]


def write_until_refused(keep: Keep, first: int, most: int = 400) -> tuple[list[str], TruekeepError]:
    """Singles and batches by turns; what was acknowledged, and what stopped it."""
    done: list[str] = []
    for number in count(first, BATCH):
        assert number < first + most * BATCH, "nothing went wrong"
        texts = [_text(number + one) for one in range(BATCH)]
        try:
            verdict = keep.remember(texts[0], via="user")
            done += [texts[0]] if verdict.accepted else []
            verdicts = keep.remember_many(texts[1:], via="user")
        except TruekeepError as error:
            return done, error
        assert all(one.accepted for one in verdicts)
        done += texts[1:]
    raise AssertionError("unreachable")


def require_whole(keep: Keep, acknowledged: Iterable[str]) -> set[str]:
    """Everything acknowledged is there, a batch as a whole or not at all, and the chain holds; returns the rest."""
    there = [str(memory["content"]) for memory in keep.get_memories()]
    assert len(there) == len(set(there)), "something is there twice"
    assert set(acknowledged) <= set(there), "something acknowledged is gone"
    more = set(there) - set(acknowledged)
    assert len(more) in (0, 1, BATCH - 1), "part of a batch is there"
    found = keep.audit.verify()
    assert found.ok, found.problems
    return more


def _text(number: int) -> str:
    return TEXT.format(number, number * 7)
