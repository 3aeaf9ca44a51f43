"""A person with a browser: Debian's Chromium against the real console, watched for whatever should not happen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request

from tests.serve.conftest import Served
from truekeep import Keep
from truekeep.serve.console.visits import Visits

ALL = frozenset({"review", "admin", "read"})
REVIEWER = frozenset({"review", "read"})
_WATCH = """
window.__broken = [];
document.addEventListener('securitypolicyviolation',
  (event) => window.__broken.push(event.violatedDirective + ' ' + event.blockedURI));
"""


@dataclass
class Person:
    """Somebody at the console, and everything that went wrong while they were there."""

    context: BrowserContext
    page: Page
    address: str
    wrong: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Open a page of the console."""
        self.page.goto(self.address + path, wait_until="load")
        return self.page

    def inbox(self, keep: str, query: str = "") -> Page:
        """Open a keep's inbox."""
        return self.go(f"/console/k/{keep}/inbox{query}")

    def trouble(self) -> list[str]:
        """What should not have happened: scripts that ran, rules that were broken, requests to elsewhere."""
        return [*self.wrong, *self.page.evaluate("window.__broken ?? []")]

    def overflow(self) -> int:
        """How far the page is wider than the window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wide


@dataclass
class Place:
    """A running service with a home of keeps, and a browser."""

    served: Served
    browser: Browser
    visits: Visits

    def keep(self, name: str) -> Keep:
        """A keep, opened beside the service as another process would; the caller closes it."""
        from truekeep.config import Settings

        return Keep.open(name, home=self.served.home, settings=Settings(embedder="none"))

    @contextmanager
    def person(self, name: str = "Eva", may: frozenset[str] = ALL, keep: str = "*", **options: Any) -> Iterator[Person]:
        """Somebody who came in by a one-time link."""
        with self.outsider(**options) as somebody:
            somebody.go(f"/console/sign-in?once={self.visits.link(keep, name, may)}")
            somebody.page.click("main button")
            yield somebody

    @contextmanager
    def outsider(self, **options: Any) -> Iterator[Person]:
        """Somebody who is not signed in."""
        chosen = {"viewport": {"width": 1280, "height": 860}, "locale": "en-GB", **options}
        context = self.browser.new_context(**chosen)
        context.set_default_timeout(60_000)
        page = context.new_page()
        somebody = Person(context, page, self.served.address)
        self._watch(somebody)
        try:
            yield somebody
        finally:
            context.close()

    def _watch(self, somebody: Person) -> None:
        def asked(request: Request) -> None:
            if not request.url.startswith((somebody.address, "data:", "about:", "blob:")):
                somebody.wrong.append(f"asked elsewhere: {request.url[:80]}")

        def dismissed(dialog: Dialog) -> None:
            somebody.wrong.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        somebody.context.add_init_script(_WATCH)
        somebody.page.on("request", asked)
        somebody.page.on("dialog", dismissed)
        somebody.page.on("pageerror", lambda error: somebody.wrong.append(f"script error: {error}"))
        somebody.page.on(
            "console",
            lambda message: (
                somebody.wrong.append(message.text)
                if message.type == "error" and "status of 4" not in message.text
                else None
            ),
        )


def serious(page: Page) -> list[str]:
    """What axe-core finds serious or critical on a page."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]
