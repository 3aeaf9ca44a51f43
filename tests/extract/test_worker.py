"""The background worker does what is due, survives what goes wrong, and ends with its keep."""

from __future__ import annotations

import gc
import queue
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import readings
from tests.extract.model_server import Handler, remembers, serving
from truekeep import Keep, Settings
from truekeep.errors import InvalidRequest, KeepClosed
from truekeep.extract.endpoint import ModelSettings
from truekeep.extract.llm import ChatModel
from truekeep.extract.run import Distilled
from truekeep.extract.worker import Worker

PATIENCE = 30
TRUE = {"text": "The user lives in Porto", "quotes": [{"quote": "I live in Porto", "message_id": "1"}]}


def opened(home: Path, debounce: float = 0, learn: str = "verbatim", *, background: bool = False) -> Keep:
    settings = Settings(embedder="none", learn=learn, learn_debounce_seconds=debounce)
    return Keep.open("alice", home=home, settings=settings, background=background)


@pytest.fixture
def keep(home: Path) -> Iterator[Keep]:
    with opened(home) as made:
        yield made


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "truekeep-extract"]


def contents(keep: Keep) -> list[str]:
    return [memory["content"] for memory in keep.get_memories()]


def test_a_keep_learns_by_itself_after_a_quiet_spell(home: Path) -> None:
    others = set(workers())  # of keeps that other tests have just left
    with opened(home, background=True) as keep:
        assert set(workers()) <= others
        keep.observe("s-1", "user", "I live in Porto.")
        (thread,) = set(workers()) - others
        while [job.state for job in keep.extraction.jobs()] != ["done"]:
            assert thread.is_alive()
        assert contents(keep) == ["I live in Porto."]
    thread.join(PATIENCE)
    with opened(home, background=True) as keep:
        assert set(workers()) <= others  # nothing waits, so nothing is started


def test_what_the_owner_says_is_learned_in_the_background(keep: Keep) -> None:
    done: queue.Queue[Distilled] = queue.Queue()
    keep.extraction.start(on_done=done.put)
    keep.observe("s-1", "user", "I live in Porto.")
    assert [taken.extraction.text for taken in done.get(timeout=PATIENCE).taken] == ["I live in Porto."]
    keep.observe("s-2", "user", "I prefer tea.")
    assert done.get(timeout=PATIENCE).task.session == "s-2"
    assert contents(keep) == ["I live in Porto.", "I prefer tea."]


def test_whoever_ends_a_session_finds_it_remembered_although_a_worker_runs_for_the_same_job(home: Path) -> None:
    for debounce in (0.0, 30.0):  # the worker is at it already, or wakes because the session ends
        with opened(home, debounce, background=True) as keep:
            for number in range(12):
                said = f"I own {number + 2} pear trees after {debounce:g} seconds."
                with keep.session(f"s-{debounce:g}-{number}") as session:
                    session.observe("user", said)
                assert said in contents(keep)
            assert keep.audit.verify().ok


def test_what_was_queued_before_it_started_is_done_first(home: Path) -> None:
    with opened(home) as keep:
        keep.observe("s-1", "user", "I live in Porto.")
    with opened(home) as keep:
        done: queue.Queue[Distilled] = queue.Queue()
        keep.extraction.start(on_done=done.put)
        done.get(timeout=PATIENCE)
        assert contents(keep) == ["I live in Porto."]


def test_a_burst_of_messages_is_one_run(home: Path) -> None:
    with opened(home, debounce=0.5) as keep:
        done: queue.Queue[Distilled] = queue.Queue()
        keep.extraction.start(on_done=done.put)
        for number in range(5):
            keep.observe("s-1", "user", f"I own {number + 2} apple trees.")
        assert done.get(timeout=PATIENCE).messages == 5
        assert done.empty()


def test_it_ends_when_the_keep_is_closed(home: Path) -> None:
    before = len(workers())
    keep = opened(home)
    keep.extraction.start()
    assert len(workers()) == before + 1
    keep.close()
    keep.close()
    assert len(workers()) == before


def test_it_ends_when_nobody_has_the_keep_any_more(home: Path) -> None:
    before = workers()
    keep = opened(home)
    keep.extraction.start()
    (thread,) = [one for one in workers() if one not in before]
    gone = weakref.ref(keep)
    del keep
    for _ in range(PATIENCE):
        gc.collect()  # the worker may have had it in hand when it was first looked for
        thread.join(1)
        if not thread.is_alive():
            break
    assert not thread.is_alive()
    assert gone() is None


