"""A worker's process: started, asked in JSON lines, watched, and ended by us whatever it does."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import IO, Any

from benchmarks.peers.environments import last_lines, quiet_environ
from truekeep.redteam.figures import CannotRun

MAX_LINE = 64_000_000
_ENDING_SECONDS = 5.0
_STDERR_READ = 20_000


class WorkerProcess:
    """One worker. Every way in which it can fail is a ``CannotRun`` that says why, and its end."""

    def __init__(self, name: str, command: Sequence[str], home: Path, seconds: float) -> None:
        self._name = name
        self._seconds = seconds
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                cwd=home,
                env=quiet_environ(home),
                start_new_session=True,
            )
        except OSError as error:
            self._said.close()
            raise CannotRun(f"{name} could not be started: {error.strerror}") from error

    def hear(self, answer_call: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> dict[str, Any]:
        """The answer that the worker owes, with the questions in between answered by ``answer_call``."""
        return self._watched(lambda: self._heard(answer_call))

    def ask(
        self, request: Mapping[str, Any], answer_call: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Send a request and wait for its answer, no longer than the time there is for one."""

        def exchange() -> dict[str, Any]:
            self._send(request)
            return self._heard(answer_call)

        return self._watched(exchange)

    @property
    def pid(self) -> int:
        """The process that runs the worker."""
        return self._process.pid

    def end(self) -> None:
        """Close its input; kill it and whatever it started if that does not end it."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._said.close()

    def _watched(self, exchange: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Do it under a watchdog that kills the worker: reading and writing both end with its death."""
        late: list[bool] = []

        def bite() -> None:
            late.append(True)
            self._kill()

        watchdog = Timer(self._seconds, bite)
        watchdog.daemon = True
        watchdog.start()
        try:
            return exchange()
        except (OSError, ValueError, TypeError, EOFError) as error:
            self._kill()
            raise CannotRun(self._reason(error, late=bool(late))) from error
        finally:
            watchdog.cancel()

    def _heard(self, answer_call: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> dict[str, Any]:
        while True:
            answer = self._read()
            if "error" in answer:
                raise ValueError(str(answer["error"]))
            if "embed" not in answer:
                return answer
            self._send(answer_call(answer))

    def _send(self, message: Mapping[str, Any]) -> None:
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            raise EOFError("it was ended before")
        pipe.write(json.dumps(message).encode() + b"\n")
        pipe.flush()

    def _read(self) -> dict[str, Any]:
        pipe = self._process.stdout
        if pipe is None or pipe.closed:
            raise EOFError("it was ended before")
        line = pipe.readline(MAX_LINE)
        if not line:
            raise EOFError("it ended without an answer")
        try:
            answer = json.loads(line)
        except ValueError:
            raise ValueError("its answer is not JSON") from None
        if not isinstance(answer, dict):
            raise TypeError("its answer has the wrong form")
        return answer

    def _reason(self, error: Exception, *, late: bool) -> str:
        if late:
            return f"{self._name} gave no answer within {self._seconds:.0f} s"
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._process.wait(_ENDING_SECONDS)
        what = "it ended without an answer" if isinstance(error, OSError) else str(error)
        return f"{self._name}: {what} ({last_lines(self._stderr())})"

    def _stderr(self) -> str:
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - _STDERR_READ))
        return self._said.read().decode("utf-8", "replace")

    def _kill(self) -> None:
        with contextlib.suppress(OSError):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
