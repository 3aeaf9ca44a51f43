"""Calls as plain values: checked, copied and typed once, so that what is judged is what the tool is given."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from truekeep.errors import InvalidRequest

MOST_DEPTH = 8  # deeper than honest arguments are, and far from the interpreter's own limit
MOST_VALUES = 256  # each is judged while the agent waits
MOST_CHARACTERS = 32_000
"""A call is judged value by value while the agent waits; larger ones are split by whoever makes them."""
_NAME = re.compile(r"[^\W\d][\w.:/-]{0,127}")


def checked_name(name: object) -> str:
    """The action's name, or a refusal."""
    if not isinstance(name, str) or not _NAME.fullmatch(plain := _text(name)):
        raise InvalidRequest(
            "The action's name cannot be used.",
            code="invalid_action",
            hint="Use the tool's name: 1 to 128 letters, digits or _.:/-, beginning with a letter.",
        )
    return plain


def plain_arguments(arguments: object) -> dict[str, Any]:
    """A copy of the arguments in JSON's own types. A value that lies about itself is what it prints."""
    if not isinstance(arguments, Mapping):
        raise _not_json("The arguments must be a mapping of names to values.")
    room = [MOST_VALUES, MOST_CHARACTERS]
    copied = {_key(name): _plain(value, 1, room) for name, value in arguments.items()}
    try:
        json.dumps(copied, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise _not_json("The arguments are not valid Unicode: they have lone surrogates.") from None
    return copied


def canonical_call(name: str, arguments: Mapping[str, Any]) -> bytes:
    """The bytes a ticket is bound to: equal for equal calls, whatever the order of the names.

    The arguments are plain ones already.
    """
    body = [checked_name(name), arguments]
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()


def _plain(value: Any, depth: int, room: list[int]) -> Any:
    if depth > MOST_DEPTH:
        raise InvalidRequest(
            "The arguments are nested too deeply.",
            code="arguments_too_deep",
            hint=f"At most {MOST_DEPTH} levels, and no structure that contains itself.",
        )
    if isinstance(value, Mapping):
        return {_key(key): _plain(inner, depth + 1, room) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, depth + 1, room) for inner in value]
    scalar = _scalar(value)
    room[0] -= 1
    room[1] -= len(scalar) if isinstance(scalar, str) else 8
    if min(room) < 0:
        raise InvalidRequest(
            "The arguments are too large to be traced.",
            code="arguments_too_large",
            hint=f"At most {MOST_VALUES} values and {MOST_CHARACTERS} characters; split the call.",
        )
    return scalar


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise _not_json("Names of arguments must be strings.")
    return _text(key)


def _scalar(value: Any) -> str | int | float | bool | None:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        number = value if type(value) is int else _printed(value, int)
        if isinstance(number, int) and abs(number) >= 10**40:
            raise _not_json("A number in the arguments is too large.")
        return number
    if isinstance(value, float):
        number = value if type(value) is float else _printed(value, float)
        if isinstance(number, str) or math.isfinite(number):
            return number
    raise _not_json("The arguments must be JSON: mappings, lists, strings, finite numbers, booleans and null.")


def _text(value: object) -> str:
    """What a value prints, as plain text: what it prints may itself be a text that lies about itself."""
    return str.__str__(str(value))


def _printed(value: Any, kind: type[Any]) -> Any:
    text = _text(value)
    try:
        return kind(text)
    except ValueError:
        return text


def _not_json(message: str) -> InvalidRequest:
    return InvalidRequest(message, code="arguments_not_json", hint="Pass what json.dumps would accept.")
