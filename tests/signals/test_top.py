"""``truekeep top``: what happens now, at home and at a service, without a text and without a trace."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.serve.conftest import Served
from truekeep import Keep, Tool
from truekeep.cli.top_page import page
from truekeep.redteam.keep_target import intruder

PAGE = "The Quillfeather mill is open. Its account is 4411-22."
PAY = Tool("pay", reads=False, schema={"type": "object", "properties": {"account": {"type": "string"}}})


def busy(home: Path) -> None:
    """A keep with a clean session, a tainted one, a call that waits and one that was denied, and a held text."""
    with Keep.open("alice", home=home, background=False) as keep:
        with keep.session("clean-1", mediated=True) as session:
            session.observe("user", "What time is it?")
        session = keep.session("tainted-1", mediated=True, tools=[PAY])
        session.observe("user", "Please pay Northwind 300 euros")
        session.observe("web", PAGE, principal="https://evil.example")
        assert session.check_action("pay", {"account": "9904-71"}).decision == "confirm"
        assert session.check_action("wire_transfer", {"account": "4411-22"}).decision != "allow"
        keep.remember("The office is in Nitra by the Quillfeather mill.", via="web", principal="news.example")


def test_it_shows_sessions_their_taint_calls_and_what_waits_on_eighty_columns(home: Path, run: Run) -> None:
    busy(home)
    shown = run("top", "--once")
    assert shown.code == 0
    assert all(len(line) <= 80 for line in shown.out.splitlines())
    assert "tainted-1" in shown.out
    assert "clean-1" in shown.out
    assert "waits for a person" in shown.out
    assert re.search(r"\bhearsay_held +rev_[0-9a-f]{20}\b", shown.out)


def test_no_text_is_shown_unless_it_is_asked_for(home: Path, run: Run) -> None:
    busy(home)
    assert "Quillfeather" not in run("top", "--once").out
    assert "Quillfeather" not in run("top", "--once", "--format", "json").out
    assert "Quillfeather mill" in run("top", "--once", "--texts").out


def test_programs_get_counts_that_add_up(home: Path, run: Run) -> None:
    busy(home)
    (one,) = run("top", "--once", "--format", "json").json["keeps"]
    assert one["keep"] == "alice"
    assert one["ok"]
    assert one["sessions"] == {"clean": 1, "tainted": 1, "unmediated": 0}
    assert sum(one["calls"].values()) == 2
    assert one["calls"]["confirm"] >= 1
    assert one["waiting"]["call"] == one["calls"]["confirm"]
    assert one["waiting"]["memory"] == 1
    assert {waits["what"] for waits in one["waits"]} == {"call", "memory"}
    assert one["rates"]["writes"] > 0


def test_looking_writes_nothing(home: Path, run: Run) -> None:
    busy(home)
    with Keep.open("alice", home=home, background=False) as keep:
        before = keep.audit.head
    run("top", "--once", "--texts")
    with Keep.open("alice", home=home, background=False) as keep:
        assert keep.audit.head == before


def test_a_keep_that_was_tampered_with_is_an_alert_and_hides_no_other(home: Path, run: Run) -> None:
    busy(home)
    with Keep.open("bob", home=home, background=False) as keep:
        memory = keep.remember("I live in Nitra", via="user").memory_id
    with intruder(home, "bob") as database:
        database.execute("UPDATE memories SET body = replace(body, 'Nitra', 'Praha') WHERE id = ?", (memory,))
    shown = run("top", "--once")
    assert "bob: is not what it was left as" in shown.out
    assert "NOT OK" in shown.out
    assert "tainted-1" in shown.out
    # What is wrong stands before what is merely so.
    assert shown.out.index("bob: is not") < shown.out.index("waits for a person")


def test_a_home_without_keeps_says_how_to_make_one(home: Path, run: Run) -> None:
    assert "truekeep remember" in run("top", "--once").out


def test_a_mistyped_keep_is_said(home: Path, run: Run) -> None:
    busy(home)
    refused = run("top", "--once", "--keep", "alise")
    assert refused.code == 2
    assert "no keep of that name" in refused.err


def test_names_that_others_chose_move_no_cursor_and_end_no_line() -> None:
    hostile = "a\x1b[2J\r\nALERT"
    look: dict[str, Any] = {
        "at": "2026-03-01T12:00:00Z",
        "left_out": 0,
        "keeps": [
            {
                "keep": hostile,
                "ok": False,
                "alerts": [{"code": "tampered", "count": 1, "detail": hostile}],
                "waits": [{"id": hostile, "what": hostile, "code": hostile, "about": hostile, "since": hostile}],
                "latest": [
                    {"name": hostile, "state": "clean", "last": hostile, "entered": 1, "foreign": 0, "calls": {}}
                ],
            }
        ],
    }
    from rich.console import Console

    out = Console(width=80, force_terminal=False, markup=False)
    with out.capture() as taken:
        out.print(page(look))
    assert "\x1b" not in taken.get()
    assert "\r" not in taken.get()
    assert not any(line.startswith("ALERT") for line in taken.get().splitlines())


def test_a_service_is_asked_with_a_token_and_says_the_same(
    home: Path, service: Served, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.client("web", "top").post("/v1/memories", json={"memories": [{"text": "The Quillfeather mill is open."}]})
    monkeypatch.setenv("TRUEKEEP_TOKEN", service.token("admin", "top"))
    (one,) = run("top", "--once", "--url", service.address, "--format", "json").json["keeps"]
    assert one["keep"] == "top"
    assert one["waiting"]["memory"] == 1
    shown = run("top", "--once", "--url", service.address)
    assert re.search(r"\bhearsay_held +rev_[0-9a-f]{20}\b", shown.out)
    assert "Quillfeather" not in shown.out
    # A token that only administers and reads is shown no text that waits for a reviewer.
    assert "(token_not_allowed)" in run("top", "--once", "--texts", "--url", service.address).out
    monkeypatch.setenv("TRUEKEEP_TOKEN", service.tokens.add("top", "reviewer:eva", ("read", "admin", "review"))[0])
    assert "Quillfeather" in run("top", "--once", "--texts", "--url", service.address).out


def test_a_service_that_does_not_let_one_look_is_an_alert(
    service: Served, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEKEEP_TOKEN", service.token("agent", "top-2"))
    assert "cannot be looked at" in run("top", "--once", "--url", service.address).out


def test_without_a_token_it_says_where_one_is_taken_from(run: Run) -> None:
    refused = run("top", "--once", "--url", "http://127.0.0.1:9")
    assert refused.code == 2
    assert "TRUEKEEP_TOKEN" in refused.err


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_on_a_terminal_it_looks_again_until_ctrl_c_and_leaves_the_screen_as_it_was(home: Path) -> None:
    busy(home)
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "truekeep", "top", "--home", str(home), "--every", "0.5"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "40"}
    # Whoever runs the tests in the background has Ctrl-C ignored, and so would what is started here.
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - it sets a signal, which no thread holds
    ) as process:
        os.close(theirs)
        told = b""
        while told.count(b"truekeep top") < 3:
            told += os.read(mine, 65_536)
        process.send_signal(signal.SIGINT)
        while process.poll() is None:
            try:
                told += os.read(mine, 65_536)
            except OSError:  # the other end is closed
                break
        assert process.wait(60) == 0
    os.close(mine)
    assert b"tainted-1" in told
    assert told.index(b"\x1b[?1049h") < told.index(b"truekeep top") < told.index(b"\x1b[?1049l")


@pytest.mark.slow
def test_programs_get_a_line_for_each_look(home: Path) -> None:
    busy(home)
    command = [sys.executable, "-m", "truekeep", "top", "--home", str(home), "--every", "0.5", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        looks = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.terminate()
    assert [[one["keep"] for one in look["keeps"]] for look in looks] == [["alice"], ["alice"]]
    assert looks[0]["at"] < looks[1]["at"]
