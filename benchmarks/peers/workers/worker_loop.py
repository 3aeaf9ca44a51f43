"""The loop that every worker runs: requests as JSON lines on its input, answers as JSON lines on its output.

Workers are run by the interpreter of somebody else's environment. They know the standard library, numpy and the
package that they stand for, and nothing of truekeep. Every vector comes from the other side, so that one encoder
serves everybody: with the texts, or asked for when a package embeds a text of its own making.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

STORED, HELD, REFUSED = "stored", "held", "refused"
OWNER, SYSTEM, PAGE = "owner", "system", "page"
UNCREDITED = 5
"""One honest memory in so many has not been used yet; the others have proved themselves in use."""


@dataclass(frozen=True)
class Entry:
    """A text on its way in, as the other side describes it."""

    text: str
    by: str
    source: str
    claims: Mapping[str, Any]

    @property
    def credited(self) -> bool:
        """Whether this honest memory has proved itself: as the other side says, else four of five, by their hash."""
        if "credited" in self.claims:
            return bool(self.claims["credited"])
        return hashlib.sha256(self.text.encode()).digest()[0] % UNCREDITED != 0


@dataclass(frozen=True)
class Hit:
    """A memory that came up, and whether it may drive an action."""

    text: str
    may_act: bool


class Adapter(Protocol):
    """What a worker's file provides."""

    version: str
    has_gate: bool
    """Whether ``acting`` can differ from ``recall``."""

    def fill(self, entries: Sequence[Entry]) -> None:
        """Take honest memories in; called as often as there are portions."""

    def filled(self) -> None:
        """All of them are in: whatever follows is undone by ``reset``."""

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Take an attacker's texts in: ``stored``, ``held`` or ``refused`` each."""
        ...

    def recall(self, query: str, k: int) -> list[Hit]:
        """The best k; leaves no trace."""
        ...

    def acting(self, query: str, k: int) -> list[Hit]:
        """The best k of what may drive an action; leaves no trace."""
        ...

    def reset(self) -> None:
        """Back to how it was after the filling."""


class Vectors:
    """The encoder: looks vectors up, and asks the other side for what it has not been given."""

    def __init__(self, wire: Wire, dim: int) -> None:
        self.dim = dim
        self._wire = wire
        self._known: dict[str, list[float]] = {}
        self._asked: tuple[str, list[float]] | None = None

    def __bool__(self) -> bool:
        return self.dim > 0

    def __call__(self, text: str) -> list[float]:
        """The vector of a text; of the question, while one is being answered, as the encoder sees questions."""
        if self._asked is not None and self._asked[0] == text:
            return self._asked[1]
        if text not in self._known:
            kind = "passage" if self._asked is None else "query"
            found = decoded(self._wire.call({"embed": [text], "kind": kind})["vectors"][0])
            if kind == "query":
                return found
            self._known[text] = found
        return self._known[text]

    def learn(self, text: str, vector: str | None) -> None:
        """Remember the vector of a text that is about to be stored."""
        if vector is not None:
            self._known[text] = decoded(vector)

    def asking(self, text: str | None, vector: str | None = None) -> None:
        """A question is about to be answered, or was."""
        self._asked = (text, decoded(vector)) if text is not None and vector is not None else None


class Wire:
    """Both pipes. Whatever a package prints goes to the error output, so that it cannot be taken for an answer."""

    def __init__(self) -> None:
        self._out: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._in = sys.stdin

    def read(self) -> dict[str, Any] | None:
        """The next request; none when the other side has hung up."""
        line = self._in.readline()
        request: dict[str, Any] | None = json.loads(line) if line else None
        return request

    def write(self, answer: Mapping[str, Any]) -> None:
        """Send one answer."""
        self._out.write(json.dumps(answer) + "\n")
        self._out.flush()

    def call(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the other side something in the middle of a request."""
        self.write(question)
        answer = self.read()
        if answer is None:
            raise SystemExit(0)
        return answer


def decoded(vector: str) -> list[float]:
    """A vector from its base64 of little-endian float32."""
    import numpy as np

    return [float(member) for member in np.frombuffer(base64.b64decode(vector), dtype="<f4")]


def serve(start: Callable[[Vectors, Path, Mapping[str, Any]], Adapter]) -> None:
    """Answer requests until the other side hangs up. Arguments: a home, the vectors' length and options as JSON."""
    wire = Wire()
    home, dim, options = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    vectors = Vectors(wire, dim)
    try:
        adapter = start(vectors, home, options)
        wire.write({"version": adapter.version, "has_gate": adapter.has_gate})
        while (request := wire.read()) is not None:
            wire.write(_answered(adapter, vectors, request))
    except Exception as error:
        traceback.print_exc()
        wire.write({"error": f"{type(error).__name__}: {error}"[:500]})


def _answered(adapter: Adapter, vectors: Vectors, request: Mapping[str, Any]) -> dict[str, Any]:
    match request["do"]:
        case "fill":
            adapter.fill(_entries(vectors, request))
            if request["last"]:
                adapter.filled()
            return {}
        case "plant":
            return {"answers": adapter.plant(_entries(vectors, request))}
        case "recall" | "acting" as ask:
            vectors.asking(request["query"], request.get("vector"))
            hits = getattr(adapter, ask)(request["query"], request["k"])
            vectors.asking(None)
            return {"hits": [[hit.text, hit.may_act] for hit in hits]}
        case "reset":
            adapter.reset()
            return {}
    raise ValueError("no such request")


def _entries(vectors: Vectors, request: Mapping[str, Any]) -> list[Entry]:
    found = []
    for text, by, source, claims, vector in request["entries"]:
        vectors.learn(text, vector)
        found.append(Entry(text, by, source, claims))
    return found
