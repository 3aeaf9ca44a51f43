"""An answer that is made of what a process knew already is as new as one that looked at every step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stores.test_ledger import opened, put
from truekeep.errors import KeepClosed
from truekeep.stores.ledger import Ledger


@pytest.fixture
def ledger(home: Path) -> Iterator[Ledger]:
    made = opened(home)
    put(made, "one", "two")
    yield made
    made.close()


@pytest.fixture
def other(home: Path, ledger: Ledger) -> Iterator[Ledger]:
    made = opened(home)
    yield made
    made.close()


def ids(ledger: Ledger) -> list[str]:
    """What is found by going through the places that are known."""
    with ledger.reading():
        places = [place for place in range(1, 9) if ledger._verified.expected["memories"].get(place)]
    return [sealed.row.id for sealed in ledger.at("memories", places).values()]


class Counted:
    """Makes an answer, with something happening in the middle of the first time."""

    def __init__(self, ledger: Ledger, answer: Callable[[Ledger], object], between: Callable[[], object]) -> None:
        self._ledger, self._answer, self._between = ledger, answer, between
        self.times = 0

    def __call__(self) -> object:
        self.times += 1
        before = self._answer(self._ledger)
        if self.times == 1:
            self._between()
        return before, self._answer(self._ledger)


def nothing() -> None:
    return None


def test_an_answer_is_made_once_while_nobody_writes(ledger: Ledger) -> None:
    make = Counted(ledger, ids, nothing)
    assert ledger.supposing(make) == (["mem_one", "mem_two"],) * 2
    assert make.times == 1


def test_what_another_process_wrote_before_is_in_the_answer(ledger: Ledger, other: Ledger) -> None:
    put(other, "three")
    assert ledger.supposing(lambda: ids(ledger)) == ["mem_one", "mem_two", "mem_three"]


def test_what_another_process_wrote_in_the_middle_is_in_all_of_the_answer(ledger: Ledger, other: Ledger) -> None:
    make = Counted(ledger, ids, lambda: put(other, "three"))
    assert ledger.supposing(make) == (["mem_one", "mem_two", "mem_three"],) * 2
    assert make.times == 2


def test_what_another_thread_wrote_in_the_middle_is_in_all_of_the_answer(ledger: Ledger) -> None:
    def write() -> None:
        thread = threading.Thread(target=put, args=(ledger, "three"))
        thread.start()
        thread.join()

    make = Counted(ledger, ids, write)
    assert ledger.supposing(make) == (["mem_one", "mem_two", "mem_three"],) * 2
    assert make.times == 2


def test_an_answer_that_needs_no_rows_is_looked_at_as_well(ledger: Ledger, other: Ledger) -> None:
    make = Counted(ledger, lambda ledger: ledger.count("memories", ""), lambda: put(other, "three"))
    ledger.supposing(make)
    assert make.times == 2


@pytest.mark.parametrize(
    "answer",
    [
        lambda ledger: [sealed.row.id for sealed in ledger.all("memories")],
        lambda ledger: [event.seq for event in ledger.events()],
        lambda ledger: ledger.get("memories", "mem_nowhere"),
        lambda ledger: [row.id for row in ledger.current("memories", [1])],
    ],
)
def test_an_answer_that_needs_more_than_some_rows_is_made_with_views(
    ledger: Ledger, answer: Callable[[Ledger], object]
) -> None:
    expected = answer(ledger)
    make = Counted(ledger, answer, nothing)
    assert ledger.supposing(make) == (expected, expected)
    assert make.times == 2


def test_inside_a_view_or_a_transaction_an_answer_is_of_its_moment(ledger: Ledger) -> None:
    with ledger.reading():
        assert ledger.supposing(lambda: ids(ledger)) == ["mem_one", "mem_two"]
    with ledger.writing() as entry:
        entry.put("memories", "mem_three", {"text": "three"})
        assert ledger.supposing(lambda: len(ledger.all("memories"))) == 3
        entry.event("test.put")


def test_a_closed_ledger_answers_nothing(ledger: Ledger) -> None:
    ledger.close()
    with pytest.raises(KeepClosed):
        ledger.supposing(lambda: ids(ledger))
