"""What mem0's methods take, checked: messages, ids in filters, days and counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from truekeep.adapters.mem0.scope import IDS, MemoryScope
from truekeep.errors import InvalidRequest

UNSET = object()
"""For an argument that was not given, where ``None`` means something."""
MOST = 10_000
"""Memories that are looked through for one answer."""


def messages_of(given: Any) -> list[dict[str, str]]:
    """Messages as mem0 takes them: a text, one message or several."""
    listed = (
        [{"role": "user", "content": given}]
        if isinstance(given, str)
        else [given]
        if isinstance(given, dict)
        else given
    )
    if not isinstance(listed, list) or not all(_is_message(one) for one in listed):
        raise InvalidRequest(
            "The messages cannot be used.",
            code="invalid_messages",
            hint="Pass a text, or messages with a role and a text as content.",
        )
    return [{"role": str(one["role"]), "content": str(one["content"])} for one in listed if one["content"].strip()]


def _is_message(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("role"), str) and isinstance(one.get("content"), str)


def only_none(**given: Any) -> None:
    """What mem0's hosted platform or a model would do, and nothing here does, is refused rather than ignored."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise InvalidRequest(f"'{named[0]}' is not supported.", code="not_supported", hint="Leave it out.")


def asked(filters: Mapping[str, Any] | None, others: Mapping[str, Any]) -> tuple[MemoryScope, dict[str, Any]]:
    """The scope and the metadata that are looked for."""
    if others:
        raise ValueError("The ids go into filters={'user_id': …}, as in mem0.")
    given = dict(filters or {})
    scope = MemoryScope.of(given)
    wanted = {name: value for name, value in given.items() if name not in IDS}
    if any(isinstance(value, dict | list) or name in ("AND", "OR", "NOT") for name, value in wanted.items()):
        raise InvalidRequest(
            "Only filters by equal values are supported.", code="not_supported", hint="Use {'name': value}."
        )
    return scope, wanted


def fits(item: Mapping[str, Any], scope: MemoryScope, wanted: Mapping[str, Any], show_expired: bool) -> bool:
    """Whether a memory is within a scope, has the metadata, and is not over."""
    metadata, until = item["metadata"] or {}, item.get("expiration_date")
    is_over = until is not None and date.fromisoformat(until) < datetime.now(UTC).date()
    same = all(name in metadata and metadata[name] == value for name, value in wanted.items())
    return scope.fits(item) and same and (show_expired or not is_over)


def day(given: Any) -> str | None:
    """A day as mem0 has it: YYYY-MM-DD."""
    if given is None:
        return None
    try:
        return date.fromisoformat(given if isinstance(given, str) else given.strftime("%Y-%m-%d")).isoformat()
    except (AttributeError, ValueError):
        raise ValueError("expiration_date must be a day in the form YYYY-MM-DD.") from None


def count(top_k: Any) -> int:
    """How many are wanted at most."""
    if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= MOST:
        raise ValueError(f"top_k must be a whole number from 1 to {MOST:,}.")
    return top_k
