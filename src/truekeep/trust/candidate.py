"""Candidates: what a caller passed, checked and capped, before anything looks at what it says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import NoneType
from typing import Any

from truekeep.config import REASON_CAP, Settings
from truekeep.errors import InvalidRequest, InvalidText
from truekeep.text.view import GIVE_WAY
from truekeep.types import EARLIEST, LATEST, Candidate, Memory

KINDS = ("semantic", "episodic")
MOST_NESTED = 32
"""Levels of JSON. Whoever walks through it may do so by recursion, with room to spare."""
_MOST = 1 << 62
_MOST_VALUES = 250_000
"""More members in one JSON value than any host reports; walking them takes a tenth of a second."""
_LARGEST = 10**40
"""Whole numbers beyond this are no amount, account or count, and arithmetic with them has no bound."""
_PLAIN, _LISTS, _MAPPINGS = (str, int, float, NoneType), (list, tuple), (dict, Mapping)
"""Made once: a union that is written where it is asked for is made anew for each of tens of thousands of values."""
_STEP = 1_000
"""Values that are looked at in about a millisecond."""


def checked_text(text: object, cap: int) -> str:
    """A text that can be remembered, or the error that says why not. Never truncated."""
    if not isinstance(text, str):
        raise InvalidText("The text must be a string.", code="text_not_a_string")
    if not text.strip():
        raise InvalidText("The text is empty.", code="text_empty")
    if len(text) > cap:
        raise InvalidText(
            f"The text has {len(text):,} characters; the cap is {cap:,}.",
            code="text_too_long",
            hint="Split it into separate memories, or raise text_cap in the settings.",
        )
    if not _is_unicode(text):
        raise InvalidText(
            "The text is not valid Unicode: it has lone surrogates.",
            code="text_not_unicode",
            hint="Decode the source with its real encoding.",
        )
    return text


def checked_words(name: str, words: object, settings: Settings) -> tuple[str, ...]:
    """Topics or entities: a few short strings."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise InvalidRequest(f"{name} must be a list of strings.")
    listed = tuple(words)
    if len(listed) > settings.fields_cap:
        raise InvalidRequest(f"At most {settings.fields_cap} {name} are kept with a memory.")
    return tuple(checked_text(word, settings.field_cap) for word in listed)


def checked_metadata(metadata: object, settings: Settings) -> dict[str, Any]:
    """Metadata: a small JSON object."""
    return checked_json("metadata", metadata, settings.metadata_cap)


def checked_json(name: str, value: object, cap: int) -> dict[str, Any]:
    """A JSON object, as it will be read back."""
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{name} must be a mapping.")
    require_plain(value, name)
    try:
        encoded = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        encoded.encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        raise InvalidRequest(f"{name} must be plain JSON.", code=f"{name}_not_json") from None
    if len(encoded) > cap:
        raise InvalidRequest(f"{name} is over {cap:,} characters.", code=f"{name}_too_long")
    restored: dict[str, Any] = json.loads(encoded)
    return restored


def checked_reason(reason: object) -> str:
    """Why a person decided something: it stays in the audit log, so that it is a text and no document."""
    return checked_text(reason, REASON_CAP)


def require_plain(value: object, name: str) -> None:
    """Refuse JSON that somebody further on could not handle: too deep, too much, no numbers, no characters.

    It walks without recursion, so that the walk itself ends on whatever it is given, also on what contains itself.
    """
    level, seen = [value], 1
    for _ in range(MOST_NESTED + 1):
        inner: list[object] = []
        plain: list[object] = []
        for place, one in enumerate(level, 1):
            if not place % _STEP:
                GIVE_WAY.get()()
            if isinstance(one, _PLAIN):
                plain.append(one)
            elif isinstance(one, _LISTS):
                inner += one
            elif isinstance(one, _MAPPINGS):
                plain += one
                inner += one.values()
            if seen + len(inner) > _MOST_VALUES:
                raise _too_nested(name)
        _require_plain_values(plain, name)
        if not inner:
            return
        level, seen = inner, seen + len(inner)
    raise _too_nested(name)


def _too_nested(name: str) -> InvalidRequest:
    return InvalidRequest(
        f"{name} is nested too deeply or has too many values.",
        code="nested_too_deep",
        hint=f"At most {MOST_NESTED} levels and {_MOST_VALUES:,} values.",
    )


def _require_plain_values(values: list[object], name: str) -> None:
    texts = [value for value in values if isinstance(value, str)]
    if not all(map(str.isascii, texts)) and not all(map(_is_unicode, texts)):
        raise InvalidRequest(f"{name} has lone surrogates, which are no characters.", code=f"{name}_not_json")
    GIVE_WAY.get()()
    if not all(math.isfinite(value) for value in values if isinstance(value, float)):
        raise InvalidRequest(f"{name} has a number that is none in JSON.", code=f"{name}_not_json")
    GIVE_WAY.get()()
    if any(abs(value) >= _LARGEST for value in values if isinstance(value, int)):
        raise InvalidRequest(f"{name} has a number that is too large.", code="number_out_of_range")


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def checked_flag(name: str, value: object) -> bool:
    """True or false and nothing that merely counts as one of them: ``dry_run=0`` is a mistake, not a decision."""
    if not isinstance(value, bool):
        raise InvalidRequest(f"{name} is True or False.", code="invalid_flag")
    return value


def checked_moment(name: str, moment: object) -> datetime | None:
    """A moment with a time zone, as UTC, and one that can be reckoned with."""
    if moment is None:
        return None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidRequest(f"{name} must be a datetime with a time zone.", code="invalid_moment")
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        utc = None
    if utc is None or not EARLIEST <= utc <= LATEST:
        raise InvalidRequest(
            f"{name} is out of range.", code="invalid_moment", hint="Moments lie between the years 2 and 9899."
        )
    return utc


def checked_limit(limit: object) -> int | None:
    """How many are wanted at most; none for all."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < _MOST):
        raise InvalidRequest("A limit is a whole number that is not negative.", code="invalid_limit")
    return limit


def fields_of(candidate: Candidate | Memory) -> dict[str, str]:
    """Every text of a candidate or memory under its name, so that no field goes unscreened."""
    origin = candidate.origin
    fields = {"text": candidate.text}
    fields |= {f"topics[{at}]": word for at, word in enumerate(candidate.topics)}
    fields |= {f"entities[{at}]": word for at, word in enumerate(candidate.entities)}
    fields |= {
        f"origin.{name}": value
        for name, value in (
            ("principal", origin.principal),
            ("session", origin.session),
            ("message", origin.message),
            ("quote", origin.quote),
        )
        if value
    }
    _flatten("metadata", candidate.metadata, fields)
    return fields


def _flatten(path: str, value: Any, fields: dict[str, str]) -> None:
    if isinstance(value, Mapping):
        for at, (key, entry) in enumerate(value.items()):
            # Keys are text too; they get a field of their own instead of becoming part of a field's name.
            fields[f"{path}.key{at}"] = str(key)
            _flatten(f"{path}.value{at}", entry, fields)
    elif isinstance(value, list):
        for at, entry in enumerate(value):
            _flatten(f"{path}[{at}]", entry, fields)
    elif isinstance(value, str) and value:
        fields[path] = value
