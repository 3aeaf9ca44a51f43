"""What takes long says how far it is while it goes on, and ends as the page that it would have been at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.serve.conftest import Served, running
from tests.serve.console.browser import signed_in
from tests.serve.console.conftest import KEYWORDS
from tests.serve.console.test_pages import Signed, plan_in, words_of
from truekeep import Keep
from truekeep.serve.console import progress

pytestmark = pytest.mark.slow

_STEP = re.compile(r'class="step"><progress max="(\d+)" value="(\d+)"')


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Served]:
    """A keep of some size, and people who want to know at once that something happens."""
    home = tmp_path_factory.mktemp("library") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "_PATIENCE", 0.0)
        patch.setattr(progress, "_EVERY", 0.002)
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        with Keep.open("big", home=home, settings=KEYWORDS) as keep:
            for start in range(0, 1_000, 500):
                keep.remember_many(
                    [{"text": f"Shelf {n} is for box {n}."} for n in range(start, start + 500)], via="user"
                )
        with running(home) as served:
            yield served


def test_a_long_preview_begins_at_once_and_says_how_far_it_is(library: Served) -> None:
    person = Signed(library, "big")
    person.see("rewind")  # which opens the keep
    with person.http.stream(
        "POST", "/console/k/big/rewind/rehearse", data={"to": "10"}, headers={"Sec-Fetch-Site": "same-origin"}
    ) as answer:
        parts = list(answer.iter_text())
        assert answer.status_code == 200
        assert "content-length" not in answer.headers
    whole = "".join(parts)
    assert "</main>" not in parts[0], "the page begins before the work is done"
    steps = [(int(done), int(total)) for total, done in _STEP.findall(whole)]
    assert steps
    assert steps == sorted(steps)
    assert all(done <= total for done, total in steps)
    assert whole.count("</main>") == whole.count("</html>") == 1
    assert "991 memories taken out" in whole
    person.close()


def test_what_is_refused_on_the_way_is_told_on_the_page_that_has_begun(library: Served) -> None:
    person = Signed(library, "big")
    assert "Nothing had been written by then." in words_of(person.send("rewind/rehearse", to="2001-01-01T00:00"))
    assert person.send("rewind/rehearse", to="yesterday").status_code == 400, "what was not begun has a status"
    person.close()


def test_what_goes_wrong_in_long_work_is_told_at_its_end(library: Served) -> None:
    person = Signed(library, "big")
    plan = plan_in(person.send("rewind/rehearse", to="10"))
    stale = person.send("rewind", to="20", reason="x", plan=plan)
    assert "has changed since you looked" in words_of(stale)
    with Keep.open("big", home=library.home, settings=KEYWORDS) as keep:
        assert keep.incidents() == []
    person.close()


def test_a_person_is_led_from_the_preview_to_what_was_done_and_sees_no_step_twice(
    browser: Browser, library: Served
) -> None:
    with signed_in(browser, library, "big") as person:
        page = person.go("rewind")
        page.evaluate("for (const field of document.querySelectorAll('input[type=hidden][name=to]')) field.value = 10")
        page.locator("ul.events button").first.click()
        page.locator(".ended h1").wait_for()
        assert "991 memories taken out" in page.inner_text("main")
        assert page.locator(".step:visible, .working:visible").count() == 0
        assert page.locator("h1:visible").count() == 1
        assert person.serious() == []
        page.fill("[name=reason]", "Too many boxes")
        page.locator("button.danger").click()
        page.wait_for_url("**/incident/inc_*")
        assert "Too many boxes" in page.inner_text("main")
        assert person.trouble == []
