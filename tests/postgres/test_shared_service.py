"""Two hosts behind one address: whatever the next request needs is there, whichever of them it reaches."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.postgres.hosts import Host, environment, two_hosts
from tests.postgres.server import Database, Server
from truekeep.serve.app import create_app
from truekeep.serve.settings import ServeSettings
from truekeep.stores.postgres_schema import SCHEMA

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
MEMORIES = "/v1/memories"


@pytest.fixture(scope="module")
def told(server: Server, shared: Database) -> Iterator[dict[str, str]]:
    anchor = server.database()
    yield environment(shared, anchor)
    anchor.drop()


@pytest.fixture(scope="module")
def hosts(
    told: dict[str, str], tmp_path_factory: pytest.TempPathFactory, shared_cache: Path
) -> Iterator[tuple[Host, Host]]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**told, "XDG_CACHE_HOME": str(shared_cache)}.items():
            patch.setenv(name, value)
        patch.setenv("TRUEKEEP_SERVE_REPLICAS", "2")
        with two_hosts(tmp_path_factory.mktemp("hosts")) as both:
            yield both


@pytest.fixture(autouse=True)
def _told(told: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in told.items():
        monkeypatch.setenv(name, value)


def put(client: httpx.Client, text: str, key: str = "") -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(MEMORIES, json={"memories": [{"text": text}]}, headers=headers)


def texts(client: httpx.Client) -> list[str]:
    answer = client.get(MEMORIES)
    assert answer.status_code == 200, answer.text
    return [one["content"] for one in answer.json()["memories"]]


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


def test_a_token_made_on_one_host_works_on_the_other_and_its_revocation_is_heeded_at_once(
    hosts: tuple[Host, Host],
) -> None:
    one, other = hosts
    token = one.token("tokens")
    here, there = one.client(token), other.client(token)
    stored = put(here, "The key is under the mat.")
    assert stored.status_code == 201, stored.text
    assert texts(there) == ["The key is under the mat."]
    assert [known.id for known in other.tokens.list()] == [known.id for known in one.tokens.list()]
    other.tokens.revoke(token.split("_")[1])
    assert code(here.get(MEMORIES)) == (401, "invalid_token")
    assert code(there.get(MEMORIES)) == (401, "invalid_token")
    assert not list(one.home.rglob("tokens.json"))


def test_two_hosts_change_the_tokens_at_once_and_none_is_lost(hosts: tuple[Host, Host]) -> None:
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda number: hosts[number % 2].token(f"many-{number}"), range(12)))
    known = {one.id for one in hosts[0].tokens.list()}
    assert {token.split("_")[1] for token in made} <= known


def test_a_write_that_is_sent_again_to_the_other_host_is_answered_alike_and_done_once(hosts: tuple[Host, Host]) -> None:
    token = hosts[0].token("again")
    here, there = (host.client(token) for host in hosts)
    first, again = put(here, "The parcel is in the hall.", "k-1"), put(there, "The parcel is in the hall.", "k-1")
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert put(there, "The parcel is in the shed.", "k-1").status_code in (409, 422)
    assert texts(there) == ["The parcel is in the hall."]


def test_an_answer_that_no_note_holds_is_shared_and_its_ticket_is_redeemed_exactly_once(
    hosts: tuple[Host, Host],
) -> None:
    token = hosts[0].token("tickets")
    here, there = (host.client(token) for host in hosts)
    assert here.put("/v1/sessions/s", json={"mediated": True}).status_code == 200
    assert there.post("/v1/sessions/s/observe", json={"text": "Pay Contoso 5 euros."}).status_code == 201
    call = {"session": "s", "name": "pay", "arguments": {"to": "Contoso", "amount": 5}}
    key = {"Idempotency-Key": "k-2"}
    first = here.post("/v1/check-action", json=call, headers=key)
    again = there.post("/v1/check-action", json=call, headers=key)
    assert first.json()["decision"] == "allow", first.text
    assert again.json() == first.json()
    where = f"/v1/tickets/{first.json()['ticket']}/redeem"
    with ThreadPoolExecutor(8) as threads:
        clients = [host.client(token) for host in hosts * 4]
        used = list(threads.map(lambda client: client.post(where, json=call).status_code, clients))
    assert sorted(used)[0] == 200
    assert used.count(200) == 1


def test_an_answer_from_before_an_erasure_is_given_by_no_host(hosts: tuple[Host, Host]) -> None:
    token = hosts[0].token("erased", "user", ("read", "write", "delete", "admin"))
    here, there = (host.client(token) for host in hosts)
    assert put(here, "The safe opens with 4711.").status_code == 201
    key = {"Idempotency-Key": "k-3"}
    call = {"session": "e", "name": "open", "arguments": {"code": "4711"}}
    assert here.post("/v1/check-action", json=call, headers=key).status_code == 200
    found = here.get(MEMORIES).json()["memories"][0]["id"]
    erased = there.post("/v1/erase", json={"ids": [found], "reason": "it was wrong", "dry_run": False})
    assert erased.status_code == 200, erased.text
    assert code(there.post("/v1/check-action", json=call, headers=key)) == (409, "request_done")


def test_a_tokens_rate_is_shared_out_among_the_hosts(hosts: tuple[Host, Host]) -> None:
    chosen = ServeSettings(replicas=2, workers=2, requests_per_second=100.0, burst=40)
    app = create_app(hosts[0].home, hosts[0].settings, chosen)
    buckets = app._service.buckets
    assert (buckets._rate, buckets._burst) == (25.0, 10.0), "four processes together do what the setting says"


def test_who_signed_in_at_one_host_is_signed_in_at_the_other_and_a_link_is_spent_once(hosts: tuple[Host, Host]) -> None:
    secret = hosts[0].visits.link("*", "Eva", frozenset({"review", "read"}))
    here, there = (host.client(Origin=host.address) for host in hosts)
    entered = here.post("/console/sign-in", data={"once": secret})
    assert (entered.status_code, entered.headers["location"]) == (303, "/console/")
    spent = there.post("/console/sign-in", data={"once": secret})
    assert spent.status_code == 401
    there.cookies.update(here.cookies)
    assert (
        there.get("/console/", follow_redirects=False).headers.get("location", "") != "/console/sign-in?then=/console/"
    )
    assert there.get("/console/").status_code in (200, 303)
    assert there.post("/console/sign-out").status_code == 303
    here.cookies.set("truekeep", next(iter(here.cookies.values())), path="/console")
    gone = here.get("/console/", follow_redirects=False)
    assert gone.headers["location"].startswith("/console/sign-in")


def test_a_token_that_is_taken_back_in_the_console_of_one_host_is_refused_by_the_other(
    hosts: tuple[Host, Host],
) -> None:
    token = hosts[1].token("console")
    there = hosts[1].client(token)
    assert put(there, "The key is under the mat.").status_code == 201
    person = hosts[0].client(Origin=hosts[0].address)
    secret = hosts[1].visits.link("*", "Eva", frozenset({"review", "admin", "read"}))
    assert person.post("/console/sign-in", data={"once": secret}).status_code == 303
    page = person.get("/console/k/console/tokens")
    assert token.split("_")[1] in page.text
    done = person.post("/console/k/console/tokens/revoke", data={"token": token.split("_")[1]})
    assert done.status_code in (200, 303), done.text
    assert code(there.get(MEMORIES)) == (401, "invalid_token")


def test_mcp_is_bound_to_no_host_where_there_are_several(hosts: tuple[Host, Host]) -> None:
    token = hosts[0].token("mcp", "agent")
    here, there = (host.client(token, Accept="application/json, text/event-stream") for host in hosts)
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    begun = here.post("/mcp", json=hello)
    assert begun.status_code == 200, begun.text
    assert "mcp-session-id" not in begun.headers
    listed = there.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert listed.status_code == 200
    assert "search_memories" in listed.text


def test_what_is_revoked_at_one_host_is_gone_at_the_other(hosts: tuple[Host, Host]) -> None:
    one, other = hosts
    with one.keep("traced") as keep:
        keep.remember("The canteen opens at nine.", via="user")
    token = one.token("traced", "user", ("read", "write", "delete", "admin"))
    here, there = one.client(token), other.client(token)
    assert texts(there) == ["The canteen opens at nine."]
    taken = here.post("/v1/revoke", json={"channel": "user", "reason": "it was stolen", "dry_run": False})
    assert taken.status_code == 200, taken.text
    assert texts(there) == []


def test_a_memory_that_somebody_altered_in_the_database_is_served_by_no_host(
    hosts: tuple[Host, Host], shared: Database
) -> None:
    token = hosts[0].token("altered")
    here, there = (host.client(token) for host in hosts)
    assert put(here, "The meeting is on Monday.").status_code == 201
    assert texts(here) == texts(there) == ["The meeting is on Monday."]
    place = f"(SELECT keep FROM {SCHEMA}.keeps WHERE name = 'altered')"
    shared.run(f"UPDATE {SCHEMA}.sealed SET body = set_byte(body, 20, get_byte(body, 20) # 1) WHERE keep = {place}")
    for client in (here, there):
        answer = client.post(f"{MEMORIES}/recall", json={"query": "When is the meeting?"})
        assert "Monday" not in answer.text
        assert answer.status_code == 503 or all(one["blocked"] for one in answer.json()["hits"]), answer.text
