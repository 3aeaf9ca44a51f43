"""The guide to the service: its Python runs as it stands, and it names every setting and capability."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from tests.serve.conftest import Served
from truekeep.serve.identity import CAPABILITIES
from truekeep.serve.settings import ServeSettings

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "service.md").read_text("utf-8")


def test_its_python_runs(served: Served) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    code = example.replace("http://127.0.0.1:8430", served.address)
    tokens = {"OWNER_TOKEN": served.token("owner"), "AGENT_TOKEN": served.token("agent")}
    exec(compile(code, "docs/service.md", "exec"), tokens)  # noqa: S102 - our own page
    assert [one["text"] for one in served.client().get("/v1/long-term-memory/").json()["memories"]] == [
        "I prefer dark mode"
    ]


def test_its_requests_are_answered(served: Served) -> None:
    requests = re.findall(r"curl -s http://127\.0\.0\.1:8430(\S+) .*?-d '(.*?)'", GUIDE, re.DOTALL)
    client = served.client()
    answers = [client.post(path, content=body, headers={"Content-Type": "application/json"}) for path, body in requests]
    stored, found = (answer.raise_for_status().json() for answer in answers)
    assert stored["memories"][0]["status"] == "stored"
    assert [hit["text"] for hit in found["hits"]] == ["I prefer dark mode"]


def test_it_names_every_setting_and_capability() -> None:
    missing = [entry.name for entry in fields(ServeSettings) if f"`{entry.name}`" not in GUIDE]
    assert missing == []
    assert [name for name in CAPABILITIES if f"`{name}`" not in GUIDE] == []


def test_it_names_every_path(served: Served) -> None:
    paths = served.client(None).get("/openapi.json").json()["paths"]
    words = {part for path in paths for part in re.findall(r"[a-z-]{4,}", path.replace("{", " {"))} - {"memory_id"}
    hidden = {word for word in words if word not in GUIDE and not word.startswith(("memory", "session", "item"))}
    assert hidden - {"name", "ticket", "retire"} == set()


def test_the_unit_and_the_container_start_what_there_is() -> None:
    unit, container = ((ROOT / "deploy" / name).read_text("utf-8") for name in ("truekeep.service", "Containerfile"))
    for text in (unit, container):
        assert "truekeep serve" in text or '"truekeep", "serve"' in text
        assert "TRUEKEEP_KEYS" in text
    assert "--unsafe" not in unit + container
