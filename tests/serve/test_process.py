"""The service as a process: from the command line, killed under load, stopped gracefully, with several workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Run, run
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.serve.shelf import shelf_of
from truekeep.serve.tokens import TokenBook

pytestmark = pytest.mark.slow

__all__ = ["run"]
KEYWORDS = Settings(embedder="none")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(home: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """``truekeep serve`` in a process of its own, ready to answer."""
    port = free_port()
    environment = {**os.environ, "TRUEKEEP_EMBEDDER": "none", "TRUEKEEP_SERVE_REQUESTS_PER_SECOND": "0"}
    command = [sys.executable, "-m", "truekeep", "serve", "--home", str(home), "--port", str(port), *options]
    started = subprocess.Popen(
        command, env=environment, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, start_new_session=True
    )
    ready = threading.Event()
    reader = threading.Thread(target=write_log, args=(started, home / "log", ready))
    reader.start()
    address = f"http://127.0.0.1:{port}"
    try:
        assert ready.wait(60)
        assert started.poll() is None, (home / "log").read_text()
        # It listens a moment after it has said that it is ready.
        with httpx.Client(transport=httpx.HTTPTransport(retries=5), timeout=30) as client:
            client.get(f"{address}/v1/health")
        yield started, address
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
        started.wait(30)
        reader.join(30)


def write_log(process: subprocess.Popen[bytes], path: Path, ready: threading.Event) -> None:
    """Write down what a service says until it says no more, and note when it has started, or never will."""
    assert process.stdout is not None
    with process.stdout as said, path.open("wb", buffering=0) as log:
        for line in said:
            log.write(line)
            if b"startup complete" in line:
                ready.set()
    ready.set()


def owner(home: Path, keep: str) -> dict[str, str]:
    book = TokenBook(shelf_of(Paths.resolve(home), Settings.load(home)))
    return {"Authorization": f"Bearer {book.add(keep, 'user', ['read', 'write'])[0]}"}


def stored(home: Path, keep: str) -> list[str]:
    with Keep.open(keep, home=home, settings=KEYWORDS) as opened:
        assert opened.audit.verify().ok
        return [one["content"] for one in opened.get_memories()]


@dataclass
class Writer:
    """Somebody who writes until it is over, and lets others wait for what was acknowledged."""

    name: str
    done: list[str] = field(default_factory=list)
    each: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def wait_for(self, count: int) -> None:
        assert all(self.each.acquire(timeout=60) for _ in range(count))


def write(address: str, headers: dict[str, str], writer: Writer, over: threading.Event) -> None:
    with httpx.Client(base_url=address, headers=headers, trust_env=False, timeout=30) as client:
        for number in range(10_000):
            if over.is_set():
                return
            text = f"Parcel {writer.name} {number} is in the hall"
            try:
                answer = client.post("/v1/long-term-memory/", json={"memories": [{"text": text}]})
            except httpx.TransportError:
                return
            if answer.status_code == 201:
                writer.done.append(text)
                writer.each.release()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_acknowledged_is_there_after_it_was_stopped_under_load(home: Path, how: signal.Signals) -> None:
    keeps = {f"k{number}": owner(home, f"k{number}") for number in range(3)}
    writers = [Writer(keep) for keep in keeps]
    over = threading.Event()
    with process(home) as (running, address):
        threads = [
            threading.Thread(target=write, args=(address, keeps[writer.name], writer, over)) for writer in writers
        ]
        for thread in threads:
            thread.start()
        for writer in writers:
            writer.wait_for(8)
        assert running.poll() is None
        os.killpg(running.pid, how)
        running.wait(30)
        over.set()
        for thread in threads:
            thread.join(30)
    for writer in writers:
        found = stored(home, writer.name)
        assert set(writer.done) <= set(found)
        assert len(found) == len(set(found))


def test_several_workers_share_a_keep_and_lose_and_double_nothing(home: Path) -> None:
    headers, over = owner(home, "shared"), threading.Event()
    writers = [Writer(str(number)) for number in range(4)]
    with process(home, "--workers", "2") as (_, address):
        threads = [threading.Thread(target=write, args=(address, headers, writer, over)) for writer in writers]
        for thread in threads:
            thread.start()
        for writer in writers:
            writer.wait_for(10)
        over.set()
        for thread in threads:
            thread.join(60)
        key = {**headers, "Idempotency-Key": "once"}
        body = {"memories": [{"text": "The spare key hangs by the door"}]}
        # Which worker answers is chance; the keep itself knows what it stored.
        answers = []
        for _ in range(8):
            with httpx.Client(base_url=address, headers=key, trust_env=False, timeout=30) as client:
                answers.append(client.post("/v1/long-term-memory/", json=body))
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.json()["memories"][0]["id"] for answer in answers}) == 1
    found = stored(home, "shared")
    assert sorted(found) == sorted(
        [*(text for writer in writers for text in writer.done), "The spare key hangs by the door"]
    )


def test_its_log_is_json_and_tells_nothing_that_was_said(home: Path) -> None:
    headers = owner(home, "alice")
    with process(home) as (running, address):
        body = {"memories": [{"text": "My secret garden is behind the mill"}]}
        httpx.post(f"{address}/v1/long-term-memory/?note=hush", json=body, headers=headers, timeout=60, trust_env=False)
        httpx.get(f"{address}/v1/long-term-memory/mem_0123", headers=headers, timeout=60, trust_env=False)
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(30)
    lines = [line for line in (home / "log").read_text().splitlines() if line.startswith("{")]
    requests = [entry for entry in map(json.loads, lines) if entry["event"] == "request"]
    assert {entry["route"] for entry in requests} >= {"/v1/long-term-memory/", "/v1/long-term-memory/{memory_id}"}
    assert all(entry["request"] for entry in requests)
    text = "\n".join(lines)
    for hidden in ("secret garden", "hush", "mem_0123", headers["Authorization"].split("_")[2]):
        assert hidden not in text


def test_the_command_refuses_an_address_in_the_open(run: Run) -> None:
    refused = run("serve", "--host", "0.0.0.0")  # noqa: S104
    assert refused.code == 2
    assert "--unsafe-no-tls" in refused.err


def test_the_settings_are_shown_without_secrets(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    (home / "config.toml").write_text('judge_url = "https://me:hunter2@judge.example/v1"\n[serve]\nport = 9000\n')
    monkeypatch.setenv("TRUEKEEP_SERVE_WORKERS", "3")
    shown = run("config", "show", "--format", "json")
    assert "hunter2" not in shown.out
    found = {one["name"]: (one["value"], one["from"]) for one in shown.json["settings"]}
    assert found["serve.port"] == (9000, "file")
    assert found["serve.workers"] == (3, "environment")
    assert found["serve.host"] == ("127.0.0.1", "default")
    assert "serve.port" in run("config", "show").out