def test_a_keep_that_is_closed_while_a_model_thinks_leaves_the_session_to_the_next_worker(home: Path) -> None:
    thinking = threading.Event()

    def never(handler: Handler) -> None:
        thinking.set()
        handler.server.over.wait(PATIENCE)

    with serving(never) as server:
        keep = opened(home, learn="discrete")
        keep.extraction.start(ChatModel(ModelSettings(server.url, "test", timeout=2, attempts=1)))
        keep.observe("s-1", "user", "I live in Porto.")
        assert thinking.wait(PATIENCE)
        keep.close()
        with opened(home, learn="discrete") as again:
            assert contents(again) == ["I live in Porto."]
            (job,) = (job for job in again.extraction.jobs() if job.task.strategy == "discrete")
            assert (job.state, job.leased_until, job.attempts) == ("waiting", None, 0)
            read = {"text": "The user lives in Porto", "quotes": [{"quote": "I live in Porto", "message_id": "1"}]}
            with serving(remembers(read)) as other:
                again.extraction.run(ChatModel(ModelSettings(other.url, "test", timeout=5, attempts=1)))
            assert readings(again) == ["The user lives in Porto"]
    for thread in workers():
        thread.join(PATIENCE)


def test_a_listener_that_breaks_does_not_end_the_work(keep: Keep) -> None:
    done: queue.Queue[Distilled] = queue.Queue()

    def breaks(distilled: Distilled) -> None:
        done.put(distilled)
        raise RuntimeError

    keep.extraction.start(on_done=breaks)
    keep.observe("s-1", "user", "I live in Porto.")
    done.get(timeout=PATIENCE)
    keep.observe("s-2", "user", "I prefer tea.")
    done.get(timeout=PATIENCE)
    assert len(contents(keep)) == 2


def test_a_run_that_breaks_is_told_of_and_the_session_stays_queued(home: Path) -> None:
    done: queue.Queue[Distilled] = queue.Queue()

    class Broken:
        name = "broken"

        def complete(self, *_: Any) -> None:
            raise RuntimeError

    with opened(home, learn="discrete") as keep:
        keep.extraction.start(Broken(), on_done=done.put)  # type: ignore[arg-type]
        keep.observe("s-1", "user", "I live in Porto.")
        assert [done.get(timeout=PATIENCE).code for _ in range(2)] == ["", "internal_error"]
        assert contents(keep) == ["I live in Porto."]  # a model that fails never costs the words
        (job,) = (job for job in keep.extraction.jobs() if job.task.strategy == "discrete")
        assert (job.state, job.code) == ("waiting", "internal_error")


def test_two_keeps_on_one_file_share_the_work(home: Path) -> None:
    told = remembers(TRUE)
    done: queue.Queue[Distilled] = queue.Queue()
    with opened(home, learn="discrete") as first, opened(home, learn="discrete") as second, serving(told) as server:
        for keep in (first, second):
            keep.extraction.start(ChatModel(ModelSettings(server.url, "test")), on_done=done.put)
        for number in range(6):
            first.observe(f"s-{number}", "user", f"I live in Porto, house {number}.")
        ran = sorted((one.task.session, one.task.strategy) for one in (done.get(timeout=PATIENCE) for _ in range(12)))
        assert ran == [(f"s-{number}", strategy) for number in range(6) for strategy in ("discrete", "verbatim")]
        assert done.empty()
        assert len(contents(first)) == 6
        assert first.audit.verify().ok


def test_it_is_started_once(keep: Keep) -> None:
    keep.extraction.start()
    with pytest.raises(InvalidRequest) as caught:
        keep.extraction.start()
    assert caught.value.code == "extraction_running"
    keep.extraction.stop()
    keep.extraction.start()


def test_a_store_that_is_trouble_today_is_tried_again() -> None:
    tried: queue.Queue[int] = queue.Queue()

    class Troubled:
        rounds = 0

        def work(self) -> float | None:
            self.rounds += 1
            tried.put(self.rounds)
            if self.rounds == 1:
                raise OSError
            raise KeepClosed("closed")

    owner = Troubled()
    worker = Worker(owner)
    assert tried.get(timeout=PATIENCE) == 1
    worker.wake()
    assert tried.get(timeout=PATIENCE) == 2
    assert worker.join(PATIENCE)
