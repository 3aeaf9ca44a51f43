"""The door: answers a desktop agent's ``initialize`` while the protocol's library and the keep are still loading.

Importing the library takes longer than anything else at the start, and nothing of the answer depends on it: who the
server is, what it can do and its instructions are constant. Everything the client sends, that request included, goes on
to the library as it came; of the library's answers only the second one to that request is left out. A request that is
not just as expected is not answered here.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from io import TextIOWrapper
from typing import Any

from truekeep import __version__
from truekeep.serve.mcp.words import words

VERSIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
"""The revisions of the protocol that begin with ``initialize``."""
_CAPABILITIES = {
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
_MOST_BYTES = 65_536
"""Of a first line that is looked at; a longer one is left to the library."""
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class Door:
    """Stands between the process's standard streams and the library. ``answers`` is what the library writes to."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._incoming, self._outgoing = os.dup(_STDIN), os.dup(_STDOUT)
        read, self._onward = os.pipe()
        os.dup2(read, _STDIN)
        os.close(read)
        os.dup2(_STDERR, _STDOUT)  # what anything else prints is no part of the protocol
        self.answers = Answers(os.fdopen(self._outgoing, "wb", closefd=False), encoding="utf-8", newline="\n")
        threading.Thread(target=self._pass_on, name="truekeep-mcp-door", daemon=True).start()

    def _pass_on(self) -> None:
        try:
            first = self._first_line()
            if (answer := answer_to(first.split(b"\n", 1)[0], self._profile)) is not None:
                self.answers.answered = answer["id"]  # before the library can see the request
                _write(self._outgoing, json.dumps(answer).encode() + b"\n")
            _write(self._onward, first)
            while piece := os.read(self._incoming, _MOST_BYTES):
                _write(self._onward, piece)
        except OSError:
            pass  # the client or the library has left: the other one sees the end of its stream
        finally:
            os.close(self._onward)

    def _first_line(self) -> bytes:
        line = b""
        while b"\n" not in line and len(line) < _MOST_BYTES:
            piece = os.read(self._incoming, _MOST_BYTES)
            if not piece:
                break
            line += piece
        return line


class Answers(TextIOWrapper):
    """Standard output without a second answer to the request that the door has answered."""

    answered: object = None

    def write(self, text: str, /) -> int:
        """Write a line, unless it is that answer."""
        if self.answered is not None:
            told = json.loads(text)
            if told.get("id") == self.answered and "result" in told:
                self.answered = None
                return len(text)
        return super().write(text)


def opened(profile: str) -> Door | None:
    """The door before this process's standard input, where that is a stream of the system's."""
    try:
        is_systems = (sys.stdin.fileno(), sys.stdout.fileno()) == (_STDIN, _STDOUT)
    except (AttributeError, OSError, ValueError):
        return None
    return Door(profile) if is_systems else None


def answer_to(line: bytes, profile: str) -> dict[str, Any] | None:
    """The answer to a request that begins a connection; None for whatever else it is."""
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(asked, dict) or not _begins(asked):
        return None
    result = {
        "protocolVersion": asked["params"]["protocolVersion"],
        "capabilities": _CAPABILITIES,
        "serverInfo": {"name": "truekeep", "title": "truekeep", "version": __version__},
        "instructions": words(profile)["instructions"],
    }
    return {"jsonrpc": "2.0", "id": asked["id"], "result": result}


def _begins(asked: dict[str, Any]) -> bool:
    params = asked.get("params")
    if asked.get("jsonrpc") != "2.0" or asked.get("method") != "initialize" or not isinstance(params, dict):
        return False
    client, version = params.get("clientInfo"), params.get("protocolVersion")
    return (
        type(asked.get("id")) in (int, str)
        and isinstance(version, str)
        and version in VERSIONS
        and isinstance(params.get("capabilities"), dict)
        and isinstance(client, dict)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
    )


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
