"""A real chat-completions server on loopback that does, request by request, what a test's script says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Reads the request, then hands over to the next behaviour of the script."""

    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.requests.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
        at = min(len(self.server.requests), len(self.server.script)) - 1
        self.server.script[at](self)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


class ModelServer(ThreadingHTTPServer):
    """The server, its script and what it was asked."""

    daemon_threads = True

    def __init__(self, script: list[Behaviour]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up on a hostile server is what the tests are about."""


@contextmanager
def serving(*script: Behaviour) -> Iterator[ModelServer]:
    """A running server; after its last behaviour it repeats it."""
    server = ModelServer(list(script))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def says(content: Any, *, usage: Any = None, finish: str = "stop") -> Behaviour:
    """Answer with this content in a well-formed envelope."""

    def behave(handler: Handler) -> None:
        text = content if isinstance(content, str | None) else json.dumps(content)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        handler.send(200, json.dumps({"choices": [choice], "usage": usage}).encode())

    return behave


def remembers(*memories: dict[str, Any]) -> Behaviour:
    """Answer with these memories; what a memory does not say is filled in."""
    filled = [{"type": "semantic", "topics": [], "entities": [], "quotes": [], **memory} for memory in memories]
    return says({"memories": filled})


def raw(status: int, body: bytes, **headers: str) -> Behaviour:
    """Answer with exactly this."""
    return lambda handler: handler.send(status, body, **headers)


def floods(megabytes: int) -> Behaviour:
    """Send a reply of that size."""

    def behave(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(megabytes * 1_000_000))
        handler.end_headers()
        for _ in range(megabytes):
            handler.wfile.write(b"x" * 1_000_000)

    return behave


def never_answers(handler: Handler) -> None:
    """Hold the connection open and say nothing until the test is over."""
    handler.server.over.wait(30)
    handler.close_connection = True


def dribbles_headers(handler: Handler) -> None:
    """Send a header a byte at a time, so that every read succeeds and none completes."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"a")
        handler.wfile.flush()
    handler.close_connection = True


def dribbles_body(handler: Handler) -> None:
    """Send the body a byte at a time for ever."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"1\r\n \r\n")
        handler.wfile.flush()
    handler.close_connection = True


def hangs_up(handler: Handler) -> None:
    """Close the connection in the middle of the reply."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True
