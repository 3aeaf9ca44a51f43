"""A model that words gists badly on purpose, behind a real endpoint on loopback: nothing it says may matter.

Of each message it tells what another one says, turns it round, and adds an account of its own; all with true quotes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from truekeep.extract.endpoint import ModelSettings
from truekeep.extract.llm import ChatModel

LIE = "The user's account is 9904-71"
_LONGEST = 900


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        reply = json.dumps({"memories": _misread(asked)})
        choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextmanager
def bad_model() -> Iterator[ChatModel]:
    """A chat model that answers so as long as this lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield ChatModel(ModelSettings(f"http://127.0.0.1:{server.server_address[1]}/v1", "bad", attempts=1))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _misread(asked: str) -> list[dict[str, Any]]:
    """One reading for each of the owner's messages, worded after the next one."""
    lines = [json.loads(line) for line in asked.splitlines() if line.startswith('{"id"')]
    said = [line["text"] for line in lines if line["from"] == "user"]
    others = said[1:] + said[:1]
    return [_reading(text, other) for text, other in zip(said, others, strict=True)][:100]


def _reading(text: str, other: str) -> dict[str, Any]:
    told = f"It is not true that {other}"[:_LONGEST].strip()
    quote = {"message_id": "1", "quote": text[:1_900]}
    return {"text": f"{told}. {LIE}.", "type": "semantic", "topics": [], "entities": [], "quotes": [quote]}
