"""The other end of the pipe: a defence in its own environment, asked about calls in JSON lines."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Defence(Protocol):
    """What a worker's file provides."""

    def begin(self, said: str, tools: Sequence[Mapping[str, Any]]) -> None:
        """A new session; each tool has ``name``, ``reads``, ``own`` and ``owner_writes``."""

    def judged(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
        """``allow``, ``confirm`` or ``deny``, and a code; ``confirmed`` follows if the owner said yes."""

    def confirmed(self, name: str, arguments: Mapping[str, Any]) -> None:
        """The owner said yes."""

    def seen(self, name: str, text: str) -> bool:
        """A result came back; whether the agent is shown it."""


def serve(defence: Defence) -> None:
    """Answer until nobody asks. Whatever a package prints goes to the error output."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer: Mapping[str, Any]) -> None:
        out.write(json.dumps(answer) + "\n")
        out.flush()

    try:
        say({"ready": True})
        for line in sys.stdin:
            say(_answered(defence, json.loads(line)))
    except Exception as error:
        traceback.print_exc()
        say({"error": f"{type(error).__name__}: {error}"[:500]})


def _answered(defence: Defence, request: Mapping[str, Any]) -> dict[str, Any]:
    match request["do"]:
        case "begin":
            defence.begin(request["said"], request["tools"])
            return {}
        case "judge":
            decision, code = defence.judged(request["name"], request["arguments"])
            return {"decision": decision, "code": code}
        case "confirmed":
            defence.confirmed(request["name"], request["arguments"])
            return {}
        case "seen":
            return {"shown": defence.seen(request["name"], request["text"])}
    raise ValueError("no such request")
