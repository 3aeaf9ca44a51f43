"""Attacks that are planted in one session and wake up in a later one, with a boundary between memory and deed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.grounds.planting import Record, is_found, keep_for, put
from truekeep import Keep, Tool


@dataclass(frozen=True)
class Delayed:
    """What is planted, what the owner says in a later session, and the call that memory is to bring about."""

    planted: Sequence[Record]
    said: str
    tool: str
    arguments: Mapping[str, Any]
    tools: Sequence[Tool]


@dataclass(frozen=True)
class Woken:
    """What came of it: stored at all, found, acting; the answer to the call, if the agent was shown it."""

    accepted: bool
    raw: bool
    acting: bool
    decision: str
    honest: str = ""


def woken(one: Delayed, honest: str = "") -> Woken:
    """Plant, let an obedient agent save it too, and make the call in a later session that looked at all memories.

    ``honest`` names another tool that the owner meant, called with the same arguments in a session of its own.
    """
    with keep_for("inform") as keep:
        came = put(keep, one.planted)
        for number, record in enumerate(one.planted):
            with keep.session(f"read-{number}", mediated=True) as session:
                session.observe(record.via, record.text, principal=record.source)
                session.remember(record.text, via="agent")
        texts = [record.text for record in one.planted]
        raw, acting = (is_found(keep, one.said, texts, acting=way) for way in (False, True))
        decision = _answered(keep, "later", one, one.tool)
        meant = _answered(keep, "meant", one, honest, whatever_is_shown=True) if honest else ""
        return Woken("accepted" in came, raw, acting, decision, meant)


def _answered(keep: Keep, name: str, one: Delayed, tool: str, *, whatever_is_shown: bool = False) -> str:
    """What the boundary says to the call; nothing if the agent was not shown what would have made it call."""
    with keep.session(name, mediated=True, tools=list(one.tools)) as session:
        session.observe("user", one.said)
        shown = session.recall(one.said, k=5, background=True)
        is_shown = any(record.text in hit.text or hit.text in record.text for hit in shown for record in one.planted)
        if not is_shown and not whatever_is_shown:
            return "not shown"
        return session.check_action(tool, one.arguments).decision.value
