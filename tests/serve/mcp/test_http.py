"""MCP over streamable HTTP: the official client, real sockets, and identity from the token alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitResult, InputRequiredResult, InputResponses

from tests.serve.conftest import Served, running
from tests.serve.mcp.client import Person, Talk
from truekeep import Keep
from truekeep.config import Settings
from truekeep.serve.mcp_http import SESSION_HEADER

pytestmark = pytest.mark.slow

FACT = "The office is in Nitra."
INFORM = Settings(embedder="none", policy="inform")
MODES = ["legacy", "auto"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPTS = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Served]:
    with running(tmp_path_factory.mktemp("home"), INFORM) as found:
        yield found


@pytest.fixture
def keep(request: pytest.FixtureRequest, service: Served) -> str:
    """A keep of the test's own."""
    name = re.sub(r"\W+", "-", str(request.node.name))[:90].strip("-")
    service.make(name)
    return name


def talk(
    service: Served,
    token: str,
    script: Talk,
    person: Person | None = None,
    mode: str = "legacy",
    headers: dict[str, str] | None = None,
) -> None:
    async def run() -> None:
        sent = {"Authorization": f"Bearer {token}", **(headers or {})}
        async with httpx2.AsyncClient(headers=sent, timeout=30, trust_env=False) as http:
            transport = streamable_http_client(f"{service.address}/mcp", http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=person) as client:
                await script(client)

    anyio.run(run)


def call(
    service: Served,
    token: str,
    tool: str,
    person: Person | None = None,
    mode: str = "legacy",
    /,
    **arguments: Any,
) -> CallToolResult:
    results: list[CallToolResult] = []

    async def script(client: Client) -> None:
        results.append(await client.call_tool(tool, arguments))

    talk(service, token, script, person, mode)
    return results[0]


@pytest.mark.parametrize("mode", MODES)
def test_with_the_owners_token_a_yes_is_the_owners_and_the_agents_words_are_not(
    service: Served, keep: str, mode: str
) -> None:
    token, person = service.token("owner", keep), Person("accept")

    async def script(client: Client) -> None:
        saved = (await client.call_tool("add_memory", {"text": FACT})).structured_content
        assert (saved["standing"], saved["owner"]["answer"]) == ("owner", "yes")
        judged = await client.call_tool("check_action", {"name": "pay", "arguments": {"amount": 300}})
        assert judged.structured_content["decision"] == "allow"
        person.action = "decline"
        noted = (await client.call_tool("add_memory", {"text": "The shop is in Trnava."})).structured_content
        assert (noted["standing"], noted["may_act"]) == ("hearsay", False)
        person.action = "accept"
        gone = await client.call_tool("delete_memory", {"id": saved["id"]})
        assert gone.structured_content["status"] == "deleted"
        listed = (await client.call_tool("get_memories", {})).structured_content
        assert [memory["origin"] for memory in listed["memories"]] == ["agent"]
        assert "<memories>" in (await client.read_resource("truekeep://snapshot")).contents[0].text  # type: ignore[union-attr]

    talk(service, token, script, person, mode)
    assert len(person.read) == 4


@pytest.mark.parametrize("mode", MODES)
def test_an_agents_token_cannot_answer_for_the_owner(service: Served, keep: str, mode: str) -> None:
    person = Person("accept")
    answer = call(service, service.token("agent", keep), "add_memory", person, mode, text=FACT).structured_content
    assert (answer["standing"], answer["owner"]["why"]) == ("hearsay", "asking_is_off")
    judged = call(service, service.token("agent", keep), "check_action", person, mode, name="pay", arguments={"a": 1})
    assert judged.structured_content["decision"] == "confirm"
    assert person.read == []


