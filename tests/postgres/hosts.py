"""Two services as two hosts have them: homes of their own, one database, one master key, one anchor elsewhere."""

from __future__ import annotations

import base64
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx

from tests.postgres.server import Database
from tests.serve.test_process import process
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.serve.console.visits import Visits
from truekeep.serve.shelf import shelf_of
from truekeep.serve.tokens import TokenBook

ANCHOR = "TRUEKEEP_TEST_ANCHOR"
MASTER = "TRUEKEEP_TEST_MASTER"


def environment(database: Database, anchor: Database) -> dict[str, str]:
    """What both hosts are told."""
    return {
        "TRUEKEEP_STORE": database.dsn,
        "TRUEKEEP_ANCHOR": f"postgres:{ANCHOR}",
        ANCHOR: anchor.owner,
        "TRUEKEEP_MASTER_KEY": f"env:{MASTER}",
        MASTER: base64.b64encode(secrets.token_bytes(32)).decode(),
    }


@dataclass
class Host:
    """One service, and the home it runs in."""

    home: Path
    process: subprocess.Popen[bytes]
    address: str
    _clients: list[httpx.Client] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        return replace(Settings.load(self.home), embedder="none")

    @property
    def tokens(self) -> TokenBook:
        return TokenBook(shelf_of(Paths.resolve(self.home), self.settings))

    @property
    def visits(self) -> Visits:
        return Visits(shelf_of(Paths.resolve(self.home), self.settings))

    def token(self, keep: str, channel: str = "user", may: Sequence[str] = ("read", "write")) -> str:
        return self.tokens.add(keep, channel, may)[0]

    def client(self, token: str = "", **headers: str) -> httpx.Client:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"Authorization": f"Bearer {token}"} if token else {}
        made = httpx.Client(base_url=self.address, headers=sent, trust_env=False, timeout=60)
        self._clients.append(made)
        return made

    def keep(self, name: str) -> Keep:
        return Keep.open(name, home=self.home, settings=self.settings, background=False)

    def close(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def host(home: Path, *options: str) -> Iterator[Host]:
    """A service in a process of its own. Its surroundings are those of this process."""
    home.mkdir(exist_ok=True)
    with process(home, *options) as (running, address):
        made = Host(home, running, address)
        try:
            yield made
        finally:
            made.close()


@contextmanager
def two_hosts(folder: Path, *options: str) -> Iterator[tuple[Host, Host]]:
    with ExitStack() as stack:
        one, other = (stack.enter_context(host(folder / name, *options)) for name in ("one", "other"))
        yield one, other
