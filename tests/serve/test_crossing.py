"""No crossing: every operation of the OpenAPI document, with every kind of token, against another owner's keep."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.conftest import KINDS, Served, running
from tests.serve.test_long_term import create

pytestmark = pytest.mark.slow

SECRET = "The vault of Bob is behind the Quillfeather mill"
OPEN = {("get", "/v1/health"), ("get", "/v1/health/ready")}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running(tmp_path_factory.mktemp("town")) as service:
        bob = service.client("owner", "bob")
        create(bob, SECRET, id="bobs-note", session_id="bobs-session")
        bob.put("/v1/working-memory/bobs-session", json={"messages": [{"role": "user", "content": SECRET}]})
        create(service.client("web", "bob"), "Bob's shop moved to Vaultstreet 9")
        yield service


def bobs_ids(town: Served) -> list[str]:
    memory = town.client("owner", "bob").get("/v1/long-term-memory/bobs-note").json()["id"]
    item = town.client("reviewer", "bob").get("/v1/review").json()["items"][0]["id"]
    return [memory, item, "bobs-note", "bobs-session"]


@cache
def described(address: str) -> Any:
    return httpx.get(f"{address}/openapi.json", timeout=60, trust_env=False).json()


def operations(town: Served) -> list[tuple[str, str, dict[str, Any]]]:
    document = described(town.address)
    listed = [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if (method, path) not in OPEN
    ]
    # Reading first: once Eve has written under Bob's names, she finds her own.
    return sorted(listed, key=lambda one: one[0] != "get")


def sample(schema: dict[str, Any], document: dict[str, Any], named: str) -> Any:  # noqa: PLR0911 - one a kind
    """A body that fits a schema, with an id of Bob's wherever a name or text may stand."""
    if "$ref" in schema:
        return sample(document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]], document, named)
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return sample(schema[union][0], document, named)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        wanted = schema.get("required", ())
        return {
            name: sample(one, document, named) for name, one in schema.get("properties", {}).items() if name in wanted
        }
    if kind == "array":
        return [sample(schema["items"], document, named)]
    if schema.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    return {"string": named, "integer": 1, "number": 1.0, "boolean": False}.get(str(kind), named)


def probe(town: Served, client: httpx.Client, method: str, path: str, operation: dict[str, Any], named: str) -> Any:
    document = described(town.address)
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    body = sample(content["schema"], document, named) if content else None
    params = {
        one["name"]: named
        for one in operation.get("parameters", ())
        if one["in"] == "query" and one["name"] in ("memory_ids", "session_id", "user_id", "namespace")
    }
    address = re.sub(r"\{[^}]*\}", named, path)
    return client.request(method, address, params=params, json=body, headers={"If-Match": '"x"'})


def state_of_bob(town: Served) -> str:
    owner = town.client("owner", "bob")
    found = [
        owner.get("/v1/long-term-memory/").json(),
        owner.get("/v1/working-memory/bobs-session").json(),
        town.client("reviewer", "bob").get("/v1/review?state=all").json(),
        town.client("admin", "bob").get("/v1/audit").json(),
    ]
    return json.dumps(found)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_token_of_another_keep_reads_changes_or_notices_anything(town: Served, kind: str) -> None:
    before = state_of_bob(town)
    eve = town.client(kind, f"eve-{kind}")
    ids = bobs_ids(town) if os.environ.get("TRUEKEEP_LONG") else [bobs_ids(town)[number] for number in (0, 3)]
    for method, path, operation in operations(town):
        for named in ids if "{" in path else ids[:1]:
            theirs = probe(town, eve, method, path, operation, named)
            assert "Quillfeather" not in theirs.text, (method, path)
            assert "Vaultstreet" not in theirs.text, (method, path)
            if "{" in path and method == "get":
                nobodys = probe(town, eve, method, path, operation, named[:-1] + ("1" if named[-1] == "0" else "0"))
                assert theirs.status_code == nobodys.status_code, (method, path)
        # Naming the keep, in the path or in a header, is not better than naming one that never was.
        address = re.sub(r"{[^}]*}", ids[0], path)
        found = [eve.request(method, f"/keeps/{keep}{address}") for keep in ("bob", "never-was")]
        assert [answer.status_code for answer in found] == [404, 404], (method, path)
        assert found[0].json() == found[1].json()
    assert state_of_bob(town) == before


def test_a_pattern_reaches_no_keep_beside_it(town: Served) -> None:
    token, _ = town.tokens.add("team-*", "user", ["read", "write", "delete"])
    client = httpx.Client(
        base_url=town.address, headers={"Authorization": f"Bearer {token}"}, timeout=60, trust_env=False
    )
    with client:
        assert create(client, "x").status_code == 400  # it has to say which
        named = client.post(
            "/v1/long-term-memory/",
            json={"memories": [{"text": "We meet on Mondays"}]},
            headers={"Truekeep-Keep": "team-a"},
        )
        assert named.status_code == 201
        listed = client.get("/keeps/team-a/v1/long-term-memory/").json()["memories"]
        assert [one["text"] for one in listed] == ["We meet on Mondays"]
        for keep in ("bob", "team", "TEAM-a", "..", "team-a/../bob", "team-%2e%2e"):
            answer = client.get("/v1/long-term-memory/", headers={"Truekeep-Keep": keep})
            assert answer.status_code in (400, 404), keep
        assert client.get("/keeps/team-a/../bob/v1/long-term-memory/").status_code == 404
    assert sorted(path.stem for path in (Path(town.home) / "keys" / "keeps").glob("*.key")).count("team-a") == 1


def test_without_a_token_nothing_but_health_answers(town: Served) -> None:
    anybody = town.client(None)
    for method, path, operation in operations(town):
        refused = probe(town, anybody, method, path, operation, "x")
        assert refused.status_code == 401, (method, path)
        assert refused.headers["content-type"] == "application/problem+json"
        assert "bearer" in refused.headers["www-authenticate"].lower()
