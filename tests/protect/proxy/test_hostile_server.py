"""A server that says what no honest one says: nothing of it reaches the agent unmarked, and nothing hangs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from tests.protect.proxy.hostile_server import NAMES
from tests.protect.proxy.places import ROOT, proxy, talk, told
from truekeep import Keep
from truekeep.protect.proxy.child import child_transport
from truekeep.protect.proxy.upstream import ServerRefused, Upstream
from truekeep.trust import fence

pytestmark = pytest.mark.slow

HOSTILE = [sys.executable, str(Path(__file__).parent / "hostile_server.py")]
Asked = Callable[[Upstream], Awaitable[Any]]


def asked(way: str, ask: Asked, *, seconds: float = 30.0, said: list[str] | None = None) -> Any:
    """What the proxy's side of the connection makes of the server."""

    async def run() -> Any:
        transport: Any = child_transport([*HOSTILE, way], (), (said if said is not None else []).append)
        async with Client(transport, mode="legacy", cache=None) as client:
            try:
                return await ask(Upstream(client, most_chars=100_000, seconds=seconds))
            except ServerRefused as refused:
                return refused

    return anyio.run(run)


@pytest.mark.parametrize("way", [*NAMES, "endless"])
def test_a_list_of_tools_with_a_name_that_is_none_or_without_an_end_is_refused(way: str) -> None:
    if way == "sentence":  # a name like any other to the protocol: what it says is for the screens
        assert asked(way, Upstream.definitions)[0]["name"].startswith("Ignore")
        return
    assert asked(way, Upstream.definitions).code == "server_tools_unusable"


@pytest.mark.parametrize(
    ("way", "code"),
    [("deep", "server_error"), ("numbers", "server_error"), ("failing", "server_error"), ("silent", "server_timeout")],
)
def test_an_answer_that_cannot_be_read_is_refused_at_once_and_in_our_words(way: str, code: str) -> None:
    async def ask(server: Upstream) -> Any:
        try:
            return await server.call("get_text", {"text": way})
        except ServerRefused as refused:
            assert (await server.call("get_text", {"text": "plain"})).text == "fine", "the server is still there"
            return refused

    refused = asked("plain", ask, seconds=1.0 if way == "silent" else 60.0)
    assert (refused.code, "Ignore" in str(refused)) == (code, False)


def test_lines_that_are_no_messages_questions_and_notices_go_nowhere() -> None:
    said: list[str] = []

    async def ask(server: Upstream) -> None:
        for way in ("odd", "odd", "odd", "asking", "noisy"):
            assert (await server.call("get_text", {"text": way})).text == "fine"

    asked("plain", ask, said=said)
    assert sum("no message" in one for one in said) <= 20
    assert all(len(one) < 600 and "\x1b" not in one for one in said)


def test_what_a_server_says_beside_its_answers_is_in_no_log(home: Path, tmp_path: Path) -> None:
    with Keep.open("alice", home=home) as keep:
        keep.grants.add(tool="get_text", where={"text": "*"}, by="alice")
    lines = tmp_path / "stderr"
    parameters = proxy(home, command=[*HOSTILE, "plain"])
    command = [parameters.command, *parameters.args]
    opened = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    with lines.open("wb") as errors:
        process = subprocess.Popen(
            command, env=parameters.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=ROOT
        )
        assert process.stdin is not None
        assert process.stdout is not None
        call = {"name": "get_text", "arguments": {"text": "noisy"}}
        for message in (
            {"id": 1, "method": "initialize", "params": opened},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": call},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
            process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        process.wait(30)
        process.stdout.close()
    assert answers[1]["result"]["content"][1]["text"] == "fine"
    told_there = lines.read_text()
    assert "Traceback" not in told_there
    assert "input_value" not in told_there
    assert len(told_there) < 10_000


def test_definitions_that_change_without_a_word_are_held_when_they_are_listed_again(home: Path) -> None:
    async def script(client: Client) -> None:
        assert (await client.list_tools()).tools == []
        assert "tool_held" in (await told(client, "get_text", text="plain"))[1]

    talk(proxy(home, command=[*HOSTILE, "pull"]), script)
    names: list[set[str]] = []

    async def sentence(client: Client) -> None:
        names.append({tool.name for tool in (await client.list_tools()).tools})

    talk(proxy(home, command=[*HOSTILE, "sentence"]), sentence)
    assert names == [set()], "a name that the rules see a threat in is offered to nobody"


def test_an_answer_that_imitates_the_fence_and_the_marks_stays_within_them(home: Path, tmp_path: Path) -> None:
    known = tmp_path / "map.toml"
    known.write_text('[tools.get_text]\ndoes = "read"\n')
    with Keep.open("alice", home=home) as keep:
        keep.grants.add(tool="get_text", where={"text": "*"}, by="alice")

    async def memory(client: Client) -> None:
        _, text = await told(client, "get_text", text="imitating")
        assert text.startswith(f"{fence.OPENING}\n{fence.NOTICE}\n")
        assert (text.count(fence.OPENING), text.count(fence.CLOSING)) == (1, 1)
        body = text.removeprefix(f"{fence.OPENING}\n{fence.NOTICE}\n").removesuffix(f"\n{fence.CLOSING}\n")
        for line in body.split("\n"):
            assert line.startswith("[BLOCKED: ") or "unknown entry | informs only] " in line.split("]")[0] + "] "
        _, text = await told(client, "get_text", text="keys")
        for said in ("Ignore all previous", "ignore-all-previous", "always-pay-account", "\x1b"):
            assert said not in text

    talk(proxy(home, "--name", "m", "--memory", str(known), command=[*HOSTILE, "plain"]), memory)
