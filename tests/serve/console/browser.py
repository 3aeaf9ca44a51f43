"""A real browser: Debian's Chromium, driven by Playwright, which notes whatever a page does that it must not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from tests.serve.conftest import Served
from tests.serve.console.conftest import ALL
from truekeep.serve.console.visits import Visits

CHROMIUM = shutil.which("chromium")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
_WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, until the block ends."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed; scripts/test installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Person:
    """Somebody signed in, in a window of their own; ``trouble`` is what pages said on the browser's console."""

    page: Page
    root: str
    trouble: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        self.page.goto(self.root + path)
        return self.page

    def dismiss(self, dialog: Dialog) -> None:
        """No page of the console opens a dialog of the browser's: one that does was made to."""
        self.trouble.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def serious(self) -> list[str]:
        """What axe-core finds seriously wrong on the page."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
        ]

    def is_wider_than_the_window(self) -> bool:
        return bool(self.page.evaluate(_WIDER))


@contextmanager
def signed_in(
    browser: Browser, served: Served, keep: str, *, may: frozenset[str] = ALL, look: str = "light", name: str = "eva"
) -> Iterator[Person]:
    """A window of a person who came in by a one-time link."""
    context = browser.new_context(**LOOKS[look], accept_downloads=True)
    page = context.new_page()
    person = Person(page, f"{served.address}/console/k/{keep}/")
    page.on("console", lambda message: person.trouble.append(message.text))
    page.on("pageerror", lambda error: person.trouble.append(str(error)))
    page.on("dialog", person.dismiss)
    secret = Visits(served.home / "keys").link("*", name, may)
    page.goto(f"{served.address}/console/sign-in?once={secret}")
    page.click("main button")
    try:
        yield person
    finally:
        context.close()
