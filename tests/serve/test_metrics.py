"""The figures: by operation and by answer, and no label that names a keep, a token or a person."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.serve.conftest import running
from tests.serve.mcp.test_http import HELLO

ROOT = Path(__file__).parents[2]
MCP = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> str:
    """The page after one request of every kind of answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        with running(tmp_path_factory.mktemp("figures")) as served:
            owner = served.client("owner", keep="zebedee")
            told = {"memories": [{"text": "The marzipan is in the belfry"}]}
            assert owner.post("/v1/memories", json=told).status_code == 201
            assert owner.get("/v1/memories/mem_rosebud").status_code == 404
            assert owner.get("/v1/audit").status_code == 403
            call = {"session": "s", "name": "pay", "arguments": {"to": "Contoso"}}
            assert owner.post("/v1/check-action", json=call).status_code == 200
            assert served.client(None).get("/v1/memories").status_code == 401
            agent = served.client("agent", keep="zebedee")
            begun = agent.post("/mcp", json=HELLO, headers=MCP)
            session = MCP | {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
            agent.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
            for number, (name, given) in enumerate([("search_memories", {"query": "where"}), ("delete_memory", {})], 2):
                asked = {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
                answer = agent.post(
                    "/mcp", json={**asked, "params": {"name": name, "arguments": given}}, headers=session
                )
                assert answer.status_code == 200, answer.text
            page = served.client("admin", keep="zebedee").get("/metrics")
            assert page.status_code == 200
            return page.text


@pytest.mark.parametrize(
    "line",
    [
        r'truekeep_requests_total\{method="POST",route="/v1/memories",status="201",.*\} 1',
        r'truekeep_requests_total\{method="GET",route="/v1/memories/\{memory_id\}",status="404",.*\} 1',
        r'truekeep_problems_total\{code="unknown_id",method="GET",route="/v1/memories/\{memory_id\}",.*\} 1',
        r'truekeep_problems_total\{code="token_not_allowed",method="GET",route="/v1/audit",.*\} 1',
        r'truekeep_problems_total\{code="not_authenticated",method="GET",route="/v1/memories",.*\} 1',
        r'truekeep_refused_total\{code="not_authenticated",.*\} 1',
        r'truekeep_verdicts_total\{decision="accept",.*\} 1',
        r'truekeep_actions_total\{decision="confirm",.*\} 1',
        r'truekeep_tools_total\{answer="done",tool="search_memories",.*\} 1',
        r'truekeep_tools_total\{answer="failed",tool="delete_memory",.*\} 1',
        r'truekeep_request_seconds_count\{route="/v1/memories",.*\} 2',
        r"truekeep_open_keeps\{.*\} 1",
        r"truekeep_ready\{.*\} 1",
    ],
)
def test_operations_are_counted_by_what_was_answered(text: str, line: str) -> None:
    assert re.search(f"^{line}$", text, re.MULTILINE), text


def test_no_label_names_a_keep_a_token_or_what_was_said(text: str) -> None:
    for hidden in ("zebedee", "marzipan", "rosebud", "Contoso", "tk_"):
        assert hidden not in text


def test_every_metric_is_documented(text: str) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    names = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    assert len(names) >= 9
    assert [name for name in names if f"`{name}`" not in page] == []


def test_the_code_of_a_problem_stays_inside(tmp_path: Path) -> None:
    with running(tmp_path / "home") as served:
        answer = served.client(None).get("/v1/memories")
        assert answer.json()["code"] == "not_authenticated"
        assert not [name for name in answer.headers if "truekeep" in name]
