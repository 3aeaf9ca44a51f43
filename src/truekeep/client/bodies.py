"""Entries: what a caller passes, checked as an embedded keep does and put into the form that is sent.

Caps are the service's; it says so when something is over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from truekeep.candidate import KINDS, checked_json, checked_moment, checked_text, checked_words
from truekeep.config import Settings
from truekeep.errors import InvalidRequest, NotServed
from truekeep.intake import Fields
from truekeep.recall import Filters
from truekeep.types import utc_text

_ANY = 1 << 40
_UNCAPPED = Settings(fields_cap=_ANY, field_cap=_ANY)
_NAMES = tuple(Fields.__annotations__)


def entry(text: object, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A text with its fields, as the service takes it."""
    if unknown := set(fields) - set(_NAMES):
        raise InvalidRequest(f"{len(unknown)} unknown fields were passed.", hint=f"Fields: {', '.join(_NAMES)}.")
    kind = fields.get("kind", "semantic")
    if kind not in KINDS:
        raise InvalidRequest("No such kind of memory.", hint=f"Kinds: {', '.join(KINDS)}.", code="unknown_kind")
    members = {
        "text": checked_text(text, _ANY),
        "kind": kind,
        "principal": fields.get("principal"),
        "session": fields.get("session"),
        "topics": list(checked_words("topics", fields.get("topics", ()), _UNCAPPED)),
        "entities": list(checked_words("entities", fields.get("entities", ()), _UNCAPPED)),
        "metadata": checked_json("metadata", fields.get("metadata") or {}, _ANY),
        "as_of": moment("as_of", fields.get("as_of")),
        "expires_at": moment("expires_at", fields.get("expires_at")),
        "quote": fields.get("quote"),
        "parents": list(fields.get("parents", ())),
    }
    return {name: value for name, value in members.items() if value not in (None, [], {})}


def entries(given: Iterable[str | Mapping[str, Any]], shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A batch: texts, or fields that count before the shared ones."""
    singles = [{"text": one} if isinstance(one, str) else dict(one) for one in given]
    merged = [{"text": None, **shared, **single} for single in singles]
    return [entry(one.pop("text"), {name: one[name] for name in one if name != "via"}) for one in merged]


def filters(limits: Filters | None) -> dict[str, Any] | None:
    """The limits of a recall; a rule that is a function cannot travel."""
    if limits is None:
        return None
    if limits.where is not None:
        raise NotServed(
            "A filter that is a function works in an embedded keep only.", hint="Use the other filters over a service."
        )
    return {
        "kinds": sorted(limits.kinds),
        "topics": sorted(limits.topics),
        "entities": sorted(limits.entities),
        "channels": sorted(limits.channels),
        "since": moment("since", limits.since),
        "until": moment("until", limits.until),
        "metadata": dict(limits.metadata),
    }


def moment(name: str, given: object) -> str | None:
    """A moment as text; without a time zone nobody knows which one it is."""
    checked = checked_moment(name, given)
    return utc_text(checked) if checked is not None else None
