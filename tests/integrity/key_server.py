"""A key service over a socket, and a plug-in that asks it: its keys never are in the process that asks."""

from __future__ import annotations

import base64
import http.server
import json
import os
import secrets
import threading
from collections.abc import Mapping
from typing import Any

import httpx
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ADDRESS = "TRUEKEEP_TEST_KEY_SERVER"


class KeyServer:
    """Wraps with its newest key, unwraps with any that it has, and may be told to refuse."""

    def __init__(self) -> None:
        self.keys: dict[str, AESGCM] = {}
        self.asked: list[str] = []
        self.refuses = False
        self.rotate()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def rotate(self) -> None:
        self.current = f"arn:test:key/{len(self.keys) + 1}"
        self.keys[self.current] = AESGCM(secrets.token_bytes(32))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, what: str, given: dict[str, str]) -> dict[str, str]:
        self.asked.append(what)
        if what == "key":
            return {"id": self.current}
        data, context = base64.b64decode(given["data"]), given["context"].encode()
        if what == "wrap":
            nonce = secrets.token_bytes(12)
            done = nonce + self.keys[given["id"]].encrypt(nonce, data, context)
        else:
            done = self.keys[given["id"]].decrypt(data[:12], data[12:], context)
        return {"data": base64.b64encode(done).decode()}

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    body, status = service.answer(self.path[1:], given), 403 if service.refuses else 200
                except Exception:
                    body, status = {}, 400
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_: Any) -> None:
                """Nothing is logged."""

        return Handler


class RemoteKeys:
    """The plug-in, as an operator would write it."""

    @property
    def key_id(self) -> str:
        return self._ask("key")["id"]

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        return self._bytes("wrap", self.key_id, key, context)

    def unwrap(self, key_id: str, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        return self._bytes("unwrap", key_id, wrapped, context)

    def _bytes(self, what: str, key_id: str, data: bytes, context: Mapping[str, str]) -> bytes:
        given = {"id": key_id, "data": base64.b64encode(data).decode(), "context": json.dumps(dict(context))}
        return base64.b64decode(self._ask(what, **given)["data"])

    def _ask(self, what: str, **given: str) -> dict[str, str]:
        answer = httpx.post(f"{os.environ[ADDRESS]}/{what}", json=given, trust_env=False, timeout=10)
        answer.raise_for_status()
        return dict(answer.json())
