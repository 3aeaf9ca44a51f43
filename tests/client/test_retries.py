"""Retries: what is safe is sent again, under one key, for so long; nothing is done twice."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import httpx
import pytest

from tests.client.scripted import Said, Script, answer, problem, scripted
from tests.serve.conftest import Served
from truekeep.client import AsyncKeep, Keep
from truekeep.errors import InvalidRequest, NotAllowed, ServiceBusy, ServiceUnreachable, StoreTampered
from truekeep.types import Decision

STORED = {"success": True, "decision": "accept", "code": "stored", "reason": "Stored.", "id": "mem_1", "findings": []}
DONE = answer({"status": "ok", "memories": [STORED]}, 201)
DROPPED = Said(None)
BUSY = problem(503, "service_busy", "0", family="service_busy")


def keys_of(script: Script) -> list[str | None]:
    return [headers.get("idempotency-key") for _, _, headers in script.asked]


@pytest.mark.parametrize(
    "failure",
    [
        DROPPED,
        BUSY,
        problem(429, "rate_limited", "0"),
        problem(409, "request_in_progress"),
        Said(502, b"<html>", {"Content-Type": "text/html"}),
        Said(503, b"", {"Retry-After": "0"}),
    ],
)
def test_a_write_is_sent_again_under_the_same_key(failure: Said) -> None:
    with scripted(failure, failure, DONE) as script, Keep(script.address, token="t") as keep:
        assert keep.remember("I like tea").accepted
        assert len(set(keys_of(script))) == 1
        assert len(script.asked) == 3
        keep.remember("I like tea")
        assert len(set(keys_of(script))) == 2  # another call is another key, whatever it says


def test_the_asynchronous_client_sends_again_as_well() -> None:
    async def remembered(address: str) -> Any:
        async with AsyncKeep(address, token="t") as keep:
            return await keep.remember("I like tea")

    with scripted(DROPPED, BUSY, DONE) as script:
        assert asyncio.run(remembered(script.address)).accepted
        assert len(set(keys_of(script))) == 1


def test_a_write_whose_answer_was_lost_is_stored_once(served: Served) -> None:
    def passed_on(method: str, path: str, headers: dict[str, str], body: bytes) -> httpx.Response:
        kept = {name: headers[name] for name in ("authorization", "idempotency-key", "content-type")}
        return httpx.request(method, served.address + path, headers=kept, content=body, timeout=60, trust_env=False)

    def lost(*request: Any) -> Said:
        assert passed_on(*request).status_code == 201  # it was done, and nobody is told
        return DROPPED

    def told(*request: Any) -> Said:
        found = passed_on(*request)
        return Said(found.status_code, found.content, {"Content-Type": found.headers["content-type"]})

    with scripted(lost, told) as script, Keep(script.address, token=served.token("owner")) as keep:
        verdict = keep.remember("My tent is orange")
    listed = served.client("owner").get("/v1/memories").json()["memories"]
    assert [one["id"] for one in listed] == [verdict.memory_id]


def test_a_named_batch_is_stored_once_by_several_clients(served: Served) -> None:
    found = []
    for _ in range(2):
        with Keep(served.address, token=served.token("owner")) as keep:
            found.append(keep.remember_many(["I like tea", "I like maps"], request="import of monday, part 1"))
            assert len(keep.get_memories()) == 2
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (problem(503, "store_tampered", "0", family="store_tampered"), StoreTampered),
        (problem(403, "not_allowed", "0", family="not_allowed"), NotAllowed),
        (problem(503, "service_busy"), ServiceBusy),
        (problem(400, "invalid_k", "0", family="invalid_request"), InvalidRequest),
    ],
)
def test_what_another_attempt_does_not_change_is_not_tried_again(said: Said, kind: type[Exception]) -> None:
    with scripted(said) as script, Keep(script.address, token="t") as keep:
        with pytest.raises(kind):
            keep.get_memories()
        assert len(script.asked) == 1


def test_it_gives_up_after_so_many_attempts_and_says_that_the_outcome_is_not_known() -> None:
    with scripted(DROPPED) as script, Keep(script.address, token="t", retries=2) as keep:
        with pytest.raises(ServiceUnreachable) as lost:
            keep.remember("I like tea")
        assert len(script.asked) == 3
        assert lost.value.code == "answer_missing"
        with pytest.raises(ServiceUnreachable) as gone:
            keep.get_memories()
        assert gone.value.code == "service_unreachable"


def test_it_does_not_wait_longer_than_the_whole_call_may_take() -> None:
    with scripted(problem(503, "service_busy", "3600")) as script, Keep(script.address, token="t", timeout=900) as keep:
        begun = time.monotonic()
        with pytest.raises(ServiceBusy):
            keep.get_memories()
        assert time.monotonic() - begun < 90  # at once, on however busy a machine
        assert len(script.asked) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_a_server_that_says_nothing_is_not_waited_for_for_ever(is_async: bool) -> None:
    async def listed(address: str) -> None:
        async with AsyncKeep(address, token="t", timeout=0.2) as keep:
            await keep.get_memories()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ServiceUnreachable):
            asyncio.run(listed(address)) if is_async else Keep(address, token="t", timeout=0.2).get_memories()


def test_a_service_that_is_not_there_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with Keep(address, token="t", retries=1) as keep, pytest.raises(ServiceUnreachable) as gone:
        keep.remember("I like tea")
    assert gone.value.code == "service_unreachable"  # it was never sent, so nothing is in doubt
    assert gone.value.hint


def test_many_calls_of_one_asynchronous_client_at_once_are_each_done_once(served: Served) -> None:
    async def scenario() -> Any:
        async with AsyncKeep(served.address, token=served.token("owner")) as keep:
            return await asyncio.gather(*(keep.remember(f"Box {number} is blue") for number in range(12)))

    verdicts = asyncio.run(scenario())
    assert [one.decision for one in verdicts] == [Decision.ACCEPT] * 12
    assert len({one.memory_id for one in verdicts}) == 12
