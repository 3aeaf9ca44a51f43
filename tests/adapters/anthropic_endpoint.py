"""A model endpoint of Anthropic's shape on this machine, which answers with the turns of a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from truekeep.adapters.scripted import ModelScript, ShownMessage


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def shown(request: dict[str, Any]) -> list[ShownMessage]:
    system = request.get("system") or []
    texts = [system] if isinstance(system, str) else [one["text"] for one in system]
    found = [ShownMessage("system", text) for text in texts if text]
    for message in request["messages"]:
        for block in blocks_of(message):
            content = block.get("content", "")
            text = block.get("text") or (content if isinstance(content, str) else json.dumps(content))
            found.append(ShownMessage("tool" if block["type"] == "tool_result" else message["role"], text))
    return found


class ScriptedEndpoint(BaseHTTPRequestHandler):
    """Answers requests for messages with the turns of a script."""

    script: ModelScript

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "count_tokens" in self.path or "tools" not in request:
            self._json({"input_tokens": 1} if "count_tokens" in self.path else self._message(request, [], "end_turn"))
            return
        turn = self.script.next(shown(request))
        number = len(self.script.shown)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
        for place, call in enumerate(turn.calls):
            given = dict(call.arguments)  # type: ignore[arg-type]
            blocks.append({"type": "tool_use", "id": f"toolu_{number}_{place}", "name": call.name, "input": given})
        message = self._message(request, blocks, "tool_use" if turn.calls else "end_turn")
        if request.get("stream"):
            self._stream(message)
        else:
            self._json(message)

    def _message(self, request: dict[str, Any], blocks: list[dict[str, Any]], reason: str) -> dict[str, Any]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        return {
            "id": f"msg_{len(self.script.shown)}", "type": "message", "role": "assistant", "model": request["model"],
            "content": blocks, "stop_reason": reason, "stop_sequence": None, "usage": usage,
        }  # fmt: skip

    def _json(self, body: dict[str, Any]) -> None:
        told = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def _stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self._event("message_start", message={**message, "content": [], "stop_reason": None})
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty: dict[str, Any] = {"type": "text", "text": ""}
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self._event("content_block_start", index=index, content_block=empty)
            self._event("content_block_delta", index=index, delta=delta)
            self._event("content_block_stop", index=index)
        reason = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        self._event("message_delta", delta=reason, usage={"output_tokens": 1})
        self._event("message_stop")

    def _event(self, kind: str, **fields: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@contextmanager
def served(script: ModelScript) -> Iterator[str]:
    """The address at which a script answers."""
    handler = type("Endpoint", (ScriptedEndpoint,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
