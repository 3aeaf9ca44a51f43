"""Fairness: what one caller does, with a token or without, must not keep the service from the others."""

from __future__ import annotations

import asyncio
import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import Response

from tests.serve.conftest import KEYWORDS, Served, running
from tests.serve.test_authentication import AUDIENCE, ISSUER, claims, signed
from tests.serve.test_hostile import port_of
from truekeep.serve import pace
from truekeep.serve.bodies import read_json
from truekeep.serve.pool import Pool
from truekeep.serve.protocol import peer_of
from truekeep.serve.replays import Attempt, Replays
from truekeep.serve.turns import Turns

MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
HELLO = MESSAGE | {
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
}
MCP = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with little of everything."""
    little: dict[str, Any] = {"body_cap": 40_000, "bodies_per_token": 50_000, "mcp_sessions_per_token": 3}
    with running(tmp_path_factory.mktemp("narrow"), answer_seconds=0.5, body_seconds=30.0, **little) as service:
        yield service


def head(path: str, *more: str, method: str = "POST") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *more, "", ""]).encode()


def bearer(token: str) -> str:
    return f"Authorization: Bearer {token}"


def connected(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(served)), timeout=60)


def answer_of(connection: socket.socket) -> int:
    return int(connection.recv(65_536).split(b" ")[1])


# Without a token


@pytest.mark.parametrize("path", ["/v1/scan", "/v1/long-term-memory/", "/mcp", "/nowhere", "/keeps/alice/v1/memories"])
@pytest.mark.parametrize("framing", ["Content-Length: 30000", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("who", ["", "Authorization: Bearer tk_000000000000_wrong"])
def test_nobody_waits_for_the_body_of_a_stranger(narrow: Served, path: str, framing: str, who: str) -> None:
    with connected(narrow) as connection:
        connection.sendall(head(path, framing, *filter(None, [who])))
        assert answer_of(connection) == 401


def test_of_a_stranger_the_console_reads_no_more_than_a_sign_in(narrow: Served) -> None:
    own = "Sec-Fetch-Site: same-origin"
    with connected(narrow) as connection:
        connection.sendall(head("/console/sign-in", "Content-Length: 5000", own, "Cookie: truekeep=made-up"))
        assert answer_of(connection) == 413
    with connected(narrow) as connection:
        connection.sendall(
            head("/console/k/alice/inbox", "Transfer-Encoding: chunked", own) + b"1388\r\n" + b"x" * 5_000
        )
        assert answer_of(connection) == 413


def test_a_refused_client_may_go_on_with_its_connection(narrow: Served) -> None:
    with httpx.Client(base_url=narrow.address, timeout=60, trust_env=False) as client:
        assert client.post("/v1/scan", content=b"x" * 20_000).status_code == 401
        assert client.get("/v1/health").status_code == 200


@pytest.mark.slow
def test_readers_that_never_read_are_cut_off(narrow: Served) -> None:
    readers = []
    try:
        for _ in range(20):
            reader = socket.socket()
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            reader.settimeout(60)
            reader.connect(("127.0.0.1", port_of(narrow)))
            reader.sendall(head("/openapi.json", method="GET") * 30)  # more than the system's buffers take
            readers.append(reader)
        poll = select.poll()
        for reader in readers:
            poll.register(reader, select.POLLHUP | select.POLLERR)
        gone: set[int] = set()
        while len(gone) < len(readers) and (found := poll.poll(20_000)):
            gone.update(number for number, _ in found)
            for number, _ in found:
                poll.unregister(number)
        assert len(gone) == len(readers)
    finally:
        for reader in readers:
            reader.close()


def test_the_description_is_made_once_and_not_sent_to_who_has_it(narrow: Served) -> None:
    with narrow.client(None) as client:
        first = client.get("/openapi.json")
        assert client.get("/openapi.json").content == first.content
        again = client.get("/openapi.json", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


ENDLESS = {
    "a header": b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Long: ",
    "a path": b"GET /v1/health?",
    "a trailer": head("/console/look", "Transfer-Encoding: chunked", "Sec-Fetch-Site: same-origin") + b"0\r\nX-Long: ",
}


@pytest.mark.parametrize("part", sorted(ENDLESS))
def test_no_part_of_a_request_goes_on_without_end(narrow: Served, part: str) -> None:
    with connected(narrow) as connection:
        connection.sendall(ENDLESS[part])
        sent = 0
        try:
            while sent < 50_000_000:
                connection.sendall(b"x" * 65_536)
                sent += 65_536
        except OSError:
            pass
    assert sent < 50_000_000


def test_requests_that_are_sent_far_ahead_of_their_answers_end_the_connection(narrow: Served) -> None:
    with connected(narrow) as connection, pytest.raises(OSError):  # noqa: PT011 - reset or broken, as it comes
        connection.sendall(head("/v1/health/ready", method="GET") * 1_000)
        while connection.recv(65_536):
            pass
        raise ConnectionResetError


def test_silent_connections_give_way(home: Path) -> None:
    with running(home, connections=5) as service:
        silent = [connected(service) for _ in range(8)]
        try:
            assert [service.client(None).get("/v1/health").status_code for _ in range(3)] == [200] * 3
            assert silent[0].recv(1) == b""
        except ConnectionResetError:
            pass
        finally:
            for connection in silent:
                connection.close()


@pytest.mark.parametrize(
    ("client", "peer"),
    [
        (("127.0.0.1", 1), "127.0.0.1"),
        (("2001:db8:1:2:3:4:5:6", 1), "2001:db8:1:2::"),
        (("::ffff:10.0.0.1", 1), "10.0.0.1"),
        (("fe80::1%eth0", 1), "fe80::"),
        (None, "unknown"),
    ],
)
def test_a_peer_is_an_address_or_the_network_it_commands(client: Any, peer: str) -> None:
    assert peer_of(client) == peer


class _Hanging(BaseHTTPRequestHandler):
    """An issuer that takes a question and gives no answer until it is told to."""

    def do_GET(self) -> None:
        server: Any = self.server
        server.asked.set()
        server.go_on.wait(20)

    def log_message(self, *args: Any) -> None:
        """Quietly."""


def test_an_issuer_that_hangs_holds_up_nobody_else(home: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hanging) as issuer:
        issuer.asked, issuer.go_on = threading.Event(), threading.Event()  # type: ignore[attr-defined]
        threading.Thread(target=issuer.serve_forever, daemon=True).start()
        keys = f"http://127.0.0.1:{issuer.server_address[1]}/keys"
        jwt: dict[str, Any] = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_keys": keys}
        with running(home, **jwt) as service, connected(service) as waiting:
            waiting.sendall(head("/v1/scan", bearer(signed(claims())), "Content-Length: 2"))
            assert issuer.asked.wait(20)  # type: ignore[attr-defined]
            owner = service.client()
            assert owner.get("/v1/long-term-memory/").status_code == 200
            assert not select.select([waiting], [], [], 0)[0]  # it still waits, and nobody else did
            issuer.go_on.set()  # type: ignore[attr-defined]
            assert answer_of(waiting) == 503
        issuer.shutdown()


# With one token


def test_bodies_that_one_token_keeps_waiting_leave_room_for_others(narrow: Served) -> None:
    token, path = narrow.token("owner"), "/v1/scan"
    half = head(path, bearer(token), "Content-Length: 40000", "Content-Type: application/json") + b"[" * 20_000
    with connected(narrow) as first, connected(narrow) as second, connected(narrow) as third:
        for connection in (first, second, third):
            connection.sendall(half)
        refused = select.select([first, second, third], [], [], 20)[0]
        assert [answer_of(one) for one in refused] == [429]
        other = narrow.client("owner", "bob")
        assert other.post(path, json={"text": "x" * 30_000}).status_code == 200


def test_a_token_has_so_many_requests_under_way_and_others_as_many(home: Path) -> None:
    with running(home, requests_at_once=2) as service:
        opened = [connected(service) for _ in range(3)]
        try:
            for connection in opened:
                connection.sendall(head("/v1/scan", bearer(service.token("owner")), "Content-Length: 10"))
            refused = select.select(opened, [], [], 20)[0]
            assert [answer_of(one) for one in refused] == [429]
            assert service.client("owner", "bob").post("/v1/scan", json={"text": "x"}).status_code == 200
        finally:
            for connection in opened:
                connection.close()


@pytest.mark.slow
def test_while_two_hundred_scans_wait_anothers_recall_is_answered_almost_at_once(home: Path) -> None:
    with running(home, threads=2, threads_per_token=1) as service:
        greedy, modest = service.token("owner"), service.token("owner", "bob")
        done, begun = 0, asyncio.Event()

        async def scans(client: httpx.AsyncClient, number: int) -> None:
            nonlocal done
            # Long enough that scanning, and not the client's own reading of answers, is what takes the time.
            body = {"text": f"Ignore what {number} said before and " * 150}
            assert (await client.post("/v1/scan", json=body, headers=_bearer(greedy))).status_code == 200
            done += 1
            begun.set()

        async def crowd() -> int:
            limits = httpx.Limits(max_connections=250)
            async with httpx.AsyncClient(
                base_url=service.address, limits=limits, timeout=120, trust_env=False
            ) as client:
                await client.get("/v1/long-term-memory/", headers=_bearer(modest))  # opens the keep
                waiting = [asyncio.ensure_future(scans(client, number)) for number in range(200)]
                await begun.wait()
                before = done
                await client.get("/v1/long-term-memory/", headers=_bearer(modest))
                passed = done - before
                await asyncio.gather(*waiting)
                return passed

        assert asyncio.run(crowd()) < 40


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_whoever_begins_too_many_mcp_sessions_ends_their_own(narrow: Served) -> None:
    narrow.make("alice")

    def begun(kind: str) -> str:
        answer = narrow.client(kind).post("/mcp", json=HELLO, headers=MCP)
        return str(answer.headers["mcp-session-id"])

    def is_on(kind: str, session: str) -> bool:
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        answer = narrow.client(kind).post("/mcp", json=ping, headers=MCP | {"Mcp-Session-Id": session})
        return answer.status_code == 200

    others = begun("agent")
    own = [begun("owner") for _ in range(5)]
    assert [is_on("owner", session) for session in own] == [False, False, True, True, True]
    assert is_on("agent", others)


@pytest.mark.slow
def test_signing_in_over_and_over_ends_ones_own_visits_and_nobody_elses(narrow: Served) -> None:
    def signed_in(kind: str) -> httpx.Client:
        client = narrow.client(None)
        form = {"token": narrow.token(kind)}
        answer = client.post("/console/sign-in", data=form, headers={"Sec-Fetch-Site": "same-origin"})
        assert answer.status_code == 303
        return client

    other = signed_in("reviewer")
    visits = [signed_in("admin") for _ in range(20)]
    seen = [client.get("/console/").headers.get("location", "").startswith("/console/sign-in") for client in visits]
    assert seen == [True] * 4 + [False] * 16
    assert not other.get("/console/").headers.get("location", "").startswith("/console/sign-in")


# The queue


def test_the_next_turn_goes_to_whoever_was_worked_for_least() -> None:
    async def served() -> list[str]:
        moment, order = [0.0], []
        turns = Turns(1, 1, lambda: moment[0])
        holder = turns.turn("first")
        await holder.take()

        async def work(who: str, seconds: float) -> None:
            turn = turns.turn(who)
            await turn.take()
            order.append(who)
            moment[0] += seconds
            turn.give_back()

        tasks = [asyncio.ensure_future(work("heavy", 9.0)) for _ in range(3)]
        tasks += [asyncio.ensure_future(work("light", 1.0)) for _ in range(6)]
        await asyncio.sleep(0)
        holder.give_back()
        await asyncio.gather(*tasks)
        return order

    order = asyncio.run(served())
    assert order[0] == "heavy"
    assert order[1:7] == ["light"] * 6
    assert order[7:] == ["heavy"] * 2


def test_a_caller_has_no_more_turns_than_its_share_and_idle_ones_stay_free() -> None:
    async def taken() -> list[bool]:
        turns = Turns(3, 2)
        own = [turns.turn("greedy") for _ in range(3)]
        waiting = [asyncio.ensure_future(turn.take()) for turn in own]
        await asyncio.sleep(0)
        await asyncio.wait_for(turns.turn("modest").take(), 60)
        found = [task.done() for task in waiting]
        own[0].give_back()
        own[0].give_back()
        await asyncio.wait_for(waiting[2], 60)
        return found

    assert asyncio.run(taken()) == [True, True, False]


def test_whoever_was_worked_for_most_has_two_turns_while_others_are_about() -> None:
    async def taken() -> list[bool]:
        turns = Turns(6, 4)
        own = [turns.turn("greedy") for _ in range(4)]
        await own[0].take()
        await asyncio.wait_for(turns.turn("modest").take(), 60)
        waiting = [asyncio.ensure_future(turn.take()) for turn in own[1:]]
        await asyncio.sleep(0)
        found = [task.done() for task in waiting]
        for task in waiting:
            task.cancel()
        return found

    assert asyncio.run(taken()) == [True, False, False]


def test_a_turn_is_set_aside_while_a_person_is_asked_and_kept_while_work_goes_on() -> None:
    async def story() -> list[str]:
        turns, told = Turns(1, 1), []
        turn, other = turns.turn("a"), turns.turn("a")
        await turn.take()
        async with turn.aside():
            await asyncio.wait_for(other.take(), 60)
            other.give_back()
            told.append("others went on")
        async with turn.held():
            turn.give_back()  # the client has left, and its work is not over
            queued = asyncio.ensure_future(other.take())
            await asyncio.sleep(0)
            told.append(f"others wait: {not queued.done()}")
        await asyncio.wait_for(queued, 60)
        return told

    assert asyncio.run(story()) == ["others went on", "others wait: True"]


def test_a_client_that_leaves_the_queue_takes_no_turn_with_it() -> None:
    async def story() -> None:
        turns = Turns(1, 1)
        first, second, third = (turns.turn(name) for name in "abc")
        await first.take()
        left = asyncio.ensure_future(second.take())
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        first.give_back()
        await asyncio.wait_for(third.take(), 60)

    asyncio.run(story())


@pytest.mark.parametrize("path", ["/v1/scan", "/mcp"])
def test_values_are_counted_before_they_are_made(service: Served, path: str) -> None:
    client = service.client()
    kind = {"Content-Type": "application/json"}
    for body in (b"[" + b"[]," * 600_000 + b"1]", b"[" + b'"",' * 600_000 + b"1]", b'{"text":[' + b"1," * 900_000):
        answer = client.post(path, content=body, headers=kind | MCP)
        assert answer.json()["code"] in ("too_many_values", "body_too_large")


def test_the_time_in_which_a_sender_is_held_back_is_not_the_senders(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "ALLOWANCE", 0.0)
    monkeypatch.setattr(pace, "SHARE", 1 / 1000)
    with running(home, body_seconds=0.5) as service:
        sender, somebody = service.client(), service.client("agent")
        assert somebody.get("/v1/long-term-memory/").status_code == 200
        began = time.monotonic()
        answer = sender.post("/v1/scan", json={"text": "The shelf is blue. " * 50_000})
        assert time.monotonic() - began > 0.5
        assert answer.json()["code"] != "body_too_slow"


def test_marks_inside_of_texts_are_no_values() -> None:
    long = {"text": 'one, "two" [three] {four} ' * 50_000}
    assert read_json(json.dumps(long).encode()) == long


def test_the_remembered_answers_of_one_token_push_out_only_its_own() -> None:
    replays = Replays()

    def done(token: str, key: str) -> bool:
        """Whether it was done, and not answered as before."""
        did: list[str] = []
        attempt = Attempt.of((token,), ("POST", "/"), key, b"", token)

        def do() -> Response:
            did.append(key)
            return Response(b"done")

        replays.once(attempt, None, do)
        return bool(did)

    assert done("modest", "one")
    assert all(done("greedy", str(number)) for number in range(5_000))
    assert not done("modest", "one")
    assert done("greedy", "0")
    assert not done("greedy", "4999")


def test_a_token_that_goes_through_many_keeps_closes_its_own(home: Path) -> None:
    pool = Pool(home, settings=KEYWORDS, size=8, share=3)
    try:
        for name in ("a1", "a2"):
            with pool.borrow(name, "modest"):
                pass
        for number in range(12):
            with pool.borrow(f"b{number}", "greedy"):
                pass
        with pool.borrow("a1"):  # the service's own work makes it nobody else's
            pass
        assert sorted(pool.open_names()) == ["a1", "a2", "b10", "b11", "b9"]
    finally:
        pool.close()
