"""The door: answers a desktop agent's first requests while the protocol's library and the keep are still loading.

Importing the library takes longer than anything else at the start, and nothing of these answers depends on it: who the
server is, what it can do, its instructions and the lists of its tools and resources are constant. Everything the client
sends, those requests included, goes on to the library as it came; of the library's answers only the second ones to
those requests are left out. A request that is not just as expected is not answered here, and nothing that follows it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from io import TextIOWrapper
from typing import Any

from truekeep import __version__
from truekeep.serve.mcp.words import lists, words

VERSIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
"""The revisions of the protocol that begin with ``initialize``."""
_CAPABILITIES = {
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
_MOST_BYTES = 65_536
"""Of what is looked at while a line has not ended; a longer one is left to the library."""
_BEGUN = "notifications/initialized"
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
            rest = self._answer_first()
            _write(self._onward, rest)
            while piece := os.read(self._incoming, _MOST_BYTES):
                _write(self._onward, piece)
        except OSError:
            pass  # the client or the library has left: the other one sees the end of its stream
        finally:
            os.close(self._onward)

    def _answer_first(self) -> bytes:
        """Answer what is known, line by line, and pass it on; gives what was read beyond that."""
        opening, rest = Opening(self._profile), b""
        while not opening.is_over():
            if b"\n" not in rest and len(rest) < _MOST_BYTES:
                piece = os.read(self._incoming, _MOST_BYTES)
                rest += piece
                if piece:
                    continue
                break
            line, end, behind = rest.partition(b"\n")
            answer = opening.answer_to(line)
            if opening.is_over():
                break
            if answer is not None:
                self.answers.answered.add(answer["id"])  # before the library can see the request
                _write(self._outgoing, json.dumps(answer, ensure_ascii=False).encode() + b"\n")
            _write(self._onward, line + end)
            rest = behind
        return rest


class Opening:
    """What of a connection's beginning is answered, in the order in which clients ask."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._is_begun = self._is_ready = False
        self._answered: set[object] = set()
        self._is_over = False

    def is_over(self) -> bool:
        """Whether something came that is the library's to answer, and with it everything behind it."""
        return self._is_over

    def answer_to(self, line: bytes) -> dict[str, Any] | None:
        """The answer to the next line; None where there is nothing to answer, or no longer."""
        if not self._is_begun:
            answer = answer_to(line, self._profile)
            self._is_begun, self._is_over = answer is not None, answer is None
        elif not self._is_ready:
            answer, self._is_ready = None, _is_ready(line)
            self._is_over = not self._is_ready
        else:
            answer = list_for(line, self._profile)
            self._is_over = answer is None or answer["id"] in self._answered
        if answer is None or self._is_over:
            return None
        self._answered.add(answer["id"])
        return answer


class Answers(TextIOWrapper):
    """Standard output without second answers to the requests that the door has answered."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.answered: set[object] = set()

    def write(self, text: str, /) -> int:
        """Write a line, unless it is such an answer."""
        if self.answered:
            told = json.loads(text)
            if "result" in told and told.get("id") in self.answered:
                self.answered.discard(told["id"])
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
    asked = _message(line)
    if not _begins(asked):
        return None
    result = {
        "protocolVersion": asked["params"]["protocolVersion"],
        "capabilities": _CAPABILITIES,
        "serverInfo": {"name": "truekeep", "title": "truekeep", "version": __version__},
        "instructions": words(profile)["instructions"],
    }
    return {"jsonrpc": "2.0", "id": asked["id"], "result": result}


def list_for(line: bytes, profile: str) -> dict[str, Any] | None:
    """The answer to a request for a whole list; None for whatever else it is."""
    asked = _message(line)
    params = asked.get("params")
    is_plain = params is None or (isinstance(params, dict) and not params.keys() - {"_meta"})
    result = lists(profile).get(str(asked.get("method")))
    if asked.get("jsonrpc") != "2.0" or type(asked.get("id")) not in (int, str) or not is_plain or result is None:
        return None
    return {"jsonrpc": "2.0", "id": asked["id"], "result": result}


def _message(line: bytes) -> dict[str, Any]:
    """A line as a message; nothing if it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_ready(line: bytes) -> bool:
    said = _message(line)
    return said.get("jsonrpc") == "2.0" and said.get("method") == _BEGUN and "id" not in said


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
