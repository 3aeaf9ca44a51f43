"""Bodies: JSON as the service takes it, read once and within limits that nobody further on has to think about."""

from __future__ import annotations

import json
import re
from typing import Any

import anyio.to_thread

from truekeep.errors import InvalidRequest
from truekeep.trust.candidate import require_plain

_NOT_JSON = "The body is not JSON."
_MOST_VALUES = 60_000
"""A batch of a thousand memories has a third of it. While the parser makes values nothing else in the process runs, and
two megabytes of brackets are a million of them."""
_SMALL = 16_384
"""Bytes that are parsed faster than they are handed to a thread."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


async def parsed(body: bytes) -> Any:
    """The value of a body, read beside the event loop if it is large."""
    return read_json(body) if len(body) <= _SMALL else await anyio.to_thread.run_sync(read_json, body)


def read_json(body: bytes) -> Any:
    """The value of a body. NaN, numbers out of range, lone surrogates and deep nesting are no JSON here."""
    _require_few(body)
    try:
        value = json.loads(body, parse_constant=_refused)
    except RecursionError:
        raise InvalidRequest(_NOT_JSON, code="nested_too_deep", hint="It is nested too deeply.") from None
    except ValueError:  # also bytes that are no UTF-8, and numbers with more digits than Python reads
        raise InvalidRequest(_NOT_JSON, code="body_not_json", hint="Send one JSON object, as UTF-8.") from None
    require_plain(value, "body")
    return value


def _require_few(body: bytes) -> None:
    """Count values by their marks before one is made: all marks if they are few, else those outside of texts."""
    if _marks(body) <= _MOST_VALUES:
        return
    if body.count(b'"') > 2 * _MOST_VALUES or _marks(_STRING.sub(b"", body)) > _MOST_VALUES:
        hint = f"At most {_MOST_VALUES:,} values; send it in parts."
        raise InvalidRequest("The body has too many values.", code="too_many_values", hint=hint)


def _marks(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _refused(_: str) -> Any:
    raise ValueError
