"""A real console on a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.serve.conftest import Served, running
from truekeep import Keep
from truekeep.config import Settings
from truekeep.serve.console.visits import Visits

if TYPE_CHECKING:
    from tests.console.browsing import Place

KEYWORDS = Settings(embedder="none")
ALL = frozenset({"review", "admin", "read"})


class Browserless:
    """Somebody who sends what a browser would, without one."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.http = httpx.Client(base_url=served.address, timeout=30, trust_env=False)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.http.get(path, headers=headers)

    def post(self, path: str, site: str | None = "same-origin", **fields: str) -> httpx.Response:
        headers = {"Sec-Fetch-Site": site} if site else {}
        return self.http.post(path, data=fields, headers=headers)

    def sign_in(self, token: str) -> httpx.Response:
        return self.post("/console/sign-in", token=token)

    def close(self) -> None:
        self.http.close()


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    with Keep.open("alice", home=home, settings=KEYWORDS) as keep:
        keep.remember("The office closes at six.", via="web", principal="https://example.com/hours")
    with running(home) as running_service:
        yield running_service


@pytest.fixture
def person(served: Served) -> Iterator[Browserless]:
    somebody = Browserless(served)
    yield somebody
    somebody.close()


@pytest.fixture
def visits(served: Served) -> Visits:
    return Visits(served.home / "keys")


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Place]:
    """One service and one browser for all tests; each test has keeps of its own."""
    from tests.console.browsing import CHROMIUM, Place, launched

    if not CHROMIUM:
        pytest.skip("Chromium is not installed; 'bash scripts/test' installs it where it may")
    from playwright.sync_api import sync_playwright

    home = tmp_path_factory.mktemp("console") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        with running(home) as service, sync_playwright() as playwright:
            browser = launched(playwright)
            yield Place(service, browser, Visits(home / "keys"))
            browser.close()
