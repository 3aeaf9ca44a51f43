"""An embedder behind a real HTTP server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from truekeep.embed.base import EmbedderError
from truekeep.embed.remote import OpenAIEmbedder

Answer = tuple[int, Any]


class _Server(ThreadingHTTPServer):
    """Answers by a function of the request; remembers what it was asked."""

    answer: Callable[[dict[str, Any], int], Answer]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.asked.append(body)
        server.keys.append(self.headers["Authorization"])
        status, content = server.answer(body, len(server.asked))
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:9/")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as running:
        running.answer = good
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def good(body: dict[str, Any], _number: int) -> Answer:
    """Vectors that tell the texts apart, out of order as the protocol allows."""
    rows = [{"index": place, "embedding": [len(text), 1.0, 0.5]} for place, text in enumerate(body["input"])]
    return 200, {"data": rows[::-1]}


def embedder(server: _Server) -> OpenAIEmbedder:
    return OpenAIEmbedder(f"http://127.0.0.1:{server.server_port}/v1", "m-1", key="k-1", pause=lambda _seconds: None)


def test_texts_are_sent_in_batches_and_come_back_in_their_order(server: _Server) -> None:
    texts = ["x" * (place + 1) for place in range(150)]
    rows = embedder(server).embed(texts, "passage")
    assert [len(body["input"]) for body in server.asked] == [1, 64, 64, 22]
    assert np.all(np.diff(rows[:, 0]) > 0)
    assert set(server.keys) == {"Bearer k-1"}


def test_a_passing_fault_is_tried_again(server: _Server) -> None:
    server.answer = lambda body, number: good(body, number) if number > 3 else (503, {})
    assert embedder(server).dim == 3
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    "answer",
    [
        (500, {}),
        (401, {"error": "no"}),
        (302, {}),
        (200, b"not json"),
        (200, {"data": []}),
        (200, {"data": [{"index": 0, "embedding": "x"}]}),
        (200, {"data": [{"index": 1, "embedding": [1.0]}]}),
        (200, {"data": [{"embedding": [1.0]}]}),
        (200, []),
        (200, b"[" * 100_000),
    ],
    ids=["down", "refused", "redirect", "no json", "no rows", "no vector", "gap", "no index", "no data", "deep"],
)
def test_an_endpoint_that_fails_is_an_embedder_error(server: _Server, answer: Answer) -> None:
    server.answer = lambda _body, _number: answer
    with pytest.raises(EmbedderError):
        embedder(server).embed(["a"], "query")


def test_a_nan_or_a_changed_dimension_is_an_embedder_error(server: _Server) -> None:
    broken = embedder(server)
    assert broken.dim == 3
    for members in ("[NaN, 1, 2]", "[1, 2]"):
        content = b'{"data": [{"index": 0, "embedding": ' + members.encode() + b"}]}"
        server.answer = lambda _body, _number, content=content: (200, content)  # type: ignore[misc]
        with pytest.raises(EmbedderError):
            broken.embed(["a"], "query")


def test_nobody_listening_is_an_embedder_error(server: _Server) -> None:
    silent = OpenAIEmbedder("http://127.0.0.1:9/v1", "m", pause=lambda _seconds: None)
    with pytest.raises(EmbedderError) as failed:
        silent.embed(["a"], "query")
    assert failed.value.code == "embedder_unreachable"
