"""The Python client: one scenario on an embedded and on a served keep, and writes that are sent again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import KEYWORDS, Served, running
from tests.serve.test_long_term import POISON
from truekeep import Decision, Keep, Standing, guard
from truekeep.client import ServedKeep, connect, connect_async
from truekeep.errors import ConfirmationNeeded, NotAllowed, NotAuthenticated, ServiceBusy, UnknownId
from truekeep.recall import Filters

ALL = ("owner", "agent", "web", "outcomes", "reviewer", "admin")


@pytest.fixture(params=["embedded", "served"])
def keep(request: pytest.FixtureRequest, home: Path) -> Iterator[Keep | ServedKeep]:
    if request.param == "embedded":
        with Keep.open("alice", home=home, settings=KEYWORDS) as opened:
            yield opened
        return
    with running(home) as service, connect(service.address, [service.token(kind) for kind in ALL]) as client:
        yield client


def test_one_scenario_runs_on_both(keep: Keep | ServedKeep) -> None:
    stored = keep.remember("I prefer dark mode in every editor", via="user", topics=["ui"])
    assert (stored.decision, stored.code) == (Decision.ACCEPT, "stored")
    held = keep.remember("Northwind moved to Bergen", via="web", principal="https://example.com/news")
    assert held.decision is Decision.QUARANTINE
    refused = keep.remember(POISON, via="user")
    assert refused.decision is Decision.REJECT
    assert refused.as_dict()["error"].startswith("Content blocked: matched")
    assert refused.findings

    (hit,) = keep.recall("dark mode", k=3, filters=Filters(topics=frozenset({"ui"})))
    assert (hit.text, hit.may_act, hit.memory.standing) == (stored_text(), True, Standing.OWNER)
    assert keep.recall("dark mode", filters=Filters(topics=frozenset({"other"}))) == []
    (listed,) = keep.get_memories()
    assert (listed["id"], listed["content"], listed["standing"]) == (stored.memory_id, stored_text(), "owner")

    changed = keep.update_memory(str(stored.memory_id), "I prefer light mode", via="user")
    assert changed.accepted
    assert keep.get_memory(str(stored.memory_id))["content"] == "I prefer light mode"
    proposed = keep.delete_memory(str(stored.memory_id), via="agent")
    assert proposed.decision is Decision.QUARANTINE

    items = [one if isinstance(one, dict) else {"id": one.id, "kind": one.kind} for one in keep.review.list()]
    (page,) = [one for one in items if one["kind"] not in ("deletion",)]
    approved = keep.review.approve(page["id"], by="eva", reason="I called them")
    assert approved.code == "approved"
    assert "Bergen" in keep.recall("Northwind")[0].text

    assert keep.snapshot("s-1").text.startswith("<memories>")
    assert keep.audit.verify().ok
    assert [event.kind for event in keep.audit.events(kinds=["review.approved"])] == ["review.approved"]
    assert keep.delete_memory(str(stored.memory_id), via="user").accepted
    with pytest.raises(UnknownId):
        keep.get_memory(str(stored.memory_id))


def stored_text() -> str:
    return "I prefer dark mode in every editor"


def test_a_guarded_tool_runs_on_both(keep: Keep | ServedKeep) -> None:
    paid: list[tuple[str, int]] = []

    def pay(to: str, amount: int) -> None:
        paid.append((to, amount))

    with keep.session("s-1", mediated=True) as session:
        session.observe("user", "Please pay Northwind 300 euros")
        guard(pay, session=session)("Northwind", 300)
        with pytest.raises(ConfirmationNeeded) as waits:
            guard(pay, session=session)("Globex", 300)
    assert paid == [("Northwind", 300)]
    assert waits.value.answer.ticket
    assert keep.credit("s-1", "good", via="outcomes")["outcome"] == "good"


def test_words_of_a_channel_go_with_its_token_or_not_at_all(served: Served) -> None:
    with connect(served.address, served.token("owner")) as client:
        assert client.remember("I like tea", via="user").accepted
        with pytest.raises(NotAllowed):
            client.remember("A page said so", via="web")
        with pytest.raises(NotAllowed):
            client.bind("agent")
    with pytest.raises(NotAuthenticated), connect(served.address, "tk_wrong") as client:
        client.get_memories()


def test_the_asynchronous_client_does_the_same(served: Served) -> None:
    async def scenario() -> None:
        tokens = [served.token(kind) for kind in ("owner", "agent")]
        async with connect_async(served.address, tokens) as keep:
            stored = await asyncio.gather(*(keep.remember(f"Box {number} is mine", via="user") for number in range(5)))
            assert all(one.accepted for one in stored)
            assert (await keep.remember(POISON, via="user")).decision is Decision.REJECT
            assert len(await keep.get_memories()) == 5
            assert (await keep.recall("Box 3", k=1))[0].text.startswith("Box")
            await keep.observe("s-1", "user", "Please pay Northwind 300 euros")
            answer = await keep.check_action("s-1", "pay", {"to": "Northwind", "amount": 300})
            assert answer
            await keep.redeem(str(answer.ticket), "pay", {"to": "Northwind", "amount": 300})
            assert (await keep.delete_memory(str(stored[0].memory_id), via="agent")).decision is Decision.QUARANTINE

    asyncio.run(scenario())


def test_a_pattern_token_names_its_keep_once(served: Served) -> None:
    token, _ = served.tokens.add("team-*", "user", ["read", "write"])
    with connect(served.address, token, keep="team-red") as client:
        assert client.remember("We meet on Mondays").accepted
    assert served.client("owner").get("/v1/long-term-memory/").json()["memories"] == []


class _Lossy(BaseHTTPRequestHandler):
    """Passes requests on and loses every first answer, as a network does."""

    target = ""
    seen: set[str] = set()  # noqa: RUF012 - shared by all connections on purpose

    def do_POST(self) -> None:
        import httpx

        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name: self.headers[name] for name in ("Authorization", "Idempotency-Key", "Content-Type")}
        answer = httpx.post(self.target + self.path, content=body, headers=headers, trust_env=False)
        if headers["Idempotency-Key"] not in self.seen:
            self.seen.add(headers["Idempotency-Key"])
            self.close_connection = True  # the write was done; nobody is told
            return
        self.send_response(answer.status_code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *args: Any) -> None:
        """Quietly."""


def test_an_answer_that_got_lost_is_asked_for_again_and_nothing_is_done_twice(served: Served) -> None:
    _Lossy.target = served.address
    with ThreadingHTTPServer(("127.0.0.1", 0), _Lossy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{proxy.server_address[1]}"
        with connect(address, served.token("owner")) as client:
            assert [client.remember(f"My tent {number} is orange").accepted for number in range(3)] == [True] * 3
        proxy.shutdown()
    assert len(served.client("owner").get("/v1/long-term-memory/").json()["memories"]) == 3


def test_a_service_that_is_not_there_is_said_so() -> None:
    with connect("http://127.0.0.1:9", "tk_x", attempts=2) as client, pytest.raises(ServiceBusy) as gone:
        client.get_memories()
    assert gone.value.code == "service_unreachable"
