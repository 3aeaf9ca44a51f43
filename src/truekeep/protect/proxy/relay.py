"""Shadow mode of the proxy: bytes go through as they came, and a watcher that nothing waits for looks at copies.

Nothing is parsed on the way, so nothing can be changed, held up or lost there. The watcher has a thread of its own. It
is handed whole lines; what it cannot keep up with it misses and says how often. Should it fail, the bytes go on.
"""

from __future__ import annotations

import logging
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from truekeep.errors import InvalidRequest
from truekeep.protect.proxy.child import MOST_BYTES, dies_with_us, end_group, environment

_CHUNK = 65_536
_MOST_WAITING = 32_000_000
"""Bytes that wait to be looked at; a server that says more than anybody can judge must not fill the memory."""
_PATIENCE = 10.0
"""Seconds that the watcher has at the end for what waits."""
_log = logging.getLogger("truekeep.protect")


class Watcher(Protocol):
    """Who looks at what passes."""

    def look(self, line: bytes, *, is_servers: bool) -> None:
        """Look at one line. Whatever is raised is counted as a failure."""

    def missed(self, what: str) -> None:
        """Something was not looked at."""

    def close(self) -> None:
        """Nothing more comes."""


class Backlog:
    """Copies of what passed, until the watcher has looked at them."""

    def __init__(self, opening: Callable[[], Watcher]) -> None:
        self._opening = opening
        self._lines: queue.SimpleQueue[tuple[bytes, bool] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._size = 0
        self._missed = 0
        self._thread = threading.Thread(target=self._work, name="truekeep-shadow", daemon=True)
        self._thread.start()

    def put(self, line: bytes, *, is_servers: bool) -> None:
        """Have a line looked at, if there is room."""
        with self._lock:
            if len(line) > MOST_BYTES or self._size + len(line) > _MOST_WAITING:
                self._missed += 1
                return
            self._size += len(line)
        self._lines.put((line, is_servers))

    def close(self) -> None:
        """Let the watcher finish, for a while."""
        self._lines.put(None)
        self._thread.join(_PATIENCE)

    def _work(self) -> None:
        watcher = self._opened()
        while (found := self._lines.get()) is not None:
            line, is_servers = found
            with self._lock:
                self._size -= len(line)
                missed, self._missed = self._missed, 0
            if watcher is not None:
                for _ in range(missed):
                    watcher.missed("not_looked_at")
                _looked(watcher, line, is_servers=is_servers)
        if watcher is not None:
            for _ in range(self._missed):
                watcher.missed("not_looked_at")
            with suppress(Exception):
                watcher.close()

    def _opened(self) -> Watcher | None:
        try:
            return self._opening()
        except (Exception, SystemExit) as error:
            _log.warning("Nothing is watched, calls are passed on (%s).", getattr(error, "code", type(error).__name__))
            return None


def _looked(watcher: Watcher, line: bytes, *, is_servers: bool) -> None:
    try:
        watcher.look(line, is_servers=is_servers)
    except Exception as error:
        _log.warning("A message was not looked at (%s).", getattr(error, "code", type(error).__name__))
        watcher.missed("sidecar_failures")


class _Lines:
    """Puts chunks together to lines, for the watcher only."""

    def __init__(self, backlog: Backlog, *, is_servers: bool) -> None:
        self._backlog = backlog
        self._is_servers = is_servers
        self._held = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take a chunk; of a line without an end no more is held than what can be looked at."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._backlog.put(bytes(self._held) + line, is_servers=self._is_servers)
            self._held.clear()
        if len(self._held) <= MOST_BYTES:
            self._held += rest


def relay(command: Sequence[str], passed: Sequence[str], opening: Callable[[], Watcher]) -> int:
    """Start the server and pass every byte on, both ways, until one side leaves. Gives the server's exit code."""
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(passed),
            bufsize=0,
            start_new_session=True,
            preexec_fn=dies_with_us(os.getpid()),  # noqa: PLW1509 - no thread of ours runs yet
        )
    except (OSError, ValueError):
        raise InvalidRequest(
            "The server cannot be started.", code="server_not_started", hint="Check the command after '--'."
        ) from None
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("a child without pipes")
    backlog = Backlog(opening)
    into, out = process.stdin, process.stdout

    def from_client() -> None:
        _pass(0, into.fileno(), _Lines(backlog, is_servers=False))
        with suppress(OSError):
            into.close()

    threading.Thread(target=from_client, name="truekeep-client", daemon=True).start()
    try:
        _pass(out.fileno(), 1, _Lines(backlog, is_servers=True))
    finally:
        end_group(process)
        backlog.close()
    return max(0, process.returncode)


def _pass(source: int, sink: int, lines: _Lines) -> None:
    """Bytes from one end to the other. The copy is made first, so that a call is seen before its answer."""
    with suppress(OSError):
        while chunk := os.read(source, _CHUNK):
            lines.feed(chunk)
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(sink, rest) :]
