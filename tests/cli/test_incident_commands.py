"""The incident kit on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

WHY = ("--by", "eva", "--reason", "the site was taken over")


@pytest.fixture
def planted(run: Run) -> str:
    stored = run(
        "remember", "Northwind moved to Trnava.", "--via", "web", "--principal", "https://a.evil.example/x",
        "--policy", "inform", "--format", "json",
    )  # fmt: skip
    run("remember", "I like tea.")
    return str(stored.json["id"])


def listed(run: Run) -> set[str]:
    return {memory["content"] for memory in run("list", "--format", "json").json}


def test_a_memory_is_traced_on_the_terminal_and_as_a_page(run: Run, planted: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    shown = run("trace", planted, "--html", str(page))
    assert (shown.code, "evil.example" in shown.out) == (0, True)
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert run("trace", planted, "--format", "json").json["state"] == "active"
    assert "no session and no action" in run("exposures", planted).out
    assert run("exposures", planted, "--format", "json").json == []
    assert run("trace", "mem_00000000000000000000").code == 2


def test_revoking_says_first_and_does_on_request(run: Run, planted: str) -> None:
    said = run("revoke", "--principal", "evil.example", *WHY)
    assert "What revoking would do" in said.out
    assert planted in said.out
    assert len(listed(run)) == 2
    done = run("revoke", "--principal", "evil.example", "--yes", *WHY, "--format", "json")
    assert not done.json["dry_run"]
    assert listed(run) == {"I like tea."}
    assert done.json["incident"] in run("incidents").out
    assert run("undo", done.json["incident"], *WHY).out.startswith("Undone: 1 memories are back")
    assert len(listed(run)) == 2
    assert run("incidents", "--format", "json").json[0]["undone_by"] == "eva"


def test_rewinding_goes_to_an_event(run: Run, planted: str) -> None:
    events = run("audit", "events", "--format", "json").json
    first = next(str(event["seq"]) for event in events if event["kind"] == "memory.stored")
    assert run("rewind", "--event", first, *WHY).code == 0
    assert len(listed(run)) == 2
    assert run("rewind", "--event", first, "--yes", *WHY).code == 0
    assert listed(run) == {"Northwind moved to Trnava."}
    assert run("rewind", *WHY).code == 2
    assert run("rewind", "--event", "1", "--to", "2026-01-01", *WHY).code == 2


def test_a_run_that_never_acted_cannot_be_blamed(run: Run) -> None:
    run("remember", "I like tea.")
    assert run("blame", "run-1").code == 2
    assert run("revoke", *WHY).code == 2
    assert "Nothing was ever taken back." in run("incidents").out


def test_consolidating_says_first_and_does_on_request(run: Run) -> None:
    for text in ("I like tea.", "I like the tea!", "Eva lives in Nitra."):
        run("remember", text)
    for arguments in ((), ("--dry-run",)):
        said = run("consolidate", *arguments)
        assert (said.code, "What consolidating would do" in said.out, "I like the tea!" in said.out) == (
            0,
            True,
            True,
        )
    assert len(listed(run)) == 3
    assert run("consolidate", "--dry-run", "--yes").code == 2
    done = run("consolidate", "--yes", *WHY, "--format", "json").json
    assert [len(group["originals"]) for group in done["groups"]] == [2]
    assert listed(run) == {"I like the tea!", "Eva lives in Nitra."}
    assert "consolidate" in run("incidents").out
    assert run("undo", done["incident"], *WHY).out.startswith("Undone: 2 memories are back, 1 are gone")
    assert len(listed(run)) == 3
