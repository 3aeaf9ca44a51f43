"""Whoever waits for a command sees that it works: after a second a line on standard error, on a terminal only.

It is there until the command says something itself, on either stream, and never comes back then: what a command prints
starts at the beginning of a line. Where output goes to a file or to another program nothing of it is written.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

FIRST_SECONDS, _EVERY_SECONDS = 1.0, 1.0
STANDING = frozenset({"serve", "mcp", "hook", "top", "demo", "completion", "protect mcp"})
"""Commands that go on until they are stopped, or that speak a protocol: nobody waits for their end."""
_CLEAR = "\r\x1b[2K"


class WorkingNote:
    """The line of one command."""

    def __init__(self, out: TextIO, words: str, first: float = FIRST_SECONDS) -> None:
        self._out, self._words, self._first = out, words, first
        self._over, self._lock, self._is_shown = threading.Event(), threading.Lock(), False
        self._thread = threading.Thread(target=self._run, name="truekeep-working", daemon=True)

    def start(self) -> None:
        """Begin to count."""
        self._thread.start()

    def end(self) -> None:
        """Take the line away, for good."""
        with self._lock:
            if self._is_shown:
                self._out.write(_CLEAR)
                self._out.flush()
            self._is_shown = False
            self._over.set()

    def _run(self) -> None:
        began, pause = time.monotonic(), self._first
        while not self._over.wait(pause):
            with self._lock:
                if self._over.is_set():
                    return
                self._is_shown = True
                self._out.write(f"{_CLEAR}{self._words} … {time.monotonic() - began:.0f} s")
                self._out.flush()
            pause = _EVERY_SECONDS


class _Announced:
    """A stream whose first write takes the line away; in all else it is the stream itself."""

    def __init__(self, stream: TextIO, note: WorkingNote) -> None:
        self._stream, self._note = stream, note

    def write(self, text: str) -> int:
        if text:
            self._note.end()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # whoever writes bytes says something, too
            self._note.end()
        return getattr(self._stream, name)


@contextmanager
def working(arguments: list[str], first: float = FIRST_SECONDS) -> Iterator[None]:
    """Show the line for what is done in the block, if a person is there to see it."""
    named = [word for word in arguments[:2] if not word.startswith("-")]
    stands = bool(named) and bool(STANDING & {named[0], " ".join(named)})
    if not named or stands or not sys.stderr.isatty():
        yield
        return
    words = " ".join(["truekeep", *(word for word in named if word.replace("-", "").isalpha())])
    before, note = (sys.stdout, sys.stderr), WorkingNote(sys.stderr, words, first)
    sys.stdout, sys.stderr = _Announced(before[0], note), _Announced(before[1], note)
    note.start()
    try:
        yield
    finally:
        note.end()
        sys.stdout, sys.stderr = before
