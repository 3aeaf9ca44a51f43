"""A model and an embedder on loopback, scripted: what mem0 asks is written down, what it is answered is given."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SIZE = 8


class Script:
    """The facts that the model finds next, and every prompt that it was shown."""

    def __init__(self) -> None:
        self.facts: list[str] = []
        self.prompts: list[str] = []
        self.url = ""

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        self.prompts.append(json.dumps(body["messages"], ensure_ascii=False))
        found = json.dumps({"memory": [{"id": str(at), "text": text} for at, text in enumerate(self.facts)]})
        message = {"role": "assistant", "content": found}
        return {
            "id": "c", "object": "chat.completion", "created": 0, "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }  # fmt: skip

    def embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [{"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
        return {"object": "list", "model": "scripted", "data": data, "usage": {"prompt_tokens": 0, "total_tokens": 0}}


def vector(text: str) -> list[float]:
    """All vectors are near each other: a search finds everything, in some order."""
    return [1.0 + byte / 2550 for byte in hashlib.sha256(text.encode(errors="replace")).digest()[:SIZE]]


@contextmanager
def serving() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = script.embeddings(body) if self.path.endswith("embeddings") else script.chat(body)
            sent = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()


def configuration(script: Script, folder: Path) -> dict[str, Any]:
    """mem0 as its users set it up, with everything on this machine."""
    client = {"api_key": "none", "openai_base_url": script.url}
    return {
        "llm": {"provider": "openai", "config": {"model": "scripted", **client}},
        "embedder": {"provider": "openai", "config": {"model": "scripted", "embedding_dims": SIZE, **client}},
        "vector_store": {
            "provider": "qdrant",
            "config": {
                "collection_name": "memories",
                "path": str(folder / "qdrant"),
                "on_disk": True,
                "embedding_model_dims": SIZE,
            },
        },
        "history_db_path": str(folder / "history.db"),
    }
