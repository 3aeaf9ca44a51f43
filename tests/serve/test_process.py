"""The service as a process: from the command line, killed under load, stopped gracefully, with several workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Run, run
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.serve.tokens import Tokens

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
    with (home / "log").open("wb") as log:
        started = subprocess.Popen(command, env=environment, stderr=log, stdout=log, start_new_session=True)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"{address}/v1/health", trust_env=False, timeout=5)
                break
            except httpx.TransportError:
                assert started.poll() is None, (home / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield started, address
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
        started.wait(30)


def owner(home: Path, keep: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {Tokens(Paths.resolve(home).keys).add(keep, 'user', ['read', 'write'])[0]}"}


def stored(home: Path, keep: str) -> list[str]:
    with Keep.open(keep, home=home, settings=KEYWORDS) as opened:
        assert opened.audit.verify().ok
        return [one["content"] for one in opened.get_memories()]


def write(address: str, headers: dict[str, str], name: str, done: list[str], over: threading.Event) -> None:
    with httpx.Client(base_url=address, headers=headers, trust_env=False, timeout=30) as client:
        for number in range(10_000):
            if over.is_set():
                return
            text = f"Parcel {name} {number} is in the hall"
            try:
                answer = client.post("/v1/long-term-memory/", json={"memories": [{"text": text}]})
            except httpx.TransportError:
                return
            if answer.status_code == 201:
                done.append(text)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_acknowledged_is_there_after_it_was_stopped_under_load(home: Path, how: signal.Signals) -> None:
    keeps = {f"k{number}": owner(home, f"k{number}") for number in range(3)}
    acknowledged: dict[str, list[str]] = {keep: [] for keep in keeps}
    over = threading.Event()
    with process(home) as (running, address):
        threads = [
            threading.Thread(target=write, args=(address, headers, keep, acknowledged[keep], over))
            for keep, headers in keeps.items()
        ]
        for thread in threads:
            thread.start()
        while min(map(len, acknowledged.values())) < 8:
            time.sleep(0.01)
            assert running.poll() is None
        os.killpg(running.pid, how)
        running.wait(30)
        over.set()
        for thread in threads:
            thread.join(30)
    for keep, texts in acknowledged.items():
        found = stored(home, keep)
        assert set(texts) <= set(found)
        assert len(found) == len(set(found))


def test_several_workers_share_a_keep_and_lose_and_double_nothing(home: Path) -> None:
    headers, done, over = owner(home, "shared"), list[str](), threading.Event()
    with process(home, "--workers", "2") as (_, address):
        threads = [
            threading.Thread(target=write, args=(address, headers, str(number), done, over)) for number in range(4)
        ]
        for thread in threads:
            thread.start()
        while len(done) < 40:
            time.sleep(0.01)
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
    assert sorted(found) == sorted([*done, "The spare key hangs by the door"])


def test_its_log_is_json_and_tells_nothing_that_was_said(home: Path) -> None:
    headers = owner(home, "alice")
    with process(home) as (running, address):
        body = {"memories": [{"text": "My secret garden is behind the mill"}]}
        httpx.post(f"{address}/v1/long-term-memory/?note=hush", json=body, headers=headers, trust_env=False)
        httpx.get(f"{address}/v1/long-term-memory/mem_0123", headers=headers, trust_env=False)
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
