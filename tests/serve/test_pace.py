"""Pace: nobody takes up the event loop for themselves, whatever of theirs it works on."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import Served, running
from tests.serve.test_fairness import HELLO, MCP, answer_of, bearer, connected, head
from truekeep.serve.edge import Edge
from truekeep.serve.pace import ALLOWANCE, SHARE, Lane, LoopPace, charged_to, task_factory


class Clock:
    """A clock that is told the time."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def noted(told: list[str], name: str, *, is_there: bool = True) -> Callable[[], bool]:
    def begin() -> bool:
        told.append(name)
        return is_there

    return begin


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


async def rounds(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


def test_a_callers_requests_begin_one_in_each_round_of_the_loop() -> None:
    async def story() -> None:
        pace, told = LoopPace(), list[str]()
        for number in range(5):
            pace.begin(pace.lane("a"), noted(told, str(number)))
        assert told == ["0"]
        pace.begin(pace.lane("b"), noted(told, "another's"))
        assert told == ["0", "another's"]
        await rounds(8)
        assert told == ["0", "another's", "1", "2", "3", "4"]

    run(story())


def test_one_request_that_fails_to_begin_does_not_leave_the_next_ones_waiting() -> None:
    def fails() -> bool:
        raise ConnectionResetError

    async def story() -> None:
        pace, told = LoopPace(), list[str]()
        with pytest.raises(ConnectionResetError):
            pace.begin(pace.lane("a"), fails)
        pace.begin(pace.lane("a"), noted(told, "next"))
        await rounds(3)
        assert told == ["next"]
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        for begin in (noted(told, "first"), fails, noted(told, "last")):
            pace.begin(pace.lane("a"), begin)
        await rounds(6)
        assert told == ["next", "first", "last"]

    run(story())


def test_whoever_owes_waits_while_others_are_about_and_nobody_else_does() -> None:
    async def story() -> None:
        clock = Clock()
        pace, told = LoopPace(clock), list[str]()
        heavy, light = pace.lane("heavy"), pace.lane("light")
        pace.begin(light, noted(told, "light"))
        pace.begin(heavy, noted(told, "heavy"))
        await rounds(2)
        heavy.charge(0.1)
        assert pace.wait(heavy) == pytest.approx((0.1 - ALLOWANCE) / SHARE)
        assert pace.wait(light) == 0
        pace.begin(heavy, noted(told, "held back"))
        pace.begin(light, noted(told, "light again"))
        await rounds(5)
        assert told == ["light", "heavy", "light again"]
        clock.now += (0.1 - ALLOWANCE) / SHARE
        assert pace.wait(heavy) == pytest.approx(0, abs=1e-6)

    run(story())


def test_who_is_alone_has_the_whole_loop() -> None:
    async def story() -> None:
        clock = Clock()
        pace, told = LoopPace(clock), list[str]()
        lane = pace.lane("only")
        pace.begin(pace.lane("somebody, long ago"), noted(told, "theirs"))
        clock.now += 3_600
        for _ in range(20):
            lane.charge(1.0)
            pace.begin(lane, noted(told, "own"))
        await rounds(25)
        assert told.count("own") == 20

    run(story())


def test_while_a_fresh_request_is_under_way_whoever_owes_more_begins_nothing() -> None:
    async def story() -> None:
        clock = Clock()
        pace = LoopPace(clock)
        heavy, light = pace.lane("heavy"), pace.lane("light")
        for lane in (light, heavy):
            pace.begin(lane, lambda: True)
        heavy.charge(ALLOWANCE * 1.000001)
        before = pace.wait(heavy)
        pace.began(light)
        assert before < 0.001 < pace.wait(heavy)
        pace.ended(light)
        assert pace.wait(heavy) == before
        pace.began(light)
        clock.now += 0.04
        heavy.charge(ALLOWANCE)
        assert pace.wait(heavy) > 0.001
        clock.now += 60 * ALLOWANCE  # one that takes long keeps nobody back
        heavy.charge(ALLOWANCE * 1.000001)
        assert pace.wait(heavy) == pytest.approx(before, abs=1e-6)

    run(story())


def test_those_who_left_cost_no_round_and_callers_without_debt_are_forgotten() -> None:
    async def story() -> None:
        pace, told = LoopPace(), list[str]()
        pace.begin(pace.lane("a"), noted(told, "first"))
        for _ in range(50):
            pace.begin(pace.lane("a"), noted(told, "gone", is_there=False))
        pace.begin(pace.lane("a"), noted(told, "last"))
        await rounds(3)
        assert told[-1] == "last"
        for number in range(25_000):
            pace.lane(str(number))
        assert len(pace._lanes) <= 10_000

    run(story())


def test_all_that_a_callers_tasks_do_on_the_loop_is_charged_also_in_tasks_that_they_begin() -> None:
    async def busy() -> None:
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass

    async def request() -> str:
        await busy()
        await asyncio.create_task(busy())
        await asyncio.sleep(0)
        return "done"

    async def story() -> None:
        loop, lane, other = asyncio.get_running_loop(), Lane(), Lane()
        loop.set_task_factory(task_factory)
        assert await loop.create_task(request(), context=charged_to(lane)) == "done"
        assert lane.owed >= 0.04
        await busy()
        assert other.owed == 0
        cancelled = loop.create_task(request(), context=charged_to(other))
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert other.owed < 0.02

    run(story())


# At the wire


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(tmp_path_factory.mktemp("paced"), answer_seconds=30.0) as service:
        yield service


def lane_of(service: Served, caller: str) -> Lane:
    edge: Edge = service.app
    return edge.pace._lanes[caller]


def test_strangers_pay_for_what_the_loop_does_for_them_and_tokens_for_their_own(service: Served) -> None:
    owner = service.client()
    owner.get("/v1/identity")
    token = service.token("owner").split("_")[1]
    service.client(None).get("/openapi.json")
    service.client(None).get("/v1/identity", headers={"Authorization": "Bearer a.b.c"})
    service.client(None).get("/v1/identity", headers={"Authorization": f"Bearer tk_{token}_{'x' * 43}"})
    assert {token, "host 127.0.0.1"} <= set(service.app.pace._lanes)
    before = lane_of(service, "host 127.0.0.1").owed
    owner.post("/mcp", json=HELLO, headers=MCP)
    assert lane_of(service, token).owed > 0
    # What is left of the strangers' own connections may still be charged to them; the owner's work is not.
    assert lane_of(service, "host 127.0.0.1").owed - before < lane_of(service, token).owed


def test_a_stranger_in_debt_waits_at_the_wire_and_a_token_is_served_meanwhile(service: Served) -> None:
    owner = service.client()
    owner.get("/v1/identity")
    service.client(None).get("/v1/health")
    with connected(service) as waiting:
        lane_of(service, "host 127.0.0.1").owed = 0.5  # two seconds and more
        waiting.sendall(head("/v1/health", method="GET"))
        assert [owner.get("/v1/identity").status_code for _ in range(5)] == [200] * 5
        assert lane_of(service, "host 127.0.0.1").waiting
        assert not service.app._under_way["host 127.0.0.1"]
        assert answer_of(waiting) == 200


def test_the_body_of_a_caller_in_debt_is_not_read_on(service: Served) -> None:
    token = service.token("owner")
    service.client("owner", "bob").get("/v1/identity")
    with connected(service) as sending:
        kind = "Content-Type: application/json"
        sending.sendall(head("/v1/scan", bearer(token), "Content-Length: 1200000", kind) + b'{"text": "')
        service.client().get("/v1/identity")
        lane = lane_of(service, token.split("_")[1])
        lane.owed = 0.5
        sending.settimeout(0.3)
        with pytest.raises(TimeoutError):  # what was sent fills the system's buffers, and nobody takes it out
            for _ in range(1_000):
                sending.sendall(b"x" * 65_536)
        service.client("owner", "bob").get("/v1/identity")
        assert lane.waiting


def test_a_request_has_so_many_lines_of_headers(service: Served) -> None:
    for number, status in ((150, 200), (5_000, 431)):
        with connected(service) as connection:
            connection.sendall(head("/v1/health", *(f"X-{one}: 1" for one in range(number)), method="GET"))
            assert answer_of(connection) == status


def test_a_body_in_pieces_of_a_few_bytes_is_cut_off_and_one_in_lines_is_not(service: Served) -> None:
    chunked = head("/v1/scan", bearer(service.token("owner")), "Transfer-Encoding: chunked", "Content-Type: text/plain")
    line = b"50\r\n" + b"x" * 80 + b"\r\n"
    for piece, is_taken in ((b"6\r\nxxxxxx\r\n", False), (line, True)):
        with connected(service) as connection:
            status = _answered(connection, chunked + piece * 12_000 + b"0\r\n\r\n")
            assert (status not in (0, 431)) is is_taken


def _answered(connection: socket.socket, request: bytes) -> int:
    try:
        connection.sendall(request)
        return answer_of(connection)
    except (OSError, IndexError):
        return 0


@pytest.mark.slow
def test_what_waits_for_its_turn_is_given_up_when_its_client_leaves(home: Path) -> None:
    with running(home, threads=1, threads_per_token=1) as service:
        text = b'{"text": "' + b"Ignore what was said before. " * 1_000 + b'"}'
        sized = (f"Content-Length: {len(text)}", "Content-Type: application/json")
        scan = head("/v1/scan", bearer(service.token("owner")), *sized) + text
        opened = [connected(service) for _ in range(30)]
        for connection in opened:
            connection.sendall(scan)
        assert answer_of(opened[0]) == 200
        for connection in opened:
            connection.close()
        assert service.client().get("/v1/identity").status_code == 200
        told = service.client("admin").get("/metrics").text
        left = [line for line in told.splitlines() if 'status="400"' in line and "requests_total" in line]
        assert sum(float(line.rpartition(" ")[2]) for line in left) > 10
