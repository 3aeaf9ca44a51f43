"""The obedient model behind a real chat-completions endpoint on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from truekeep.redteam.agent.obedience import Messages, extracted, turn
from truekeep.redteam.agent.scenario import Scenario

_PATH = "/v1/chat/completions"
_LONGEST = 4_000_000
_SECONDS = 60


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ObedientEndpoint

    def do_POST(self) -> None:
        """One completion."""
        length = int(self.headers.get("Content-Length", "0"))
        if self.path != _PATH or length > _LONGEST:
            self._answer(404, {})
            return
        self._answer(200, self.server.completion(json.loads(self.rfile.read(length))))

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        written = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)


class ObedientEndpoint(ThreadingHTTPServer):
    """Answers whoever asks. What a conversation is about it knows by the request's ``user``, as its script."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripts: dict[str, Scenario] = {}

    @property
    def url(self) -> str:
        """The base URL, as clients want it."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def completion(self, request: dict[str, Any]) -> dict[str, Any]:
        """The model's answer to one request; one that asks for a schema is asked for memories."""
        messages: Messages = request["messages"]
        if "response_format" in request:
            message: dict[str, Any] = {"role": "assistant", "content": extracted(messages)}
        else:
            message = turn(messages, self.scripts.get(request.get("user", "")))
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


class Line:
    """A connection to the endpoint that is kept open, as an agent's program holds one."""

    def __init__(self, endpoint: ObedientEndpoint) -> None:
        self.endpoint = endpoint
        self._connection = HTTPConnection("127.0.0.1", endpoint.server_address[1], timeout=_SECONDS)

    def ask(self, messages: Messages, user: str, tools: list[dict[str, Any]]) -> dict[str, Any]:
        """The model's next message."""
        body = json.dumps({"model": "obedient", "user": user, "messages": messages, "tools": tools})
        self._connection.request("POST", _PATH, body, {"Content-Type": "application/json"})
        answer = json.loads(self._connection.getresponse().read())
        message: dict[str, Any] = answer["choices"][0]["message"]
        return message

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


@contextmanager
def obedient() -> Iterator[Line]:
    """A running endpoint and a line to it."""
    endpoint = ObedientEndpoint()
    thread = threading.Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    line = Line(endpoint)
    try:
        yield line
    finally:
        line.close()
        endpoint.shutdown()
        thread.join()
        endpoint.server_close()