def test_a_token_does_only_what_it_may(service: Served, keep: str) -> None:
    for kind, tool, arguments in (
        ("reader", "add_memory", {"text": FACT}),
        ("reader", "delete_memory", {"id": "mem_00000000000000000000"}),
        ("web", "get_memories", {}),
        ("web", "check_action", {"name": "pay", "arguments": {}}),
        ("outcomes", "search_memories", {"query": "office"}),
        ("outcomes", "add_memory", {"text": FACT}),
        ("reviewer", "add_memory", {"text": FACT}),
    ):
        result = call(service, service.token(kind, keep), tool, Person("accept"), **arguments)
        assert result.structured_content["code"] == "token_not_allowed", (kind, tool)
    seen = call(service, service.token("web", keep), "add_memory", text=FACT).structured_content
    assert seen["standing"] == "hearsay"


def test_a_yes_deletes_only_where_the_token_may(service: Served, keep: str) -> None:
    token = service.tokens.add(keep, "user", ("read", "write"))[0]
    memory_id = call(service, token, "add_memory", Person("accept"), text=FACT).structured_content["id"]
    answer = call(service, token, "delete_memory", Person("accept"), id=memory_id).structured_content
    assert (answer["status"], answer["owner"]["why"]) == ("quarantined", "token_may_not_delete")


def test_another_keep_is_as_unknown_as_none(service: Served, keep: str) -> None:
    theirs = call(service, service.token("owner", "bob"), "add_memory", Person("accept"), text=FACT).structured_content
    result = call(service, service.token("owner", keep), "delete_memory", Person("accept"), id=theirs["id"])
    assert result.structured_content["code"] == "unknown_id"
    client = service.client("owner", keep, follow_redirects=False)
    answers = [
        client.post("/keeps/bob/mcp", json=HELLO, headers=ACCEPTS),
        client.post("/keeps/nobody/mcp", json=HELLO, headers=ACCEPTS),
        client.post("/mcp", json=HELLO, headers={**ACCEPTS, "Truekeep-Keep": "bob"}),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1
    assert client.post(f"/keeps/{keep}/mcp", json=HELLO, headers=ACCEPTS).status_code == 200


def test_without_a_valid_token_nothing_is_served(service: Served, keep: str) -> None:
    presented, token = service.tokens.add(keep, "user", ("read", "write"))
    for headers in ({}, {"Authorization": "Bearer tk_0_0"}, {"Authorization": "Negotiate x"}):
        answer = httpx.post(
            f"{service.address}/mcp", json=HELLO, headers={**ACCEPTS, **headers}, timeout=60, trust_env=False
        )
        assert answer.status_code == 401
        assert answer.json()["code"] in ("not_authenticated", "invalid_token")

    async def script(client: Client) -> None:
        assert not (await client.call_tool("get_memories", {})).is_error
        service.tokens.revoke(token.id)
        with pytest.raises(MCPError):
            await client.call_tool("get_memories", {})

    talk(service, presented, script)


def test_a_session_belongs_to_the_token_that_began_it(service: Served, keep: str) -> None:
    owner, agent = service.client("owner", keep), service.client("agent", keep)
    begun = owner.post("/mcp", json=HELLO, headers=ACCEPTS)
    headers = {**ACCEPTS, "Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-06-18"}
    yes = {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {}}}
    for stolen in (agent, service.client("owner", "bob")):
        assert stolen.post("/mcp", json=yes, headers=headers).status_code == 404
        assert stolen.delete("/mcp", headers=headers).status_code == 404
    assert owner.post("/mcp", json=yes, headers=headers).status_code == 202


def test_an_open_question_is_answered_by_its_own_token_alone(service: Served, keep: str) -> None:
    states: list[str | None] = []
    yes: InputResponses = {"owner": ElicitResult(action="accept", content={})}

    async def ask(client: Client) -> None:
        given = await client.session.call_tool("add_memory", {"text": FACT}, allow_input_required=True)
        assert isinstance(given, InputRequiredResult)
        states.append(given.request_state)

    async def answer(client: Client) -> None:
        given = await client.session.call_tool(
            "add_memory", {"text": FACT}, input_responses=yes, request_state=states[0], allow_input_required=True
        )
        assert isinstance(given, CallToolResult)
        assert given.structured_content["code"] == "question_expired"

    talk(service, service.token("owner", keep), ask, Person(), "auto")
    talk(service, service.tokens.add(keep, "user", ("read", "write"))[0], answer, Person(), "auto")


