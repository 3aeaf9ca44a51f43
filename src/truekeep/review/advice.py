"""Under which code it is kept what to do so that something is otherwise next time; the words are the console's data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truekeep.types import AuditEvent

NOTHING_TO_DO = frozenset({"own_words", "corroborated"})
"""Codes of memories that are as somebody would want them."""


def memory_code(shown: Mapping[str, Any]) -> str:
    """The code of a memory as ``get_memory`` shows it."""
    if shown["blocked"]:
        return "unverified" if "unverified_record" in shown["block_reason"] else "blocked"
    if shown["may_act"]:
        return "own_words" if shown["standing"] == "owner" else "corroborated"
    if shown["retired_by"]:
        return "not_active"
    if shown["origin"]["channel"] == "agent":
        return "agents_note"
    return {"hearsay": "hearsay", "enrolled": "lone_witness"}.get(shown["standing"], "other")


def event_code(event: AuditEvent) -> tuple[str, str]:
    """The kind and the code of an event in which something was asked, held or refused; nothing for another one."""
    body = event.body
    if event.kind == "memory.rejected":
        return "refused", str(body.get("code", ""))
    if event.kind == "memory.held":
        return "held", str(body.get("code", ""))
    if event.kind == "action.judged" and body.get("decision") != "allow":
        return "calls", str(body.get("code", ""))
    return "", ""
