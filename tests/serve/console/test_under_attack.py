"""Hostile content, hostile pages and people without the right: nothing runs, nothing breaks, nothing is done."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.serve.console.browsing import REVIEWER, Person, Place
from tests.serve.console.stage import MARKUP, besiege, payloads, story
from truekeep.serve.console.visits import Visits

pytestmark = pytest.mark.slow

PAGE_OF = 25
_FRAME = """() => {
  const count = (selector) => document.querySelectorAll(selector).length;
  const strange = ["script", "style", "iframe", "img", "object", "base", "link", "meta", "marquee"];
  return {
    title: document.title,
    frames: count("header.bar"),
    strange: count(strange.map((name) => `main ${name}`).join()),
    active: count("main [style], main [onload], main [onerror], main [onmouseover]"),
    astray: [...document.forms].filter((form) => !form.action.startsWith(location.origin + "/console/")).length,
  };
}"""


@contextmanager
def elsewhere(content: str) -> Iterator[str]:
    """A page on another origin of this machine."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def intact(person: Person) -> None:
    """The page is the console's own: its frame stands, its title holds, nothing ran and nothing sticks out."""
    assert person.trouble() == []
    assert person.overflow() == 0
    found = person.page.evaluate(_FRAME)
    assert found.pop("title").endswith("· truekeep")
    assert found == {"frames": 1, "strange": 0, "active": 0, "astray": 0}


@pytest.mark.parametrize("width", [1280, 390])
def test_no_hostile_text_source_session_or_topic_runs_or_breaks_a_page(place: Place, width: int) -> None:
    name = f"siege-{width}"
    texts = list(payloads())
    assert len(texts) > 300
    with place.keep(name) as keep:
        count = besiege(keep, texts if width == 1280 else ())
    with place.person(viewport={"width": width, "height": 860}) as eva:
        page = eva.inbox(name)
        pages = -(-count // PAGE_OF)
        for number in range(1, pages + 1, 1 if width == 1280 else 3):
            eva.inbox(name, f"?page={number}")
            intact(eva)
        eva.inbox(name)
        with place.keep(name) as keep:
            ids = [item.id for item in keep.review.list()[: 2 * len(MARKUP)]]
        for item_id in ids[width % 3 :: 3]:  # the two widths look at different ones
            eva.inbox(name, f"?item={item_id}")
            intact(eva)
        for path in ("bulk?act=reject", "source?channel=web&principal=%3Cscript%3Ealert(1)%3C/script%3E"):
            eva.go(f"/console/k/{name}/{path}")
            intact(eva)
        page = eva.inbox(
            name, "?q=%3Cscript%3Ealert(1)%3C/script%3E&principal=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E"
        )
        intact(eva)
        assert page.locator("input[type=search]").input_value() == "<script>alert(1)</script>"


def test_what_nobody_would_see_is_shown(place: Place) -> None:
    from tests.serve.console.stage import hold

    with place.keep("ghosts") as keep, place.person() as eva:
        hold(keep, "Pay \u202e17-4099\u202c to p\u0430ypal\u200b now \U000e0068\U000e0069 \x1b[31m")
        said = eva.inbox("ghosts").locator(".detail .said").first
        ghosts = said.locator(".ghost").all_inner_texts()
        assert ghosts == ["U+202E", "U+202C", "U+200B", "hi", "␛"]
        assert said.locator(".alike").get_attribute("title") == "U+0430 CYRILLIC SMALL LETTER A"


def test_secrets_are_not_shown_to_whoever_decides(place: Place) -> None:
    with place.keep("secret") as keep, place.person() as eva:
        story(keep)
        eva.inbox("secret")
        for item in keep.review.list():
            assert "hunter2" not in eva.inbox("secret", f"?item={item.id}").content()
        assert "hunter2" not in eva.go("/console/k/secret/bulk?act=approve").content()


def test_a_page_elsewhere_cannot_decide_for_a_reviewer(place: Place) -> None:
    with place.keep("csrf") as keep, place.person() as eva:
        story(keep)
        item = keep.review.list()[0]
        from truekeep.review.decisions import item_etag

        target = f"{place.served.address}/console/k/csrf/inbox/{item.id}/approve"
        trap = (
            f"<form method=post action='{target}'><input name=reason value=x>"
            f"<input name=etag value={item_etag(item)}></form><script>document.forms[0].submit()</script>"
        )
        with elsewhere(trap) as address, eva.page.expect_response(target) as answer:
            eva.page.goto(address)
        assert answer.value.status == 403
        assert answer.value.json()["code"] == "cross_origin"
        assert "truekeep=" not in answer.value.request.all_headers().get("cookie", "")
        assert keep.review.show(item.id).state == "open"


def test_a_page_elsewhere_cannot_frame_the_console(place: Place) -> None:
    with place.keep("frame") as keep, place.person() as eva:
        story(keep)
        with elsewhere(f"<iframe src='{place.served.address}/console/k/frame/inbox'></iframe>") as address:
            eva.page.goto(address)
            frame = eva.page.frames[1]
            frame.wait_for_load_state()
            assert "Inbox" not in frame.content()


def test_the_cookie_is_out_of_reach(place: Place) -> None:
    with place.keep("cookie") as keep, place.person() as eva:
        story(keep)
        (cookie,) = [one for one in eva.context.cookies() if one["name"] == "truekeep"]
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
        assert cookie["path"] == "/console"
        assert eva.page.evaluate("document.cookie") == ""


def test_signing_in_and_out_with_a_browser(place: Place) -> None:
    with place.keep("doors") as keep, place.outsider() as eva:
        story(keep)
        page = eva.go("/console/k/doors/inbox")
        expect(page.locator("h1")).to_have_text("Sign in")
        page.fill("input[name=token]", "tk_000000000000_" + "A" * 43)
        page.keyboard.press("Enter")
        expect(page.locator("[role=alert]")).to_contain_text("not valid")
        token, _ = place.served.tokens.add("doors", "reviewer:eva", ["review", "read"], subject="Eva Nová")
        page.fill("input[name=token]", token)
        page.keyboard.press("Enter")
        expect(page.locator(".person .name")).to_have_text("Eva Nová")
        page.locator(".person summary").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("h1")).to_have_text("Sign in")
        page.go_back()
        page.reload()
        expect(page.locator("h1")).to_have_text("Sign in")
        secret = place.visits.link("doors", "Eva", REVIEWER)
        Visits(place.served.home / "keys").enter(secret)
        expect(eva.go(f"/console/sign-in?once={secret}").locator("[role=alert]")).to_contain_text("used already")


def test_roles_see_and_do_what_is_theirs(place: Place) -> None:
    with place.keep("roles") as keep:
        story(keep)
    with place.person("Rita", REVIEWER, keep="roles") as rita:
        page = rita.go("/console/k/roles/source?channel=web&principal=evil.example")
        expect(page.locator("main")).to_contain_text("An administrator can do this.")
        answer = page.request.post(
            f"{rita.address}/console/k/roles/source/enrol",
            form={"name": "evil", "reason": "x", "channel": "web"},
            headers={"Sec-Fetch-Site": "same-origin"},
        )
        assert answer.status == 403
    with place.person("Ada", frozenset({"admin"}), keep="roles") as ada:
        assert ada.page.get_by_role("link", name="Inbox").count() == 0
        page = ada.inbox("roles")
        expect(page.locator("main")).to_contain_text("Your sign-in does not allow this.")
    with place.person("Blind", frozenset({"review"}), keep="roles") as blind:
        page = blind.inbox("roles")
        expect(page.locator("main")).to_contain_text("may not read memories")
        assert "1180-22" not in page.content()
