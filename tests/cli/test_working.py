"""Whoever waits sees that a command works: on a terminal, on standard error, until the command says something."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import TextIO

import pytest

from truekeep.cli.working import STANDING, WorkingNote, working


class Terminal(StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.shown = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        written = super().write(text)
        if " s" in text:
            self.shown.set()
        return written


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


@contextmanager
def at(terminal: Terminal, *arguments: str, first: float = 0.01) -> Iterator[None]:
    """A command whose standard error is that terminal; pytest gives each phase of a test streams of its own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stderr", terminal)
        with working(list(arguments), first=first):
            yield


def test_a_command_that_takes_long_says_so_and_what_it_says_itself_starts_a_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal)
    with at(terminal, "audit", "verify", "--keep", "alice"):
        assert terminal.shown.wait(30)
        print("ok: 17 events")
    shown = terminal.getvalue()
    assert "truekeep audit verify … 0 s" in shown
    assert "alice" not in shown
    assert shown.endswith("\r\x1b[2Kok: 17 events\n")


def test_it_is_gone_once_the_command_is_over_or_was_stopped(terminal: Terminal) -> None:
    with pytest.raises(KeyboardInterrupt), at(terminal, "doctor"):
        assert terminal.shown.wait(30)
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_a_quick_command_shows_nothing(terminal: Terminal) -> None:
    with at(terminal, "list", first=60.0):
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("name", sorted(STANDING))
def test_what_goes_on_until_it_is_stopped_has_no_line(terminal: Terminal, name: str) -> None:
    with at(terminal, *name.split(), first=0.0):
        assert sys.stderr is terminal


def test_a_text_that_was_typed_is_not_repeated(terminal: Terminal) -> None:
    with at(terminal, "remember", "My \x1b[2J code is 17"):
        assert terminal.shown.wait(30)
    assert "code" not in terminal.getvalue()


def test_two_that_end_at_once_take_the_line_away_once() -> None:
    out = Terminal()
    note = WorkingNote(out, "truekeep doctor", 0.0)
    note.start()
    assert out.shown.wait(30)
    ends = [threading.Thread(target=note.end) for _ in range(4)]
    for one in ends:
        one.start()
    for one in ends:
        one.join()
    assert out.getvalue().count("\x1b[2K") == out.getvalue().count(" s") + 1


@contextmanager
def pseudo_terminal() -> Iterator[tuple[int, TextIO]]:
    mine, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as other:
        yield mine, other
    os.close(mine)


SLOW = """
import threading, click
from truekeep.cli.working import working
with working(["audit", "verify"], first=0.01):
    threading.Event().wait(1.0)
    click.echo("done")
"""


def test_on_a_real_terminal_it_is_seen_and_a_pipe_gets_nothing_of_it() -> None:
    command = [sys.executable, "-c", SLOW]
    with pseudo_terminal() as (mine, theirs):
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, timeout=120, check=True)
        told = os.read(mine, 10_000)
    assert ran.stdout == b"done\n"
    assert "truekeep audit verify … 0 s".encode() in told
    assert told.endswith(b"\r\x1b[2K")
    silent = subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert (silent.stdout, silent.stderr) == (b"done\n", b"")
