"""Take a call's arguments apart into single values, within limits and with clear refusals."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from truekeep.action.kinds import is_keyed, role_of
from truekeep.errors import InvalidRequest

MOST_DEPTH = 8
MOST_VALUES = 256
MOST_CHARACTERS = 32_000
_PLAIN_KEY = re.compile(r"[A-Za-z_]{1,64}\d{0,2}")
_NAME = re.compile(r"[^\W\d][\w.:/-]{0,127}")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zà-ž]+|[^\W\d_a-zA-Z]+|\d+")

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value in a call: its path, the words of the name it goes by, and the container it stands in."""

    path: str
    top: str
    name_words: tuple[str, ...]
    value: Scalar
    container: str


def name_words(name: str) -> tuple[str, ...]:
    """The words in a name: ``approveRefund_v2`` is approve, refund, v, 2."""
    return tuple(part.casefold() for part in _PARTS.findall(name))


def checked_name(name: object) -> str:
    """The action's name, or a refusal."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequest(
            "The action's name cannot be used.",
            code="invalid_action",
            hint="Use the tool's name: 1 to 128 letters, digits or _.:/-, beginning with a letter.",
        )
    return name


def leaves(arguments: object) -> tuple[Leaf, ...]:
    """All values of the arguments, in order; keys that are no names of fields count as values too."""
    if not isinstance(arguments, Mapping):
        raise _not_json("The arguments must be a mapping of names to values.")
    _require_unicode(arguments)
    found: list[Leaf] = []
    characters = 0
    for leaf in _walk(arguments, _Here()):
        found.append(leaf)
        characters += len(leaf.value) if isinstance(leaf.value, str) else 8
        if len(found) > MOST_VALUES or characters > MOST_CHARACTERS:
            raise InvalidRequest(
                "The arguments are too large to be traced.",
                code="arguments_too_large",
                hint=f"At most {MOST_VALUES} values and {MOST_CHARACTERS} characters; split the call.",
            )
    return tuple(found)


def _require_unicode(arguments: Mapping[Any, Any]) -> None:
    """A lone surrogate is no text: nobody can have said it, and a call with it cannot be written down."""
    try:
        repr_of = json.dumps(arguments, ensure_ascii=False, default=str)
        repr_of.encode("utf-8")
    except UnicodeEncodeError:
        raise _not_json("The arguments are not valid Unicode: they have lone surrogates.") from None
    except (TypeError, ValueError, RecursionError):
        return  # what else is wrong with them is said where they are looked at


@dataclass(frozen=True, slots=True)
class _Here:
    """Where the walk is."""

    path: str = ""
    top: str = ""
    words: tuple[str, ...] = ()
    container: str = ""
    depth: int = 0

    def leaf(self, value: Scalar) -> Leaf:
        return Leaf(self.path, self.top, self.words, value, self.container)


def _walk(value: Any, here: _Here) -> Iterator[Leaf]:
    if here.depth > MOST_DEPTH:
        raise InvalidRequest(
            "The arguments are nested too deeply.",
            code="arguments_too_deep",
            hint=f"At most {MOST_DEPTH} levels, and no structure that contains itself.",
        )
    if isinstance(value, Mapping):
        for place, (key, inner) in enumerate(value.items()):
            yield from _member(key, inner, place, here)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            inside = replace(here, path=f"{here.path}[{place}]", container=here.path, depth=here.depth + 1)
            yield from _walk(inner, inside)
    else:
        yield here.leaf(_scalar(value))
    if value in ({}, [], ()) and here.path:
        yield here.leaf(None)


def _member(key: Any, inner: Any, place: int, here: _Here) -> Iterator[Leaf]:
    if not isinstance(key, str):
        raise _not_json("Names of arguments must be strings.")
    is_plain = _PLAIN_KEY.fullmatch(key) is not None and (not is_keyed(here.words) or bool(role_of(name_words(key))))
    # A path is shown to people, so a key that is not a plain name is numbered instead of repeated.
    part = key if is_plain else f"(key {place})"
    path = f"{here.path}.{part}" if here.path else part
    inside = _Here(path, here.top or key, name_words(key) or here.words, here.path, here.depth + 1)
    if not is_plain:
        yield Leaf(path, inside.top, here.words, key, here.path)
    yield from _walk(inner, inside)


def _scalar(value: Any) -> Scalar:
    if value is None or isinstance(value, bool | str | int):
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**40:
            raise _not_json("A number in the arguments is too large.")
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise _not_json("The arguments must be JSON: mappings, lists, strings, finite numbers, booleans and null.")


def _not_json(message: str) -> InvalidRequest:
    return InvalidRequest(message, code="arguments_not_json", hint="Pass what json.dumps would accept.")


def canonical_call(name: str, arguments: Mapping[str, Any]) -> bytes:
    """The bytes a ticket is bound to: equal for equal calls, whatever the order of the names."""
    leaves(arguments)
    body = [checked_name(name), _plain(arguments)]
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