@pytest.mark.parametrize(
    "body",
    [b"[" * 50_000, b'{"a":' * 50_000, b"\xff\xfe", b"", b"null", b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'],
    ids=["arrays", "objects", "not utf-8", "empty", "null", "no parameters"],
)
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28", "1999-01-01"])
def test_a_body_that_is_no_message_is_refused(service: Served, keep: str, body: bytes, version: str) -> None:
    headers = {**ACCEPTS, "Content-Type": "application/json", "Mcp-Protocol-Version": version}
    answer = service.client("agent", keep).post("/mcp", content=body, headers=headers)
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in answer.text
    too_much = service.client("agent", keep).post("/mcp", content=b" " * 1_100_000, headers=headers)
    assert too_much.status_code == 413


def test_the_session_is_named_by_the_configuration_and_never_by_a_tool(service: Served, keep: str) -> None:
    token = service.token("agent", keep)

    async def script(client: Client) -> None:
        frozen = (await client.call_tool("memory_snapshot", {})).structured_content
        assert frozen["session"] == "chat-7"

    talk(service, token, script, headers={SESSION_HEADER: "chat-7"})
    own = call(service, token, "memory_snapshot").structured_content["session"]
    assert own.startswith("mcp-")
    assert call(service, token, "memory_snapshot").structured_content["session"] != own
    refused = call(service, token, "memory_snapshot", session="chat-7")
    assert refused.structured_content["code"] == "invalid_arguments"


def test_with_several_workers_it_works_and_nobody_is_asked(home: Path) -> None:
    with running(home, INFORM, workers=2) as service:
        for mode in MODES:
            person = Person("accept")
            text = f"{FACT} It was said in {mode}."
            answer = call(service, service.token("owner"), "add_memory", person, mode, text=text).structured_content
            assert (answer["standing"], answer["owner"]["why"]) == ("hearsay", "asking_is_off")
            assert person.read == []
    with Keep.open("alice", home=home, settings=INFORM) as kept:
        assert kept.audit.verify().ok


def test_a_member_of_a_shared_keep_is_asked_for_themselves(home: Path) -> None:
    with Keep.open("team", home=home, settings=INFORM) as kept:
        kept.channels.enrol("member:eva", by="ops", reason="team")
    with running(home, INFORM) as service:
        token = service.tokens.add("team", "member:eva", ("read", "write", "delete"))[0]
        answer = call(service, token, "add_memory", Person("accept"), text=FACT).structured_content
        assert answer["owner"]["answer"] == "yes"
    with Keep.open("team", home=home, settings=INFORM) as kept:
        (memory,) = kept.get_memories()
        assert memory["origin"]["channel"] == "member:eva"


def test_a_session_that_another_process_began_is_refused_so_that_clients_begin_anew(home: Path) -> None:
    """Where an operator says that there is one process, and there are two: nothing is answered in the wrong session."""
    with running(home) as one, running(home) as other:
        accept = {"Accept": "application/json, text/event-stream"}
        here, there = one.client("agent"), other.client(None)
        there.headers["Authorization"] = here.headers["Authorization"]
        begun = here.post("/mcp", json=HELLO, headers=accept)
        session = {**accept, "Mcp-Session-Id": begun.headers["mcp-session-id"]}
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert here.post("/mcp", json=asked, headers=session).status_code == 200
        elsewhere = there.post("/mcp", json=asked, headers=session)
        assert elsewhere.status_code == 404
        assert "session" in elsewhere.text.lower()
