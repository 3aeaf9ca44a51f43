"""The door: the first answer comes before the library and the keep are loaded, and is the library's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from truekeep.serve.mcp.door import VERSIONS, Opening, answer_to, list_for
from truekeep.serve.mcp.server import PROFILES, build_server, lists_of
from truekeep.serve.mcp.words import lists

CLIENT = {"name": "desktop", "version": "1"}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LISTING = {"jsonrpc": "2.0", "id": 8, "method": "tools/list"}


def beginning(**changes: Any) -> dict[str, Any]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params} | changes


def started(home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "truekeep", "mcp", "--home", str(home)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "TRUEKEEP_EMBEDDER": "none"},
    )  # fmt: skip


def said(server: subprocess.Popen[str], *messages: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write("".join(json.dumps(one) + "\n" for one in messages))
    server.stdin.flush()


def heard(server: subprocess.Popen[str]) -> dict[str, Any]:
    assert server.stdout is not None
    answer: dict[str, Any] = json.loads(server.stdout.readline())
    return answer


def test_it_knows_the_revisions_that_the_library_begins_so() -> None:
    assert set(HANDSHAKE_PROTOCOL_VERSIONS) == VERSIONS


@pytest.mark.parametrize("profile", PROFILES)
def test_its_answer_is_the_librarys(profile: str) -> None:
    async def run() -> Any:
        async def binder(*_: Any) -> Any:
            raise AssertionError("nothing is called")

        async with Client(build_server(binder, profile=profile), mode="legacy") as client:
            return client.server_capabilities, client.server_info, client.instructions

    capabilities, info, instructions = anyio.run(run)
    told = answer_to(json.dumps(beginning()).encode(), profile)
    assert told is not None
    assert told["result"]["capabilities"] == capabilities.model_dump(by_alias=True, exclude_none=True)
    assert told["result"]["serverInfo"] == info.model_dump(by_alias=True, exclude_none=True)
    assert told["result"]["instructions"] == instructions


@pytest.mark.parametrize("profile", PROFILES)
def test_its_lists_are_the_librarys(profile: str) -> None:
    async def run() -> Any:
        async def binder(*_: Any) -> Any:
            raise AssertionError("nothing is called")

        async with Client(build_server(binder, profile=profile), mode="legacy") as client:
            return await client.list_tools(), await client.list_resources()

    given = [one.model_dump(by_alias=True, exclude_none=True, mode="json") for one in anyio.run(run)]
    told = [list_for(json.dumps(LISTING | {"method": name}).encode(), profile) for name in lists(profile)]
    # If this fails, the tools or their words have changed: run scripts/mcp-lists.
    assert [one["result"] for one in told if one] == given == list(lists_of(profile).values())


@pytest.mark.parametrize(
    "asked",
    [
        LISTING | {"method": "tools/call"},
        LISTING | {"params": {"cursor": "1"}},
        LISTING | {"params": []},
        LISTING | {"id": None},
        LISTING | {"id": True},
        LISTING | {"jsonrpc": "1.0"},
        READY,
    ],
)
def test_what_is_no_request_for_a_whole_list_is_left_to_the_library(asked: Any) -> None:
    assert list_for(json.dumps(asked).encode(), "truekeep") is None


@pytest.mark.parametrize(
    ("said_first", "answered"),
    [
        ([LISTING], []),
        ([beginning(), LISTING], [7]),
        ([beginning(), READY, LISTING, LISTING | {"id": 9}], [7, 8, 9]),
        ([beginning(), READY, LISTING, LISTING], [7, 8]),
        ([beginning(), READY, LISTING | {"id": 7}], [7]),
        ([beginning(), READY, LISTING | {"method": "tools/call"}, LISTING], [7]),
        ([beginning(), READY | {"id": 1}, LISTING], [7]),
    ],
)
def test_it_answers_in_the_order_of_the_protocol_and_nothing_behind_what_it_does_not_know(
    said_first: list[dict[str, Any]], answered: list[int]
) -> None:
    door, told = Opening("truekeep"), []
    for one in said_first:
        if not door.is_over() and (answer := door.answer_to(json.dumps(one).encode())) is not None:
            told.append(answer["id"])
    assert told == answered


@pytest.mark.parametrize(
    "asked",
    [
        beginning(method="tools/list"),
        beginning(id=None),
        beginning(id=True),
        beginning(jsonrpc="1.0"),
        beginning(params=None),
        beginning(params={"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": CLIENT}),
        beginning(params={"protocolVersion": ["2025-11-25"], "capabilities": {}, "clientInfo": CLIENT}),
        beginning(params={"protocolVersion": "2025-11-25", "capabilities": [], "clientInfo": CLIENT}),
        beginning(params={"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": 1}}),
        [beginning()],
    ],
)
def test_anything_else_is_left_to_the_library(asked: Any) -> None:
    assert answer_to(json.dumps(asked).encode(), "truekeep") is None


@pytest.mark.parametrize("line", [b"", b"{", b"[" * 100_000, b"\xff\n"])
def test_what_is_no_json_is_left_to_the_library(line: bytes) -> None:
    assert answer_to(line, "truekeep") is None


def test_neither_the_library_nor_the_keep_is_loaded_for_the_first_answer() -> None:
    code = (
        "import sys, json; from truekeep.cli import mcp; from truekeep.serve.mcp.door import Opening\n"
        "door = Opening('truekeep')\n"
        f"told = [door.answer_to(json.dumps(one).encode()) for one in {[beginning(), READY, LISTING]}]\n"
        "assert [one and one['id'] for one in told] == [7, None, 8]\n"
        "heavy = ('mcp', 'mcp_types', 'pydantic', 'anyio', 'truekeep.keep', 'numpy')\n"
        "print([one for one in heavy if one in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_connection_that_the_door_began_goes_on_and_nothing_is_answered_twice(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        said(server, beginning())
        assert heard(server)["id"] == 7
        listing = {"jsonrpc": "2.0", "id": 8, "method": "tools/list"}
        said(server, {"jsonrpc": "2.0", "method": "notifications/initialized"}, listing)
        answer = heard(server)
        assert answer["id"] == 8
        assert "add_memories" in {one["name"] for one in answer["result"]["tools"]}
        rest, _ = server.communicate(timeout=60)
    assert rest == ""
    assert server.returncode == 0


def test_all_that_comes_at_once_is_answered_in_order(tmp_path: Path) -> None:
    """A client need not wait: the first piece that is read may hold more than one line."""
    with started(tmp_path) as server:
        listing = {"jsonrpc": "2.0", "id": "b", "method": "resources/list"}
        said(server, beginning(id="a"), {"jsonrpc": "2.0", "method": "notifications/initialized"}, listing)
        assert [heard(server)["id"], heard(server)["id"]] == ["a", "b"]


def test_a_client_that_leaves_at_once_ends_it(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        told, _ = server.communicate(timeout=60)
    assert (told, server.returncode) == ("", 0)
