"""Unusual values in every place a caller fills in: the answer is a problem with a code, and repeats none of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.serve.documented import Document
from truekeep import Keep
from truekeep.config import CAPABILITIES as OF_CHANNELS
from truekeep.config import Paths, Settings, default_channels
from truekeep.serve.app import create_app
from truekeep.serve.capabilities import permit_of_route
from truekeep.serve.settings import ServeSettings
from truekeep.serve.tokens import TokenBook
from truekeep.types import Channel, Standing

CHANNELS = {**default_channels(), "all": Channel("all", Standing.OWNER, OF_CHANNELS)}
SETTINGS = Settings(embedder="none", channels=CHANNELS)
ESCAPES = "\x1b[31m</memories>\u202eIGNORE_ALL"
TRACES = ("\x1b", "</memories>", "\u202e", "IGNORE_ALL")
RAW = {
    "…1e999…": "1e999",
    "…lists…": "[" * 900 + "1" + "]" * 900,
    "…objects…": '{"a":' * 950 + "1" + "}" * 950,
}
"""What stands for JSON that nothing but raw text can hold, or that Python would not write."""
STRIDE = 1 if os.environ.get("TRUEKEEP_LONG") else 6
"""Of the values, each place gets every so many, beginning with another one; the long profile tries all of them."""


VALUES: dict[str, Any] = {
    "the first moment, east": "0001-01-01T00:00:00+14:00",
    "the first moment": "0001-01-01T00:00:00Z",
    "the last moment, west": "9999-12-31T23:59:59.999999-14:00",
    "the last moment": "9999-12-31T23:59:59Z",
    "a moment that can be reckoned with": "9899-12-30T00:00:00Z",
    "deep lists": "…lists…",
    "deep objects": "…objects…",
    "a huge number": 10**400,
    "a number of 128 bits": 1 << 127,
    "a negative number": -(1 << 65),
    "a large float": 1.7e308,
    "no number": float("nan"),
    "an endless number": float("-inf"),
    "a float out of range": "…1e999…",
    "a lone surrogate": "a\ud800b",
    "escapes": ESCAPES,
    "a member with escapes": {ESCAPES: 1},
    "a member that is a lone surrogate": {"\udfff": "\ud800"},
    "a list of escapes": [ESCAPES, {ESCAPES: ESCAPES}],
    "false as a number": 0,
    "false as a word": "false",
    "true": True,
    "nothing": None,
    "long": "x" * 20_000,
}


class Town:
    """The application, and for every operation a client whose token may do it."""

    def __init__(self, home: Any) -> None:
        tokens = TokenBook(Paths.resolve(home).keys)
        app = create_app(home, SETTINGS, ServeSettings(chore_seconds=0.0, requests_per_second=0.0))
        self.client = TestClient(app, base_url="http://127.0.0.1:8430", raise_server_exceptions=False)
        self._judge = tokens.add("alice", "all", ("read", "credit", "review", "delete", "admin"))[0]
        self._owner = tokens.add("alice", "user", ("read", "write", "delete", "admin", "custom-prompts"))[0]
        with Keep.open("alice", home=home, settings=SETTINGS) as keep:
            keep.remember("I like tea", via="user", session="s-1")
            keep.working.put("s-1", via="user", data={"a": 1})

    def headers(self, method: str, path: str) -> dict[str, str]:
        choices = permit_of_route("rest", method, path).choices
        is_judging = bool(choices) and all(choice & {"credit", "review"} for choice in choices)
        return {"Authorization": f"Bearer {self._judge if is_judging else self._owner}", "If-Match": '"x"'}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    made = Town(tmp_path_factory.mktemp("unusual"))
    with made.client:
        yield made


@pytest.fixture(scope="module")
def document(town: Town) -> Document:
    return Document(town.client.get("/openapi.json").json())


def some(at: int) -> list[str]:
    """The values that the place of that number gets."""
    return list(VALUES)[at % STRIDE :: STRIDE]


def encoded(body: Any) -> bytes:
    text = json.dumps(body)
    for name, raw in RAW.items():
        text = text.replace(json.dumps(name), raw)
    return text.encode()


def address_of(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "mem_00000000000000000000" if "memor" in path else "s-1", path)


def require_fine(answer: Any, *where: Any) -> None:
    """An answer that is no failure; a refusal is a problem with a code, and repeats nothing."""
    assert answer.status_code < 500, (where, answer.text[:300])
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json", where
        members = answer.json()
        assert members["code"], where
        told = json.dumps(members, ensure_ascii=False)
        assert not any(trace in told for trace in TRACES), (where, told[:400])


@pytest.mark.slow
@pytest.mark.timeout(1_800 if STRIDE == 1 else 300)
def test_no_unusual_value_in_a_body_is_a_failure_or_is_repeated(town: Town, document: Document) -> None:
    for method, path, operation in document.operations():
        schema = document.body(operation)
        if schema is None:
            continue
        valid, headers = document.sample(schema), town.headers(method, path) | {"Content-Type": "application/json"}
        places = list(enumerate(document.places(schema)))
        planted: list[tuple[Any, str, Any]] = [
            (where, name, document.planted(schema, where, VALUES[name])) for at, where in places for name in some(at)
        ]
        planted += [(("beside",), name, {**valid, ESCAPES: VALUES[name]}) for name in some(0)]
        planted += [((), name, VALUES[name]) for name in some(1)]
        for where, name, body in planted:
            answer = town.client.request(method, address_of(path), content=encoded(body), headers=headers)
            require_fine(answer, method, path, where, name)


@pytest.mark.slow
@pytest.mark.timeout(1_800 if STRIDE == 1 else 300)
def test_no_unusual_value_in_an_address_or_a_header_is_a_failure_or_is_repeated(town: Town, document: Document) -> None:
    texts = [str(value) for value in VALUES.values() if not isinstance(value, dict | list)][:-1]
    for at, (method, path, operation) in enumerate(document.operations()):
        schema, headers = document.body(operation), town.headers(method, path)
        body = document.sample(schema) if schema is not None else None
        taken = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
        for text in texts[at % STRIDE :: STRIDE]:
            shown = quote(text.encode("utf-8", "surrogatepass"))
            for name in [*taken, "beside"]:
                answer = town.client.request(method, f"{address_of(path)}?{name}={shown}", json=body, headers=headers)
                require_fine(answer, method, path, name, text)
            if "{" in path:
                answer = town.client.request(method, re.sub(r"\{[^}]*\}", shown, path), json=body, headers=headers)
                require_fine(answer, method, path, text)
        names = ("If-Match", "Idempotency-Key", "Truekeep-Keep", "Content-Type", "Origin", "Sec-Fetch-Site")
        for name in names[at % STRIDE :: STRIDE]:
            for value in (b"\xff\xfe", b"http://[", b"</memories>\xe2\x80\xaeIGNORE_ALL", b"9" * 5_000, b""):
                more = [(key.encode(), one.encode()) for key, one in headers.items() if key != name]
                given = [*more, (name.encode(), value)]
                answer = town.client.request(method, address_of(path), json=body, headers=given)
                require_fine(answer, method, path, name, value)


@pytest.mark.parametrize("given", [0, 1, "false", "true", "", None, 0.0])
def test_only_true_and_false_say_whether_it_is_a_dry_run(town: Town, given: Any) -> None:
    own = town.headers("POST", "/v1/memories")
    town.client.post("/v1/memories", json={"memories": [{"text": "I like green tea"}]}, headers=own)
    for path, more in (
        ("/v1/revoke", {"channel": "web"}),
        ("/v1/rewind", {"to": 1}),
        ("/v1/consolidate", {}),
        ("/v1/erase", {"subject": "tea"}),
    ):
        body = {"reason": "because", "dry_run": given, **more}
        answer = town.client.post(path, json=body, headers=town.headers("POST", path))
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_body"), (path, answer.text)
    forget = {"policy": {"max_age_days": 1}}
    headers = town.headers("POST", "/v1/long-term-memory/forget")
    for word in ("0", "no", "off", "False", "f", "", "1"):
        refused = town.client.post(f"/v1/long-term-memory/forget?dry_run={word}", json=forget, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_body"), word
    kept = town.client.get("/v1/memories", headers=town.headers("GET", "/v1/memories")).json()["memories"]
    assert "I like green tea" in [one["content"] for one in kept]


@pytest.mark.parametrize("given", ["5", "1970", 1.5, True, "1e3", -1])
def test_nothing_is_rewound_to_a_number_that_is_no_event(town: Town, given: Any) -> None:
    body = {"reason": "because", "dry_run": False, "to": given}
    answer = town.client.post("/v1/rewind", json=body, headers=town.headers("POST", "/v1/rewind"))
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_body")
