"""What a reader makes of another memory: entries in one shape, and why something was left out.

Pure. A reader gives values as they stand in the source; what of them fits into a memory is decided in one place
(``moving.py``), so that every format has the same caps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

_MILLISECONDS = 100_000_000_000
"""Seconds since 1970 reach this in the year 5138, so that a larger number counts milliseconds."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One entry of another memory."""

    text: str
    id: str = ""
    """What the source calls it; nothing where entries have no ids."""
    as_of: datetime | None = None
    expires_at: datetime | None = None
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    kind: str = "semantic"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    mapped: tuple[str, ...] = ()
    """The fields of the source that were taken over."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in the source that no memory is made of."""

    reason: str


Read = Iterator[SourceEntry | Skipped]


def moment(value: object) -> datetime | None:
    """A moment as stores write it: ISO 8601, a day, or seconds since 1970; without a zone it is UTC."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
        except (OverflowError, ValueError, OSError):
            return None
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def words(value: object) -> tuple[str, ...]:
    """Topics as stores have them: a list, or names with commas between."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        return ()
    return tuple(dict.fromkeys(one.strip() for one in value if isinstance(one, str) and one.strip()))


def entry_of(
    record: Mapping[str, Any],
    *,
    text: str,
    ids: Iterable[str] = ("id",),
    as_of: Iterable[str] = (),
    expires_at: Iterable[str] = (),
    topics: Iterable[str] = (),
    entities: Iterable[str] = (),
    kind: str = "semantic",
    dropped: Iterable[str] = (),
) -> SourceEntry | Skipped:
    """An entry made of a record, given the names of its fields; of several names the first that is filled counts.

    What no name claims is kept as metadata, but for what is only the store's own working (``dropped``).
    """
    said = record.get(text)
    if not isinstance(said, str) or not said.strip():
        return Skipped("no_text")
    taken = {text}

    def first(names: Iterable[str]) -> Any:
        for name in names:
            if record.get(name) not in (None, "", []):
                taken.add(name)
                return record[name]
        return None

    named, held, ends = first(ids), moment(first(as_of)), moment(first(expires_at))
    listed, about = words(first(topics)), words(first(entities))
    rest = {name: value for name, value in record.items() if name not in taken and name not in set(dropped)}
    nested = rest.pop("metadata", None)
    if isinstance(nested, Mapping):
        rest = {**rest, **nested}
        taken.add("metadata")
    kept = {str(name): value for name, value in rest.items() if value not in (None, "", [], {})}
    return SourceEntry(
        text=said,
        id=str(named) if isinstance(named, str | int) else "",
        as_of=held,
        expires_at=ends,
        topics=listed,
        entities=about,
        kind=kind,
        metadata=kept,
        mapped=(*sorted(taken), *sorted(kept.keys() - taken)),
    )
