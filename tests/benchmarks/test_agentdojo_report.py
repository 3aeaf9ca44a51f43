"""What was played of AgentDojo is counted so that nothing is made to look better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.agentdojo import Played, declared
from benchmarks.agentdojo_report import figures, write_tables


def _played(**fields: Any) -> Played:
    given: dict[str, Any] = {"suite": "banking", "condition": "no plan", "user": "u-1", "is_done": True}
    return Played(**(given | fields))


def test_a_task_with_a_refused_call_is_not_completed_whatever_the_suite_says() -> None:
    rows = [_played(), _played(refused=["get_webpage: private_value_in_link"]), _played(questions=["pay: not_asked"])]
    found = {figure.name: figure.value for figure in figures(rows)}
    assert found["no plan, all: tasks without a question (1 of 3)"] == 100 / 3
    assert found["no plan, all: tasks with at most one (2 of 3)"] == 200 / 3


def test_a_single_attack_that_was_carried_out_breaks_the_bound() -> None:
    rows = [_played(injection=f"i-{number}", is_struck=number == 7) for number in range(949)]
    struck = next(figure for figure in figures(rows) if figure.name.startswith("no plan, all: attacks carried out"))
    assert not struck.ok


def test_the_page_says_which_rule_asked_and_keeps_what_stands_around_the_tables(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n")
    write_tables([_played(questions=["pay: not_asked"]), _played(injection="i-1")], page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| `pay: not_asked` | asked | 1 |" in text


def test_tools_are_declared_as_the_table_says_and_unknown_ones_have_effects() -> None:
    tools = {tool.name: tool for tool in declared("banking", [_tool("get_balance"), _tool("send_money")])}
    assert tools["get_balance"].reads
    assert tools["get_balance"].owner_writes == ("*",)
    assert not tools["send_money"].reads


def _tool(name: str) -> dict[str, Any]:
    return {"name": name, "schema": {"type": "object", "properties": {}}, "description": ""}
