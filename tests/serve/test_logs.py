"""What is logged: events with stable names, each of them documented, and nothing that anybody said."""

from __future__ import annotations

import ast
import json
import logging
from pathlib import Path

import pytest

from truekeep.serve.logs import EVENTS, LOGGER, JsonLines, log_event

ROOT = Path(__file__).parents[2]
SERVE = ROOT / "src" / "truekeep" / "serve"


def calls() -> list[tuple[str, ast.Call]]:
    parsed = {path.name: ast.parse(path.read_text()) for path in SERVE.rglob("*.py") if path.name != "logs.py"}
    return [(name, one) for name, tree in parsed.items() for one in ast.walk(tree) if isinstance(one, ast.Call)]


def test_every_event_is_documented() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    assert [name for name in EVENTS if f"| `{name}` |" not in page] == []


def test_everything_that_is_logged_is_one_of_the_events_and_each_of_them_is_logged_somewhere() -> None:
    logged = set()
    for module, call in calls():
        if isinstance(call.func, ast.Name) and call.func.id == "log_event" and len(call.args) > 0:
            first = call.args[0]
            assert isinstance(first, ast.Constant), f"{module} logs under a name that nobody can look up"
            logged.add(first.value)
    assert logged == set(EVENTS) - {"server", "library"}


def test_nothing_of_the_service_logs_in_words_of_its_own() -> None:
    called = {(module, call.lineno, ast.unparse(call.func)) for module, call in calls()}
    assert not [one for one in called if one[2].startswith(("_log.", "logging.info", "logging.w", "print"))]


def line(record: logging.LogRecord) -> dict[str, object]:
    told = json.loads(JsonLines().format(record))
    assert isinstance(told, dict)
    return told


def test_an_event_that_is_in_no_list_cannot_be_logged() -> None:
    with pytest.raises(ValueError, match="no event"):
        log_event("something.new")


def test_a_line_has_its_event_and_what_others_say_stands_beside_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        log_event("chore.failed", logging.WARNING, code="store_busy")
    (ours,) = caplog.records
    assert line(ours) | {"at": ""} == {
        "at": "",
        "level": "warning",
        "logger": LOGGER,
        "event": "chore.failed",
        "code": "store_busy",
    }
    record = logging.LogRecord("uvicorn.error", logging.INFO, "", 0, "Started server process [%d]", (7,), None)
    assert (line(record)["event"], line(record)["said"]) == ("server", "Started server process [7]")
    record = logging.LogRecord("truekeep.embed.guarded", logging.WARNING, "", 0, "no vectors", (), None)
    record.event = "request"
    assert line(record)["event"] == "library", "nobody below passes for the service"
