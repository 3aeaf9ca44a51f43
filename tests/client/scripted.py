"""A real HTTP server on this machine that answers as it is told to, also as no decent server would."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON, PROBLEM = "application/json", "application/problem+json"
IDENTITY = {
    "keep": "alice",
    "channel": "user",
    "capabilities": ["read", "write", "review", "admin"],
    "channel_capabilities": ["read", "write", "observe", "review"],
    "subject": "eva",
    "signs_as": "eva",
}


@dataclass(frozen=True)
class Said:
    """One answer; ``None`` for the status drops the connection instead."""

    status: int | None = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": JSON})


def problem(status: int, code: str, retry_after: str | None = None, **members: Any) -> Said:
    headers = {"Content-Type": PROBLEM} | ({"Retry-After": retry_after} if retry_after is not None else {})
    body = {"status": status, "code": code, "detail": "Said so.", "hint": "Do so.", **members}
    return Said(status, json.dumps(body).encode(), headers)


def answer(members: Any, status: int = 200) -> Said:
    return Said(status, json.dumps(members).encode())


@dataclass
class Script:
    """What the server will say next, and what it was asked."""

    address: str
    say: Callable[[str, str, dict[str, str], bytes], Said]
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list, repr=False)


@contextmanager
def scripted(*answers: Said | Callable[..., Said]) -> Iterator[Script]:
    """A server that says who the token is, and then one answer after the other; the last one again and again."""
    left = list(answers)

    def say(method: str, path: str, headers: dict[str, str], body: bytes) -> Said:
        if path == "/v1/identity":
            return answer(IDENTITY)
        chosen = left.pop(0) if len(left) > 1 else left[0]
        return chosen if isinstance(chosen, Said) else chosen(method, path, headers, body)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            said = script.say(self.command, self.path.partition("?")[0], headers, body)
            if self.path != "/v1/identity":
                script.asked.append((self.command, self.path, headers))
            if said.status is None:
                self.close_connection = True
                return
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815 - the library's names

        def log_message(self, *args: Any) -> None:
            """Quietly."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hangs up on a hostile answer is what is tested."""

    with Server(("127.0.0.1", 0), Handler) as server:
        script = Script(f"http://127.0.0.1:{server.server_address[1]}", say)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield script
        finally:
            server.shutdown()
            thread.join(60)
