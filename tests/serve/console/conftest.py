"""A real console on a real socket."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.serve.conftest import Served, running
from truekeep import Keep
from truekeep.config import Settings
from truekeep.serve.console.visits import Visits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.serve.console.browsing import Place

KEYWORDS = Settings(embedder="none")
ALL = frozenset({"review", "admin", "read"})
Photograph = Callable[["Page", str], None]


class Browserless:
    """Somebody who sends what a browser would, without one."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.http = httpx.Client(base_url=served.address, timeout=120, trust_env=False)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.http.get(path, headers=headers)

    def post(self, path: str, site: str | None = "same-origin", **fields: str) -> httpx.Response:
        headers = {"Sec-Fetch-Site": site} if site else {}
        return self.http.post(path, data=fields, headers=headers)

    def sign_in(self, token: str) -> httpx.Response:
        return self.post("/console/sign-in", token=token)

    def close(self) -> None:
        self.http.close()


@contextmanager
def waiting(home: Path) -> Iterator[Served]:
    """A service with Alice's keep, in which one item waits for a reviewer."""
    with Keep.open("alice", home=home, settings=KEYWORDS) as keep:
        keep.remember("The office closes at six.", via="web", principal="https://example.com/hours")
    with running(home) as service:
        yield service


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Served]:
    """One for all tests of a module that leave it as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        with waiting(tmp_path_factory.mktemp("house") / "home") as service:
            yield service


@pytest.fixture
def served(house: Served) -> Iterator[Served]:
    """It, with tokens of the test's own."""
    own = Served(house.home, house.address, house.tokens, house.app)
    yield own
    own.close()


@pytest.fixture
def person(served: Served) -> Iterator[Browserless]:
    somebody = Browserless(served)
    yield somebody
    somebody.close()


@pytest.fixture
def visits(served: Served) -> Visits:
    return Visits(served.home / "keys")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests of the console; as long as it is open, nothing else can run an event loop."""
    from tests.serve.console.browser import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, browser: Browser) -> Iterator[Place]:
    """One service for all tests that review; each has keeps of its own."""
    from tests.serve.console.browsing import Place

    home = tmp_path_factory.mktemp("console") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        with running(home) as service:
            yield Place(service, browser, Visits(home / "keys"))


@pytest.fixture(scope="package")
def photograph() -> Photograph:
    """Take a screenshot of a page into the folder that ``TRUEKEEP_SCREENSHOTS`` names; without one, take none."""
    chosen = os.environ.get("TRUEKEEP_SCREENSHOTS")

    def take(page: Page, name: str) -> None:
        if chosen:
            page.screenshot(path=Path(chosen) / f"{name}.png")

    return take
