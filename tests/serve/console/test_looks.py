"""Every page of the review half, light, dark and on a phone: no serious barrier, no sideways scrolling; its cost."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.conftest import running
from tests.serve.console.browsing import Place, serious
from tests.serve.console.conftest import Photograph
from tests.serve.console.stage import crowd, story
from tests.yardstick import allowed
from truekeep import Keep
from truekeep.config import Settings
from truekeep.serve.console.visits import Visits

pytestmark = pytest.mark.slow

KEYWORDS = Settings(embedder="none")
PATHS = {
    "sign-in": "/console/sign-in",
    "keeps": "/console/",
    "inbox": "/console/k/looks/inbox",
    "item": "/console/k/looks/inbox?q=northern",
    "secret": "/console/k/looks/inbox?q=password",
    "deletion": "/console/k/looks/inbox?kind=deletion",
    "change": "/console/k/looks/inbox?kind=change",
    "nothing": "/console/k/looks/inbox?q=zzz",
    "bulk": "/console/k/looks/bulk?act=reject",
    "source": "/console/k/looks/source?channel=web&principal=evil.example",
    "problem": "/console/k/nowhere/inbox",
}
WAYS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
}


@pytest.fixture(scope="module")
def furnished(place: Place) -> Place:
    with place.keep("looks") as keep:
        story(keep)
    return place


@pytest.mark.parametrize("way", WAYS)
def test_no_page_has_a_serious_barrier_or_scrolls_sideways(furnished: Place, photograph: Photograph, way: str) -> None:
    found: dict[str, list[str]] = {}
    with furnished.person(**WAYS[way]) as eva:
        for name, path in PATHS.items():
            page = eva.go(path)
            photograph(page, f"{name}-{way}")
            assert eva.overflow() == 0, name
            if name == "inbox":
                page.keyboard.press("?")
                photograph(page, f"shortcuts-{way}")
                found["keys"] = serious(page)
                page.keyboard.press("Escape")
                page.locator("details[data-key=a] > summary").evaluate("summary => summary.click()")
            found[name] = serious(page)
        assert eva.trouble() == []
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_the_first_page_weighs_less_than_a_hundred_kilobytes(furnished: Place) -> None:
    with furnished.person() as eva:
        eva.context.route("**/*", lambda route: route.continue_())  # which turns the browser's cache off
        total: list[int] = []
        eva.page.on("response", lambda answer: total.append(len(answer.body())))
        eva.inbox("looks")
        eva.page.wait_for_load_state("networkidle")
        assert len(total) >= 3
        assert sum(total) < 100_000


SIZES = (10_000, 2_000) if os.environ.get("TRUEKEEP_LONG") else (1_500, 600)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("crowd") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        with Keep.open("crowd", home=home, settings=KEYWORDS) as keep:
            crowd(keep, *SIZES)
        with running(home) as served, httpx.Client(base_url=served.address, timeout=60, trust_env=False) as client:
            secret = Visits(home / "keys").link("*", "Eva", frozenset({"review", "admin", "read"}))
            client.post("/console/sign-in", data={"once": secret}, headers={"Sec-Fetch-Site": "same-origin"})
            yield client


@pytest.mark.parametrize(
    "path",
    [
        "inbox",
        "inbox?page=20",
        "inbox?q=stop+7",
        "inbox?principal=s7.example",
        "bulk?act=reject&principal=s7.example",
        "source?channel=web&principal=s7.example",
        "live",
    ],
)
def test_a_page_costs_less_than_a_tenth_of_a_second(crowded: httpx.Client, path: str) -> None:
    address = f"/console/k/crowd/{path}"
    assert crowded.get(address).status_code == 200
    costs = []
    for _ in range(5):
        before = time.process_time()
        answer = crowded.get(address)
        costs.append(time.process_time() - before)  # the client's own share is in it
        assert answer.status_code == 200
    assert min(costs) < allowed(0.1)
    print(f"{path}: {min(costs) * 1000:.0f} ms of CPU, {len(answer.content) / 1000:.0f} KB")
