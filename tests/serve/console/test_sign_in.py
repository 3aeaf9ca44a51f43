"""Who gets into the console, how, for how long, and as whom."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.serve.console.conftest import ALL, Browserless, waiting
from truekeep.errors import NotAuthenticated
from truekeep.serve.console.visits import Visits
from truekeep.serve.settings import ServeSettings
from truekeep.serve.tokens import TokenBook

INBOX = "/console/k/alice/inbox"


def test_whoever_is_not_signed_in_is_sent_to_the_sign_in_page_and_back(person: Browserless) -> None:
    sent = person.get(INBOX + "?state=open")
    assert sent.status_code == 303
    assert sent.headers["location"] == "/console/sign-in?then=%2Fconsole%2Fk%2Falice%2Finbox%3Fstate%3Dopen"
    page = person.get(sent.headers["location"])
    assert 'value="/console/k/alice/inbox?state=open"' in page.text
    back = person.post("/console/sign-in", token=person.served.token("reviewer"), then=INBOX)
    assert (back.status_code, back.headers["location"]) == (303, INBOX)
    assert "The office closes at six." in person.get(INBOX).text


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/",
        "/v1/review",
        "/console//evil.example",
        "/console/\\evil",
        "javascript:1",
    ],
)
def test_nobody_is_sent_elsewhere_after_signing_in(person: Browserless, elsewhere: str) -> None:
    answer = person.post("/console/sign-in", token=person.served.token("reviewer"), then=elsewhere)
    assert answer.headers["location"] == "/console/"


def test_a_link_is_spent_by_the_button_and_not_by_a_preview(person: Browserless, visits: Visits) -> None:
    secret = visits.link("*", "eva", ALL)
    for _ in range(2):
        assert "Welcome, eva" in person.get(f"/console/sign-in?once={secret}").text
    assert person.post("/console/sign-in", once=secret).status_code == 303
    assert person.get(INBOX).status_code == 200
    other = Browserless(person.served)
    assert other.post("/console/sign-in", once=secret).status_code == 401
    assert other.get(f"/console/sign-in?once={secret}").status_code == 401
    assert other.get(INBOX).status_code == 303
    other.close()


def test_two_who_press_the_button_at_once_do_not_both_get_in(home: Path) -> None:
    first, second = Visits(home / "keys"), Visits(home / "keys")
    secret = first.link("*", "eva", ALL)
    first.invited(secret)
    second.invited(secret)
    first.enter(secret)
    with pytest.raises(NotAuthenticated):
        second.enter(secret)


def test_a_link_lasts_for_minutes(home: Path, clock: Clock) -> None:
    visits = Visits(home / "keys", clock=clock)
    secret = visits.link("*", "eva", ALL)
    clock.advance(minutes=15)
    assert visits.invited(secret) is None
    with pytest.raises(NotAuthenticated):
        visits.enter(secret)


def test_neither_links_nor_cookies_are_kept_as_they_are(home: Path) -> None:
    visits = Visits(home / "keys")
    cookie, _ = visits.enter(secret := visits.link("*", "eva", ALL))
    book = home / "keys" / "console.json"
    assert cookie not in book.read_text()
    assert secret not in book.read_text()
    assert book.stat().st_mode & 0o077 == 0


def test_a_visit_ends_when_nothing_was_asked_for_a_while_and_after_hours_in_any_case(home: Path, clock: Clock) -> None:
    visits = Visits(home / "keys", ServeSettings(console_idle_minutes=30, console_hours=2), clock)
    cookie, _ = visits.enter(visits.link("*", "eva", ALL))
    for _ in range(5):
        clock.advance(minutes=20)
        assert visits.who(cookie) is not None
    clock.advance(minutes=20)
    assert visits.who(cookie) is None
    cookie, _ = visits.enter(visits.link("*", "eva", ALL))
    clock.advance(minutes=30)
    assert visits.who(cookie) is None


def test_a_tab_that_is_left_open_does_not_keep_its_person_signed_in(home: Path, clock: Clock) -> None:
    visits = Visits(home / "keys", ServeSettings(console_idle_minutes=30), clock)
    cookie, _ = visits.enter(visits.link("*", "eva", ALL))
    for _ in range(5):
        clock.advance(minutes=5)
        assert visits.who(cookie, is_here=False) is not None
    clock.advance(minutes=5)
    assert visits.who(cookie, is_here=False) is None


def test_another_process_knows_who_is_signed_in_and_who_signed_out(home: Path) -> None:
    one, other = Visits(home / "keys"), Visits(home / "keys")
    cookie, _ = one.enter(one.link("alice", "eva", ALL))
    assert (found := other.who(cookie)) is not None
    assert (found.signs_as, found.keep_pattern) == ("eva", "alice")
    other.end(cookie)
    assert one.who(cookie) is None


def test_a_visit_ends_with_the_token_that_it_began_with(person: Browserless) -> None:
    served = person.served
    person.sign_in(token := served.token("reviewer"))
    assert person.get(INBOX).status_code == 200
    served.tokens.revoke(token.split("_")[1])
    assert person.get(INBOX).status_code == 303


def test_signing_out_ends_the_visit_on_the_server_too(person: Browserless) -> None:
    person.sign_in(person.served.token("reviewer"))
    stolen = dict(person.http.cookies)
    assert person.post("/console/sign-out").status_code == 303
    person.http.cookies.update(stolen)
    assert person.get(INBOX).status_code == 303


def test_signing_in_gives_a_new_cookie_and_ends_the_old_visit(person: Browserless) -> None:
    person.sign_in(person.served.token("reviewer"))
    before = person.http.cookies["truekeep"]
    person.sign_in(person.served.token("reviewer"))
    after = person.http.cookies["truekeep"]
    assert before != after
    person.http.cookies.clear()
    person.http.cookies.set("truekeep", before, path="/console")
    assert person.get(INBOX).status_code == 303


def test_the_cookie_cannot_be_read_by_scripts_nor_sent_from_elsewhere(person: Browserless) -> None:
    given = person.sign_in(person.served.token("reviewer")).headers["set-cookie"]
    assert "HttpOnly" in given
    assert "samesite=strict" in given.lower()
    assert "Path=/console" in given
    behind_tls = person.http.post(
        "/console/sign-in",
        data={"token": person.served.token("reviewer")},
        headers={"Sec-Fetch-Site": "same-origin", "Origin": "https://keep.example.org"},
    ).headers["set-cookie"]
    assert behind_tls.startswith("__Host-truekeep=")
    assert "Secure" in behind_tls
    assert "Path=/;" in behind_tls
    assert "domain" not in behind_tls.lower()


def test_off_this_machine_a_cookie_that_another_host_could_set_counts_for_nothing(home: Path) -> None:
    from tests.serve.conftest import running

    with running(home, host="192.0.2.1", unsafe_no_tls=True) as served:
        outside, visits = Browserless(served), Visits(home / "keys")
        cookie, _ = visits.enter(visits.link("*", "mallory", ALL))
        assert outside.get("/console/", Cookie=f"truekeep={cookie}").status_code == 303
        assert outside.get("/console/", Cookie=f"__Host-truekeep={cookie}").status_code == 200
        outside.close()


@pytest.mark.parametrize("kind", ["owner", "agent", "reader", "web", "outcomes"])
def test_a_token_that_can_neither_review_nor_administer_does_not_get_in(person: Browserless, kind: str) -> None:
    assert person.sign_in(person.served.token(kind)).status_code == 401
    assert "truekeep" not in person.http.cookies


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["", "tk_000000000000_" + "A" * 43, "x" * 150, "\u0000", "é"])
def test_a_wrong_token_is_refused(person: Browserless, wrong: str) -> None:
    answer = person.sign_in(wrong)
    assert answer.status_code == 401
    assert "not valid" in answer.text


def test_a_token_in_the_address_or_a_header_signs_nobody_in(person: Browserless) -> None:
    token = person.served.token("reviewer")
    assert person.get(f"{INBOX}?token={token}").status_code == 303
    assert person.get(f"/console/sign-in?token={token}").status_code == 200
    assert person.get(INBOX, Authorization=f"Bearer {token}").status_code == 303
    assert person.get(f"/console/sign-in?once={token}").status_code == 401


def test_the_cookie_is_worth_nothing_on_the_rest_api(person: Browserless) -> None:
    person.sign_in(person.served.token("reviewer"))
    cookie = person.http.cookies["truekeep"]
    for sent in ({"Cookie": f"truekeep={cookie}"}, {"Cookie": f"__Host-truekeep={cookie}"}):
        assert person.get("/v1/review", **sent).status_code == 401
    assert person.get("/v1/review", Authorization=f"Bearer {cookie}").status_code == 401


@pytest.mark.slow
def test_a_person_sees_only_the_keeps_of_their_token(person: Browserless) -> None:
    served = person.served
    served.client("owner", keep="bob").post("/v1/memories", json={"text": "Bob likes tea."})
    person.sign_in(served.token("reviewer"))
    page = person.get(INBOX).text
    assert ">alice<" in page
    assert "bob" not in page
    for other in ("bob", "nobody", "*", "a*"):
        answer = person.get(f"/console/k/{other}/inbox")
        assert answer.status_code == 404
        assert "No such keep." in answer.text
    assert not (served.home / "data" / "nobody.db").exists()


def test_whoever_may_open_all_keeps_is_told_that_one_does_not_exist(person: Browserless, visits: Visits) -> None:
    person.post("/console/sign-in", once=visits.link("*", "eva", ALL))
    answer = person.get("/console/k/nowhere/inbox")
    assert answer.status_code == 404
    assert "No such keep." in answer.text
    assert "Sign out" in answer.text
    assert not (person.served.home / "data" / "nowhere.db").exists()


def test_a_reviewer_of_a_keep_that_does_not_exist_does_not_make_one(person: Browserless) -> None:
    person.sign_in(person.served.tokens.add("ghost", "reviewer:eva", ["review"])[0])
    assert person.get("/console/k/ghost/inbox").status_code == 404
    assert not (person.served.home / "data" / "ghost.db").exists()


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", None])
def test_a_post_from_elsewhere_is_refused_before_any_page_sees_it(person: Browserless, site: str | None) -> None:
    person.sign_in(person.served.token("reviewer"))
    refused = person.post("/console/sign-out", site=site)
    assert (refused.status_code, refused.json()["code"]) == (403, "cross_origin")
    assert person.get(INBOX).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [("{address}", 303), ("http://evil.example", 403), ("null", 403), ("http://127.0.0.1", 403), ("", 403)],
)
def test_an_older_browser_is_believed_by_its_origin(person: Browserless, origin: str, status: int) -> None:
    given = origin.format(address=person.served.address)
    answer = person.http.post("/console/sign-out", data={"a": "b"}, headers={"Origin": given})
    assert answer.status_code == status


def test_answers_carry_the_headers_that_keep_a_page_to_itself(person: Browserless) -> None:
    person.sign_in(person.served.token("reviewer"))
    for path in (INBOX, "/console/sign-in", "/console/nowhere", "/console/k/bob/inbox"):
        headers = person.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


def test_style_and_script_are_kept_by_browsers_under_names_that_change_with_them(person: Browserless) -> None:
    page = person.get("/console/sign-in").text
    names = [part.split('"')[0] for part in page.split('href="/console/static/')[1:]]
    assert len(names) == 2
    for name in names:
        found = person.get(f"/console/static/{name}")
        assert found.status_code == 200
        assert "immutable" in found.headers["cache-control"]
        again = person.get(f"/console/static/{name}", **{"If-None-Match": found.headers["etag"]})
        assert again.status_code == 304
    for wrong in ("console.css", "console.000000000000.css", "..%2Fapp.py", "app.000000000000.py"):
        assert person.get(f"/console/static/{wrong}").status_code == 404


def test_the_header_says_whether_the_keep_is_verified(home: Path) -> None:
    from tests.conftest import intruder

    with waiting(home) as served, closing(Browserless(served)) as person:
        person.sign_in(served.token("reviewer"))
        assert "Verified" in person.get(INBOX).text
        with intruder(home) as connection, connection:
            row = (900, "mem_00000000000000000000", "{}", b"\7" * 32)
            connection.execute("INSERT INTO memories(seq, id, tag, body, mac) VALUES (?, ?, '', ?, ?)", row)
        page = person.get(INBOX).text
        assert "Tampered" in page
        assert "memories row 900" in page
        with intruder(home) as connection, connection:
            connection.execute("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")
        refused = person.get(INBOX)
        assert refused.status_code == 503
        assert "Tampered" in refused.text


def test_the_look_is_remembered_without_a_script(person: Browserless) -> None:
    person.post("/console/look", language="sk", theme="dark")
    page = person.get("/console/sign-in").text
    assert '<html lang="sk" data-theme="dark">' in page
    assert "Prihlásiť sa" in page
    person.post("/console/look", language="<script>", theme="<script>")
    assert '<html lang="sk" data-theme="dark">' in person.get("/console/sign-in").text


def test_the_console_can_be_turned_off(home: Path) -> None:
    from tests.serve.conftest import running

    with running(home, console=False) as served:
        outside = Browserless(served)
        assert outside.get("/console/").status_code == 404
        outside.close()


def test_a_book_that_was_damaged_lets_nobody_in(home: Path) -> None:
    visits = Visits(home / "keys")
    cookie, _ = visits.enter(visits.link("*", "eva", ALL))
    book = home / "keys" / "console.json"
    members = json.loads(book.read_text())
    members["visits"][0]["link"]["capabilities"] = 7
    book.write_text(json.dumps(members))
    from truekeep.errors import KeyUnavailable

    with pytest.raises(KeyUnavailable):
        Visits(home / "keys").who(cookie)


def test_a_name_that_the_audit_log_does_not_take_becomes_one_that_it_does(home: Path) -> None:
    visits = Visits(home / "keys")
    _, identity = visits.enter(visits.link("*", "../<script>eva k.", ALL))
    assert identity.signs_as == "script-eva k."
    assert TokenBook(home / "keys").list() == []
