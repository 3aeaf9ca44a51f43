"""A table is followed in one way: what was committed is seen by everybody, what was thrown away by nobody."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.test_ledger import opened, put
from truekeep.errors import StoreTampered
from truekeep.read.exposures import Exposures
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.table_view import Derived, TableChanges, TableView
from truekeep.types import Memory, Origin, Standing

SOURCE = Path(__file__).parents[2] / "src" / "truekeep"


class Stop(Exception):
    """Ends a transaction badly."""


def text_of(sealed: Sealed) -> str | None:
    text: str = json.loads(sealed.row.body)["text"]
    return text if text != "left out" else None


@pytest.fixture
def ledger(home: Path) -> Iterator[Ledger]:
    made = opened(home)
    put(made, "one", "two")
    yield made
    made.close()


@pytest.fixture
def view(ledger: Ledger) -> TableView[str]:
    return TableView(ledger, "memories", text_of)


def test_what_is_written_replaced_and_removed_is_followed_in_order(ledger: Ledger, view: TableView[str]) -> None:
    assert list(view.now().values()) == ["one", "two"]
    put(ledger, "three", "left out")
    sealed = ledger.get("memories", "mem_one")
    gone = ledger.get("memories", "mem_two")
    assert sealed is not None
    assert gone is not None
    with ledger.writing() as entry:
        entry.replace("memories", sealed.row, {"text": "first"})
        entry.remove("memories", gone.row)
        entry.event("test.changed")
    assert list(view.now().values()) == ["first", "three"]


def test_another_process_is_followed_too(home: Path, ledger: Ledger, view: TableView[str]) -> None:
    assert len(view.now()) == 2
    other = opened(home)
    put(other, "three")
    other.close()
    assert list(view.now().values()) == ["one", "two", "three"]


def test_somebody_who_looks_is_not_disturbed_by_who_writes(ledger: Ledger, view: TableView[str]) -> None:
    before = view.now()
    put(ledger, "three")
    assert view.now() is not before
    assert list(before.values()) == ["one", "two"]
    assert view.now() is view.now()


def test_a_transaction_sees_its_own_draft_and_nobody_sees_one_that_was_undone(
    ledger: Ledger, view: TableView[str]
) -> None:
    counted = Derived(lambda texts: len(list(texts)), view)
    assert counted.now() == 2
    with pytest.raises(Stop), ledger.writing() as entry:
        assert counted.now() == 2
        entry.put("memories", "mem_three", {"text": "three"})
        assert counted.now() == 3
        entry.put("memories", "mem_four", {"text": "four"})
        assert counted.now() == 4
        raise Stop
    assert counted.now() == 2
    assert ledger.verify().ok


def test_a_look_that_fails_does_not_count(ledger: Ledger) -> None:
    changes = TableChanges(ledger, "memories")
    with changes.taken() as first:
        assert first is None
    put(ledger, "three")
    with pytest.raises(StoreTampered), changes.taken():
        raise StoreTampered("broken", code="broken")
    with changes.taken() as changed:
        assert changed is not None
        assert changed.places == {3}
    with changes.taken() as changed:
        assert changed is not None
        assert not changed.places


def test_a_place_that_was_given_to_another_row_is_told_as_gone(ledger: Ledger) -> None:
    changes = TableChanges(ledger, "memories")
    with changes.taken():
        pass
    sealed = ledger.get("memories", "mem_two")
    assert sealed is not None
    with ledger.writing() as entry:
        entry.remove("memories", sealed.row)
        entry.event("test.removed")
    put(ledger, "three")
    with changes.taken() as changed:
        assert changed is not None
        assert changed.gone == {2} == changed.places


def test_who_is_shown_something_and_who_writes_do_not_wait_for_each_other_forever(ledger: Ledger) -> None:
    """A cache that had a lock of its own could hold it while it waited for the ledger's, and the other way round."""
    exposures = Exposures(ledger, ledger.clock)
    now = ledger.clock()

    def show(number: int) -> None:
        for turn in range(20):
            memory = Memory(f"mem_{number}_{turn}", "x", Standing.OWNER, Origin("user"), now, now)
            exposures.show(f"s-{number}", [memory], "recall")
            exposures.access(memory.id)

    threads = [threading.Thread(target=show, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(exposures.all()) == 80


def test_only_one_class_follows_tables() -> None:
    """The worker that is woken by new jobs keeps nothing of them."""
    watching = {
        path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if "ledger.watch(" in path.read_text()
    }
    assert watching == {"stores/table_view.py", "extract/schedule.py"}
