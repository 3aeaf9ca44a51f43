"""A real server on a real socket, in a thread of the test's process, with tokens of every kind."""

from __future__ import annotations

import asyncio
import secrets
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

from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.serve.app import create_app
from truekeep.serve.server import options
from truekeep.serve.settings import ServeSettings
from truekeep.serve.tokens import TokenBook

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
    tokens: TokenBook
    app: Any = None
    _made: dict[tuple[str, str], str] = field(default_factory=dict)
    _clients: list[httpx.Client] = field(default_factory=list)
    _keeps: set[str] = field(default_factory=set)

    def token(self, kind: str, keep: str = "alice") -> str:
        if (kind, keep) not in self._made:
            channel, may = KINDS[kind]
            subject = "" if kind != "reviewer" else "eva"
            self._made[kind, keep] = self.tokens.add(keep, channel, may, subject=subject)[0]
            self.make(keep)
        return self._made[kind, keep]

    def make(self, keep: str) -> None:
        """Make a keep, as whoever sets a token up does: reading makes none."""
        if keep not in self._keeps:
            Keep.open(keep, home=self.home, settings=KEYWORDS).close()
            self._keeps.add(keep)

    def client(self, kind: str | None = "owner", keep: str = "alice", **options: Any) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token(kind, keep)}"} if kind else {}
        made = httpx.Client(base_url=self.address, headers=headers, timeout=120, trust_env=False, **options)
        self._clients.append(made)
        return made

    def close(self) -> None:
        for client in self._clients:
            client.close()


Serve = Callable[..., Served]


class Server(uvicorn.Server):
    """A server that says when it is ready, and needs no clock to hear that it is to stop."""

    def __init__(self, app: Any, chosen: ServeSettings) -> None:
        given = {name: value for name, value in options(chosen).items() if name not in ("factory", "host", "port")}
        super().__init__(uvicorn.Config(app, **given))
        self.ready = threading.Event()

    async def main_loop(self) -> None:
        self._loop, self._told = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        self.ready.set()
        await self._told.wait()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._told.set)


@contextmanager
def running(home: Path, settings: Settings = KEYWORDS, **serve: Any) -> Iterator[Served]:
    """A service on a free port of this machine until the block ends."""
    chosen = ServeSettings(**{"chore_seconds": 0.0, "header_seconds": 30.0, "requests_per_second": 0.0, **serve})
    # Asyncio sends small answers at once only on sockets that say they are TCP's; others wait 40 ms for the peer.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(2_048)
        app = create_app(home, settings, chosen)
        server = Server(app, chosen)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
        thread.start()
        assert server.ready.wait(30)
        port = listening.getsockname()[1]
        served = Served(home, f"http://127.0.0.1:{port}", TokenBook(Paths.resolve(home).keys), app)
        try:
            yield served
        finally:
            served.close()
            server.stop()
            thread.join(30)
            assert not thread.is_alive()


class Own(Served):
    """A service that several tests share, each with a keep of its own."""

    name = "alice"

    def token(self, kind: str, keep: str | None = None) -> str:
        return super().token(kind, keep or self.name)

    def client(self, kind: str | None = "owner", keep: str | None = None, **options: Any) -> httpx.Client:
        return super().client(kind, keep or self.name, **options)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Served]:
    """One service for all tests of a worker that need nothing of their own but a keep: each start costs routes."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_CACHE_HOME", str(shared_cache))
        with running(tmp_path_factory.mktemp("service")) as started:
            yield started


@pytest.fixture
def served(service: Served) -> Iterator[Own]:
    own = Own(service.home, service.address, service.tokens, service.app)
    own.name = f"keep-{secrets.token_hex(4)}"
    yield own
    own.close()
