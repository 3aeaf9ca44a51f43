"""The table of capabilities against the service: every route, tool, page and client call, with every set of them."""

from __future__ import annotations

import inspect
import json
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

import truekeep
from tests.serve.documented import Document
from truekeep import Keep
from truekeep.client import blocking
from truekeep.client.calls import KeepCalls
from truekeep.client.exchange import BearerToken, Caller, RetryPatience, Send, ServiceLine
from truekeep.config import CAPABILITIES as OF_CHANNELS
from truekeep.config import Paths, Settings, default_channels
from truekeep.errors import InvalidRequest
from truekeep.extract.conversation import Message
from truekeep.serve.app import create_app
from truekeep.serve.capabilities import Permit, permit_of_route, table
from truekeep.serve.console.app import ROUTERS as PAGES
from truekeep.serve.identity import CAPABILITIES, checked_capabilities
from truekeep.serve.mcp.server import SNAPSHOT_URI, WAITING_URI
from truekeep.serve.rest import ROUTERS
from truekeep.serve.settings import ServeSettings
from truekeep.serve.tokens import TokenBook
from truekeep.types import Channel, Standing, utc_moment

TABLE = tomllib.loads((Path(truekeep.__file__).parent / "data" / "serve" / "capabilities.toml").read_text())
ANYTHING = "everything"
"""A channel that may do whatever there is, so that the token alone decides."""
LIMITED = "nothing"
CHANNELS = {
    **default_channels(),
    ANYTHING: Channel(ANYTHING, Standing.OWNER, OF_CHANNELS),
    LIMITED: Channel(LIMITED, Standing.OWNER, frozenset()),
}
SETTINGS = Settings(embedder="none", policy="inform", channels=CHANNELS)
FULLER: dict[str, Any] = {
    "POST /v1/long-term-memory/forget": {"policy": {"max_age_days": 1}},
    "POST /v1/forget": {"ids": ["mem_00000000000000000000"]},
    "POST /v1/working-memory": {"session_id": "s-1"},
    "POST /v1/grants": {"tool": "pay", "where": {"to": "Northwind"}},
}
"""Where the least that fits is nothing to do."""
IS_LONG = bool(os.environ.get("TRUEKEEP_LONG"))
SECRET = "Quillfeather"
HERE = {"Sec-Fetch-Site": "same-origin"}
MCP = {"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18"}
Capabilities = frozenset[str]


@cache
def sets() -> tuple[Capabilities, ...]:
    """Every set of capabilities that a token can have."""
    found = []
    for chosen in chain.from_iterable(combinations(sorted(CAPABILITIES), size) for size in range(1, 8)):
        try:
            found.append(checked_capabilities(frozenset(chosen), ANYTHING))
        except InvalidRequest:
            continue
    return tuple(found)


def sets_for(permit: Permit, number: int) -> list[Capabilities]:
    """The sets at which a decision turns: each capability alone, all but one, just enough, one too few, and a few more.

    The few are others for each place of the table. The long profile tries every set everywhere.
    """
    if IS_LONG:
        return list(sets())
    edges = {choice - {one} for choice in permit.choices for one in choice} | set(permit.choices)
    edges |= {CAPABILITIES - {one} for one in CAPABILITIES}
    return [may for place, may in enumerate(sets()) if len(may) == 1 or may in edges or place % 16 == number % 16]


def telling(section: str) -> set[Capabilities]:
    """Of all sets the least and the most of each that differ in what a section of the table is about."""
    about = frozenset().union(*(choice for entry in table(section).values() for choice in entry.choices))
    found: dict[Capabilities, list[Capabilities]] = {}
    for may in sets():
        found.setdefault(may & about, []).append(may)
    return {chosen for alike in found.values() for chosen in (min(alike, key=len), max(alike, key=len))}


