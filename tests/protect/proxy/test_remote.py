"""A server by its address that answers without end, or with little that unpacks to much."""

from __future__ import annotations

import gzip
import json
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from truekeep.protect.proxy.child import MOST_BYTES
from truekeep.protect.proxy.remote import http_client
from truekeep.protect.proxy.upstream import ServerRefused, Upstream

_PIECE = b" " * 1_000_000
_PIECES = 400
"""Far more than a message may have; a proxy that takes all of it is caught by what it holds."""


class Hostile(BaseHTTPRequestHandler):
    """Answers the first request as a server does, and every tool call as its path says."""

    protocol_version = "HTTP/1.1"
    sent = 0

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.send_error(405)

    do_DELETE = do_GET  # noqa: N815

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked.get("method") == "initialize":
            info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            self._whole(asked["id"], info | {"serverInfo": {"name": "x", "version": "1"}})
        elif asked.get("method") == "tools/list":
            self._whole(asked["id"], {"tools": [{"name": "get", "inputSchema": {"type": "object"}}]})
        elif asked.get("method") != "tools/call":
            self.send_response(202 if "id" not in asked else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._endless(asked["id"])

    def _whole(self, number: int, result: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _endless(self, number: int) -> None:
        text = {"type": "text", "text": "short as it is, nobody knows before it is unpacked"}
        head = json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": [text]}}).encode()
        self.send_response(500 if self.path == "/failing" else 200)
        self.send_header("Content-Type", "text/event-stream" if self.path == "/events" else "application/json")
        self.send_header("Connection", "close")
        if self.path == "/packed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        type(self).sent = 0
        try:
            if self.path == "/packed":
                self.wfile.write(gzip.compress(head, 1))
                return
            for piece in (b"data: " if self.path == "/events" else b"", *[_PIECE] * _PIECES, head):
                self.wfile.write(piece)
                type(self).sent += len(piece)
        except OSError:
            pass
        finally:
            self.close_connection = True


@contextmanager
def hostile() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@pytest.mark.parametrize("path", ["/endless", "/failing", "/packed", "/events"])
def test_an_answer_without_end_is_refused_before_it_is_held(path: str) -> None:
    async def called(address: str) -> None:
        async with http_client("") as http:
            transport: Any = streamable_http_client(address + path, http_client=http)
            async with Client(transport, mode="legacy", cache=None) as client:
                upstream = Upstream(client, most_chars=100_000, seconds=60)
                assert [one["name"] for one in await upstream.definitions()] == ["get"]
                with pytest.raises(ServerRefused):
                    await upstream.call("get", {})

    with hostile() as address:
        held, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        anyio.run(called, address)
        assert time.monotonic() - began < 30  # refused, not given up on after a minute
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held
        assert more * 1024 < 20 * MOST_BYTES
        assert Hostile.sent < 5 * MOST_BYTES
