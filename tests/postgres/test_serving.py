"""Several service processes on one database: what one did, the others know, and each may go at any time."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.postgres.server import SERVICE, Database, Server
from tests.serve.test_process import owner, process
from truekeep import Keep
from truekeep.config import Settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
MEMORIES = "/v1/long-term-memory/"


@pytest.fixture(autouse=True)
def _stored(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEKEEP_STORE", database.dsn)


@contextmanager
def two(home: Path) -> Iterator[tuple[tuple[int, str], tuple[int, str]]]:
    """Two services of one home, as two hosts would be."""
    with ExitStack() as stack:
        one, other = (stack.enter_context(process(home)) for _ in range(2))
        yield (one[0].pid, one[1]), (other[0].pid, other[1])


def put(client: httpx.Client, text: str, key: str = "") -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(MEMORIES, json={"memories": [{"text": text}]}, headers=headers)


def found(client: httpx.Client, text: str) -> set[str]:
    answer = client.post(f"{MEMORIES}search", json={"text": text, "limit": 20})
    assert answer.status_code == 200, answer.text
    return {one["text"] for one in answer.json()["memories"]}


def stored(home: Path, dsn: str, keep: str) -> list[str]:
    settings = replace(Settings(), store=dsn, embedder="none")
    with Keep.open(keep, home=home, settings=settings, background=False) as opened:
        assert opened.audit.verify().ok
        return [one["content"] for one in opened.get_memories(limit=10_000)]


def test_what_one_process_did_the_other_knows_at_once(home: Path, database: Database) -> None:
    headers = owner(home, "alice")
    with two(home) as services, ExitStack() as stack:
        one, other = (
            stack.enter_context(httpx.Client(base_url=address, headers=headers, trust_env=False, timeout=30))
            for _, address in services
        )
        for number in range(10):
            writer, reader = (one, other) if number % 2 else (other, one)
            text = f"Parcel {number} is in the hall"
            assert put(writer, text).status_code == 201
            assert text in found(reader, text), "an answer that was given is seen by the next process that is asked"
        first = put(one, "The key is under the mat", key="a-key")
        again = put(other, "The key is under the mat", key="a-key")
        assert (first.status_code, again.status_code) == (201, 201)
        assert again.json() == first.json()
        reused = put(other, "The key is in the shed", key="a-key")
        assert reused.status_code in (409, 422)
    assert stored(home, database.dsn, "alice").count("The key is under the mat") == 1


def test_one_goes_and_no_request_fails_that_the_other_is_asked_again(home: Path, database: Database) -> None:
    """A rolling restart: whoever is told that a process goes, or finds it gone, asks the next with the same key."""
    headers, over = {f"k{number}": owner(home, f"k{number}") for number in range(4)}, threading.Event()
    with two(home) as ((going, first), (_, second)):

        def live(keep: str) -> list[str]:
            done: list[str] = []
            addresses = [first, second]
            while not over.is_set():
                text = f"Parcel {keep} {len(done)} is in the hall"
                for address in (*addresses, addresses[-1]):
                    try:
                        with httpx.Client(base_url=address, headers=headers[keep], trust_env=False, timeout=30) as one:
                            answer = put(one, text, key=f"{keep}-{len(done)}")
                    except httpx.TransportError:
                        addresses = [second]
                        continue
                    if answer.status_code == 201:
                        break
                    assert answer.status_code == 503, answer.text
                else:
                    raise AssertionError("nobody took it")
                done.append(text)
                if len(done) == 6 and keep == "k0":
                    os.killpg(going, signal.SIGTERM)
                if len(done) == 16:
                    over.set()
            return done

        with ThreadPoolExecutor(4) as threads:
            written = dict(zip(headers, threads.map(live, headers), strict=True))
    for keep, texts in written.items():
        assert sorted(stored(home, database.dsn, keep)) == sorted(texts), "everything once"


def test_readiness_follows_the_database(home: Path, server: Server, database: Database) -> None:
    owner(home, "alice")
    with process(home) as (_, address), httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
        wait_for(client, 200)
        server.stop()
        try:
            assert client.get("/v1/health").status_code == 200
            assert client.get("/v1/health/ready").status_code == 503
        finally:
            server.start()
        wait_for(client, 200)
        database.run(f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")
        database.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{SERVICE}'")
        assert client.get("/v1/health/ready").status_code == 503, "a replica cannot do the work"


def wait_for(client: httpx.Client, status: int) -> None:
    """The rules are loaded after it has begun to listen."""
    for _ in range(600):
        if client.get("/v1/health/ready").status_code == status:
            return
    raise AssertionError("it never was")