class Town:
    """The application with a keep in which every kind of text holds one word, and a token for every set."""

    def __init__(self, home: Path) -> None:
        self.home, self.tokens = home, TokenBook(Paths.resolve(home).keys)
        self.client = TestClient(
            create_app(home, SETTINGS, ServeSettings(workers=2, chore_seconds=0.0, requests_per_second=0.0)),
            base_url="http://127.0.0.1:8430",
            raise_server_exceptions=False,
            follow_redirects=False,
        )
        self.document = Document(self.client.get("/openapi.json").json())
        with Keep.open("alice", home=home, settings=SETTINGS) as keep:
            self.memory = str(keep.remember(f"My vault is behind the {SECRET} mill", via="user").memory_id)
            keep.update_memory(self.memory, f"My vault is under the {SECRET} mill", via="user")
            keep.remember(f"Their vault is in {SECRET} Street", via="web", principal="https://a.example")
            keep.observe("s-1", "user", f"I live in {SECRET}")
            keep.working.put("s-1", via="user", data={"town": SECRET}, context=f"About {SECRET}")
            keep.prompts.add("orders", "List what the user orders:\n{message}", by="eva")

    def sample(self, method: str, path: str) -> Any:
        """The least that a route takes and has to look into the keep for."""
        return FULLER.get(f"{method} {path.rstrip('/')}", self.document.sample_of(method, path))

    @cache  # noqa: B019 - as many as there are sets
    def token(self, may: Capabilities, channel: str = ANYTHING, keep: str = "alice") -> str:
        return self.tokens.add(keep, channel, may)[0]

    def send(self, token: str, method: str, path: str, **more: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}", **more.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **more)

    @contextmanager
    def visit(self, may: Capabilities, channel: str = ANYTHING) -> Iterator[bool]:
        """Somebody signed in to the console with such a token; whether that is let in."""
        answer = self.client.post("/console/sign-in", data={"token": self.token(may, channel)}, headers=HERE)
        try:
            yield answer.status_code == 303
        finally:
            self.client.cookies.clear()


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    made = Town(tmp_path_factory.mktemp("capabilities"))
    with made.client:
        yield made


def routes(routers: Any) -> list[tuple[str, str]]:
    """The routes that there really are."""
    found = [
        (route.methods, route.path) for router in routers for route in router.routes if isinstance(route, APIRoute)
    ]
    return [(method, path) for methods, path in found for method in sorted(methods or ())]


def address(path: str, **more: str) -> str:
    named = {"keep": "alice", "session_id": "s-1", "name": "orders", **more}
    return re.sub(r"\{([a-z_]+)\}", lambda part: named.get(part[1], "x"), path)


def require_as_told(permit: Permit, may: Capabilities, code: str | None, *where: Any) -> None:
    """It is refused for want of a capability just if the table says so."""
    assert (code == "token_not_allowed") is not permit.allows(may), (*where, sorted(may), code)


def code_of(answer: Any) -> str | None:
    return answer.json().get("code") if answer.status_code >= 400 and answer.content else None


def test_the_table_names_every_way_in_and_none_that_is_not_there(town: Town) -> None:
    def keyed(routers: Any) -> set[str]:
        return {f"{method} {path.rstrip('/') or '/'}" for method, path in routes(routers)}

    assert keyed(ROUTERS) == set(table("rest"))
    assert keyed(PAGES) == set(table("console"))
    listed = mcp(town, frozenset({"read"}), "tools/list")["result"]["tools"]
    assert {tool["name"] for tool in listed} | {SNAPSHOT_URI, WAITING_URI} == set(table("mcp"))
    # Beside these there are the document and MCP itself, and nothing else.
    document = town.client.get("/openapi.json").json()["paths"]
    described = {f"{method.upper()} {path.rstrip('/')}" for path, methods in document.items() for method in methods}
    assert described == set(table("rest"))
    for entry in chain(table("rest").values(), table("console").values(), table("mcp").values()):
        assert all(choice <= CAPABILITIES for choice in entry.choices)
        assert set(entry.channel) <= OF_CHANNELS


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), routes(ROUTERS))
def test_a_route_takes_just_what_the_table_says(town: Town, method: str, path: str) -> None:
    permit = permit_of_route("rest", method, path)
    for may in sets_for(permit, routes(ROUTERS).index((method, path))):
        given: dict[str, Any] = {"params": {"memory_ids": "x"}} if permit.proposes else {}
        if permit.proposes and method == "POST":
            given = {"json": town.sample(method, path)}
        answer = town.send(town.token(may), method, address(path, memory_id=town.memory), **given)
        asked = replace(permit, choices=(frozenset({"delete"}),)) if permit.proposes else permit
        require_as_told(asked, may, code_of(answer), method, path)
    if permit.proposes:
        for may in (frozenset({"write"}), frozenset({"read", "write"})):
            proposed = town.send(town.token(may, "agent"), method, address(path), **given)
            assert code_of(proposed) == "unknown_id"
    if not permit.is_open:
        assert town.client.request(method, address(path)).status_code == 401
    if permit.channel:
        sample = town.sample(method, path)
        for choice in permit.choices:
            refused = town.send(town.token(choice, LIMITED), method, address(path, memory_id=town.memory), json=sample)
            assert (refused.status_code, code_of(refused)) == (403, "not_allowed"), (method, path, refused.text)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), routes(ROUTERS))
