"""A real server on a real socket, in a thread of the test's process, with tokens of every kind."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from truekeep.config import Paths, Settings
from truekeep.serve.app import create_app
from truekeep.serve.server import options
from truekeep.serve.settings import ServeSettings
from truekeep.serve.tokens import Tokens

KEYWORDS = Settings(embedder="none")
"""Recall by keywords: the service is what is tested here."""
KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "owner": ("user", ("read", "write", "delete", "custom-prompts")),
    "agent": ("agent", ("read", "write")),
    "reader": ("user", ("read",)),
    "web": ("web", ("write",)),
    "outcomes": ("outcomes", ("credit",)),
    "reviewer": ("reviewer:eva", ("review", "read")),
    "admin": ("user", ("read", "admin")),
}
"""A token of every kind: its channel and what it may."""


@dataclass
class Served:
    """A running service, and how to call it as one of its callers."""

    home: Path
    address: str
    tokens: Tokens
    app: Any = None
    _made: dict[tuple[str, str], str] = field(default_factory=dict)
    _clients: list[httpx.Client] = field(default_factory=list)

    def token(self, kind: str, keep: str = "alice") -> str:
        if (kind, keep) not in self._made:
            channel, may = KINDS[kind]
            subject = "" if kind != "reviewer" else "eva"
            self._made[kind, keep] = self.tokens.add(keep, channel, may, subject=subject)[0]
        return self._made[kind, keep]

    def client(self, kind: str | None = "owner", keep: str = "alice", **options: Any) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token(kind, keep)}"} if kind else {}
        made = httpx.Client(base_url=self.address, headers=headers, timeout=30, trust_env=False, **options)
        self._clients.append(made)
        return made

    def close(self) -> None:
        for client in self._clients:
            client.close()


Serve = Callable[..., Served]


@contextmanager
def running(home: Path, settings: Settings = KEYWORDS, **serve: Any) -> Iterator[Served]:
    """A service on a free port of this machine until the block ends."""
    chosen = ServeSettings(**{"chore_seconds": 0.0, "header_seconds": 30.0, "requests_per_second": 0.0, **serve})
    with socket.create_server(("127.0.0.1", 0), backlog=2_048) as listening:
        app = create_app(home, settings, chosen)
        given = {name: value for name, value in options(chosen).items() if name not in ("factory", "host", "port")}
        server = uvicorn.Server(uvicorn.Config(app, **given))
        ready = threading.Event()

        async def serving() -> None:
            task = asyncio.ensure_future(server.serve(sockets=[listening]))
            while not server.started and not task.done():
                await asyncio.sleep(0.005)
            ready.set()
            await task

        thread = threading.Thread(target=lambda: asyncio.run(serving()), daemon=True)
        thread.start()
        assert ready.wait(30)
        port = listening.getsockname()[1]
        served = Served(home, f"http://127.0.0.1:{port}", Tokens(Paths.resolve(home).keys), app)
        try:
            yield served
        finally:
            served.close()
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    with running(home) as service:
        yield service
