"""A rolling restart behind a load balancer: no request fails, and no client sends one twice."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.postgres.hosts import Host, environment, host
from tests.postgres.server import Database, Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]
NOTICE = 6.0


class Balancer:
    """Asks every host again and again whether it is ready, and sends requests to those that said so last."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.seen: set[tuple[int, int]] = set()
        """Every pair of answers that a host gave: whether it is there, and whether it is ready."""
        self._hosts: list[Host] = []
        self._ready: list[Host] = []
        self._changed = threading.Condition()

    def add(self, one: Host) -> None:
        """Take a host in, and wait until requests go there."""
        self._hosts.append(one)
        with self._changed:
            assert self._changed.wait_for(lambda: one in self._ready, timeout=120)

    def leave_out(self, one: Host) -> None:
        self._hosts.remove(one)

    def pick(self, number: int) -> Host:
        with self._changed:
            assert self._changed.wait_for(lambda: self._ready, timeout=60)
            return self._ready[number % len(self._ready)]

    def watch(self) -> None:
        with httpx.Client(trust_env=False, timeout=30) as client:
            while not self.over.wait(0.05):
                ready = [one for one in list(self._hosts) if self._asked(client, one)]
                with self._changed:
                    self._ready = ready
                    self._changed.notify_all()

    def _asked(self, client: httpx.Client, one: Host) -> bool:
        try:
            answers = [client.get(f"{one.address}/v1/health{which}").status_code for which in ("", "/ready")]
        except httpx.TransportError:
            return False
        self.seen.add((answers[0], answers[1]))
        return answers == [200, 200]


@pytest.fixture
def token(database: Database, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    anchor = server.database()
    for name, value in environment(database, anchor).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TRUEKEEP_SERVE_NOTICE_SECONDS", str(NOTICE))
    monkeypatch.setenv("TRUEKEEP_SERVE_REPLICAS", "2")
    yield Host(tmp_path / "admin", None, "").token("roll-*")  # type: ignore[arg-type]
    anchor.drop()


def test_every_process_is_replaced_under_load_and_no_request_fails(tmp_path: Path, token: str) -> None:
    balancer, written = Balancer(), [0]

    def live(number: int) -> list[str]:
        texts: list[str] = []
        clients: dict[str, httpx.Client] = {}
        with ExitStack() as stack:
            while not balancer.over.is_set():
                chosen = balancer.pick(number + len(texts)).address
                if chosen not in clients:
                    clients[chosen] = stack.enter_context(httpx.Client(base_url=chosen, trust_env=False, timeout=60))
                text = f"Parcel {number} {len(texts)} is in the hall"
                answer = clients[chosen].post(
                    f"/keeps/roll-{number}/v1/memories",
                    json={"memories": [{"text": text}]},
                    headers={"Authorization": f"Bearer {token}"},
                )
                assert answer.status_code == 201, answer.text
                texts.append(text)
                written[0] += 1
        return texts

    with ExitStack() as stack, ThreadPoolExecutor(4) as threads:
        stack.callback(balancer.over.set)
        threads.submit(balancer.watch)
        old = [stack.enter_context(host(tmp_path / f"host-{number}")) for number in range(2)]
        for one in old:
            balancer.add(one)
        lives = [threads.submit(live, number) for number in range(3)]
        for number, one in enumerate(old):
            before = written[0]
            os.killpg(one.process.pid, signal.SIGTERM)
            assert one.process.wait(60) == -signal.SIGTERM
            balancer.leave_out(one)
            assert written[0] > before, "the other one took requests meanwhile"
            if not number:
                balancer.add(stack.enter_context(host(tmp_path / "host-2")))
        balancer.over.set()
        texts = {f"roll-{number}": one.result(60) for number, one in enumerate(lives)}
        reader = Host(tmp_path / "host-2", None, "")  # type: ignore[arg-type]
        for name, expected in texts.items():
            with reader.keep(name) as keep:
                assert sorted(one["content"] for one in keep.get_memories(limit=10_000)) == sorted(expected)
                assert keep.audit.verify().ok
    assert (200, 503) in balancer.seen, "whoever goes is there, and says that it is not ready"
    lines = [json.loads(line) for line in (tmp_path / "host-0" / "log").read_text().splitlines() if line[0] == "{"]
    (began,) = (line for line in lines if line["event"] == "drain.began")
    failed = [line for line in lines if line["level"] == "error" and line.get("route") != "/v1/health/ready"]
    assert failed == []
    assert [line for line in lines if line["event"] == "request" and line["at"] > began["at"]], "it went on answering"