def test_only_what_the_table_says_makes_a_keep(town: Town, method: str, path: str) -> None:
    permit = permit_of_route("rest", method, path)
    sample, made = town.sample(method, path), 0
    for number, may in enumerate(one for one in sets() if permit.allows(one)):
        name = f"new-{method}-{path.strip('/').replace('/', '-')}"
        name = re.sub(r"[{}]", "", f"{name}-{number}")[-90:].strip("-")
        for keep in (name, "new-*"):
            where = {"Truekeep-Keep": name}
            answer = town.send(town.token(may, ANYTHING, keep), method, address(path), json=sample, headers=where)
            if not permit.makes:
                assert not (town.home / "data" / f"{name}.db").exists(), (method, path, sorted(may))
                is_general = path in ("/v1/identity", "/v1/scan", "/metrics") or permit.is_open
                assert is_general or answer.status_code in (404, 422), (method, path, answer.text)
        made += (town.home / "data" / f"{name}.db").exists()
        if number == 2:
            break
    assert bool(made) is permit.makes, (method, path)


def mcp(town: Town, may: Capabilities, method: str, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = town.send(town.token(may), "POST", "/mcp", json=message, headers=MCP)
    lines = [line.removeprefix("data:") for line in answer.text.splitlines() if line.startswith("data:")]
    return json.loads(lines[-1] if lines else answer.text)


@pytest.mark.slow
@pytest.mark.parametrize("tool", sorted(table("mcp")))
def test_a_tool_takes_just_what_the_table_says(town: Town, tool: str) -> None:
    for may in sets_for(table("mcp")[tool], sorted(table("mcp")).index(tool)):
        if tool in (SNAPSHOT_URI, WAITING_URI):
            found = mcp(town, may, "resources/read", uri=tool)
            code = found["error"]["data"]["code"] if "error" in found else None
        else:
            given = mcp(town, may, "tools/call", name=tool, arguments={})["result"]["structuredContent"]
            code = given.get("code")
        require_as_told(table("mcp")[tool], may, code, tool)


@pytest.mark.slow
def test_a_page_takes_just_what_the_table_says(town: Town) -> None:
    pages = [(method, path) for method, path in routes(PAGES) if not permit_of_route("console", method, path).is_open]
    for may in telling("console"):
        with town.visit(may) as is_in:
            assert is_in is table("console")["GET /"].allows(may)
            for method, path in pages if is_in else ():
                permit = permit_of_route("console", method, path)
                form: dict[str, Any] = {"data": {"reason": "x"}} if method == "POST" else {}
                answer = town.client.request(method, "/console" + address(path), headers=HERE, **form)
                is_refused = answer.status_code == 403
                assert is_refused is not permit.allows(may), (method, path, sorted(may))


@pytest.mark.parametrize("channel", [LIMITED, "web", "outcomes"])
def test_a_page_asks_the_channel_what_a_route_would(town: Town, channel: str) -> None:
    """A system's token that administers says nothing for the owner in the console, as it says nothing over REST."""
    form = {
        "reason": "x", "ticket": "t", "sure": "1", "tool": "pay", "argument": "to", "pattern": "*", "grant": "g",
        "act": "reject",
    }  # fmt: skip
    pages = [(method, path) for method, path in routes(PAGES) if permit_of_route("console", method, path).channel]
    assert {"/k/{keep}/calls/confirm", "/k/{keep}/grants", "/k/{keep}/memories/{memory_id}/pin"} <= {
        path for _, path in pages
    }
    query = "?channel=web"
    with town.visit(frozenset({"admin", "read", "delete", "review"}), channel) as is_in:
        assert is_in
        for method, path in pages:
            sent: dict[str, Any] = {"data": form} if method == "POST" else {}
            to = "/console" + address(path, memory_id=town.memory) + query
            assert town.client.request(method, to, headers=HERE, **sent).status_code == 403, (method, path)


ARGUMENTS: dict[str, Any] = {
    "memory_id": "m", "text": "t", "entries": ["t"], "session": "s-1", "channel": None, "query": "q", "name": "n",
    "arguments": {}, "run": "r", "outcome": "good", "incident": "i", "to": 1, "ids": ["m"], "reason": "x",
    "item_id": "i", "ticket": "t", "ticket_id": "t", "member": "eva", "capabilities": None, "via": ANYTHING,
    "tool": "t", "result": "r", "what": "w", "model": None, "reply": "r", "where": {}, "grant": "g", "grant_id": "g",
}  # fmt: skip
SAID = Message("m-1", ANYTHING, "t", utc_moment("2026-01-01T00:00:00.000000Z"))


def client_calls() -> dict[str, tuple[Any, str]]:
    """Every call of the client: its part, and what it is called there."""
    parts: dict[str, Any] = {
        "keep": blocking.ServedKeep,
        "review": blocking.ServedReview,
        "audit": blocking.ServedAudit,
        "actions": blocking.ServedActions,
        "grants": blocking.ServedGrants,
        "channels": blocking.ServedChannels,
        "working": blocking.ServedWorking,
        "prompts": blocking.ServedPrompts,
    }
    found = {
        f"{part}.{name}": (kind.__orig_bases__[0].__args__[0], name)
        for part, kind in parts.items()
        for name, method in vars(kind).items()
        if not name.startswith("_") and hasattr(method, "__wrapped__")
    }
    return {**found, "keep.session": (KeepCalls, "begin")}


def asked(call: str, *held: Capabilities) -> tuple[str, str, BearerToken]:
    """What a call sends first, if the client has tokens with these capabilities, and with which of them."""
    tokens = tuple(BearerToken(f"tk_{number:012x}_{'x' * 43}") for number in range(len(held)))
    line = ServiceLine(tokens, RetryPatience(), "alice")
    line._callers = tuple(
        Caller(token, "alice", ANYTHING, may, OF_CHANNELS, "eva") for token, may in zip(tokens, held, strict=True)
    )
    kind, name = client_calls()[call]
    keep = KeepCalls(line, lambda *_: None)
    core = keep if issubclass(kind, KeepCalls) else kind(keep)
    if hasattr(core, "_seen"):
        core._seen["i"] = "tag"
    method = getattr(core, name)
    wanted = [one for one in inspect.signature(method).parameters.values() if one.name in ARGUMENTS]
    positional = [ARGUMENTS[one.name] for one in wanted if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = {one.name: ARGUMENTS[one.name] for one in wanted if one.kind is one.KEYWORD_ONLY}
    steps = method(*positional, *([SAID] if call == "working.append" else []), **named)
    step = next(steps)
    assert isinstance(step, Send)
    return step.request.method, step.request.path, step.request.token


def test_the_table_names_every_call_of_the_client() -> None:
    assert set(client_calls()) == set(TABLE["client"])


@pytest.mark.parametrize("call", sorted(TABLE["client"]))
def test_a_call_of_the_client_goes_where_the_table_says_with_a_token_that_may(call: str) -> None:
    told = TABLE["client"][call]
    permit, (method, path) = table("rest")[told], told.split(" ")
    for choice in permit.choices:
        for lacking in choice:
            others = frozenset(CAPABILITIES - {lacking}) if len(permit.choices) == 1 else frozenset()
            sent_by, where, token = asked(call, others, choice)
            assert sent_by == method
            assert re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", path), where), (call, where)
            assert token.authorization().startswith("Bearer tk_000000000001"), (call, lacking)


@pytest.mark.slow
def test_nobody_is_shown_texts_who_may_neither_read_nor_review(town: Town) -> None:
    shown = set[tuple[str, str]]()
    ids = {"memory_id": town.memory, "incident": "x", "run": "r-1"}
    unread = [may for may in sets() if not may & {"read", "review"} and (len(may) == 1 or may >= {"admin", "delete"})]
    for may in unread:
        for method, path in routes(ROUTERS):
            sample = town.sample(method, path)
            answer = town.send(town.token(may), method, address(path, **ids), json=sample)
            if SECRET in answer.text:
                shown.add((method, path))
        with town.visit(may) as is_in:
            for method, path in routes(PAGES) if is_in else ():
                form: dict[str, Any] = (
                    {"data": {"reason": "x", "to": "1", "channel": "web"}} if method == "POST" else {}
                )
                told = town.client.request(method, "/console" + address(path, **ids), headers=HERE, **form)
                if SECRET in told.text:
                    shown.add((method, path))
    assert shown == set()
