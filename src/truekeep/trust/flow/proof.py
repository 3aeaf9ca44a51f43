"""Prove a call's values by one request, each by its shape: a flag, a command, a moment, a number, a path, a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truekeep.trust.flow.evidence import ValueOrigin
from truekeep.trust.flow.index import naming
from truekeep.trust.flow.moments import in_other_units, moment_of, prove_moment
from truekeep.trust.flow.own_records import prove_record
from truekeep.trust.flow.reading import TextReading, read
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole, words_of
from truekeep.trust.flow.structure import has_substitution, simple_commands
from truekeep.trust.flow.tools import name_words

if TYPE_CHECKING:
    from truekeep.trust.flow.scope import RequestScope

_MOST_SEGMENTS = 16
"""Parts of a path that are looked at; nobody dictates a longer one."""


def prove(scope: RequestScope, leaf: ArgumentLeaf) -> ValueOrigin | None:
    """Where a value of the call is proved, or None."""
    if leaf.role is ArgumentRole.FLAG:
        return _flag(scope, leaf)
    value = read(leaf.text)
    if not value.flat.strip() or value.flat.strip() in words_of("defaults") or _is_top(leaf.key, value):
        return ValueOrigin.NEITHER
    if scope.evidence.is_confirmed(value.flat):
        return ValueOrigin.CONFIRMED
    return _by_shape(scope, leaf, value)


def _is_top(key: str, value: TextReading) -> bool:
    """Whether a folder is the one that everything is in when nobody names another."""
    return value.flat.strip() == "root" and bool(frozenset(name_words(key)) & words_of("folders"))


def _by_shape(scope: RequestScope, leaf: ArgumentLeaf, value: TextReading) -> ValueOrigin | None:
    if leaf.role is ArgumentRole.WHOLE:
        return _whole(scope, leaf.text) or _rhythm(scope, leaf, value)
    if (moment := moment_of(leaf.text)) != (None, None):
        return prove_moment(scope, leaf, *moment) or prove_record(scope, value, leaf.key)
    if leaf.widens and not value.sole:
        return ValueOrigin.REQUEST if scope.says_in_row(value) else None
    return _text(scope, leaf, value) if isinstance(leaf.value, str) else _number(scope, leaf, value)


def _flag(scope: RequestScope, leaf: ArgumentLeaf) -> ValueOrigin | None:
    words = naming(name_words(leaf.key), words_of("shared_words"))
    return ValueOrigin.REQUEST if words and words <= scope.stems else None


def _whole(scope: RequestScope, text: str) -> ValueOrigin | None:
    """A command or code: each command of it stands whole in the owner's words or an acting passage."""
    if has_substitution(text):
        return None
    origins = [scope.plain(read(part)) for part in simple_commands(text)]
    return max(origins, key=_worse) if origins and all(origins) else None


def _worse(origin: ValueOrigin | None) -> int:
    return list(ValueOrigin).index(origin) if origin else len(ValueOrigin)


def _rhythm(scope: RequestScope, leaf: ArgumentLeaf, value: TextReading) -> ValueOrigin | None:
    """A recurrence: every word of it that is no syntax is one the request says."""
    if not frozenset(name_words(leaf.key)) & words_of("rhythm"):
        return None
    words = naming(value.words, words_of("rhythm"))
    return ValueOrigin.REQUEST if words and words <= scope.stems else None


def _number(scope: RequestScope, leaf: ArgumentLeaf, value: TextReading) -> ValueOrigin | None:
    if found := scope.plain(value, leaf.key):
        return found
    counted = any(v.kind == "num" for v in scope.own.values_in(scope.clause))
    if leaf.value == 1 and not counted and naming(name_words(leaf.key), frozenset()) & scope.clause_stems:
        return ValueOrigin.REQUEST  # "an hour", "a day"
    if any(scope.says(read(spelt)) for spelt in in_other_units(leaf)):
        return ValueOrigin.REQUEST
    return prove_record(scope, value, leaf.key)


def _text(scope: RequestScope, leaf: ArgumentLeaf, value: TextReading) -> ValueOrigin | None:
    return (
        scope.plain(value, leaf.key)
        or (ValueOrigin.REQUEST if not value.sole and scope.says_in_row(value) else None)
        or (_path(scope, value) if "/" in value.flat else None)
        or (ValueOrigin.MEMORY if not value.sole and _named_in_memory(scope, value) else None)
        or prove_record(scope, value, leaf.key)
    )


def _named_in_memory(scope: RequestScope, value: TextReading) -> bool:
    """Whether a name is put together from the request's words and one passage about its party."""
    words = naming(value.words, words_of("shared_words"))
    if not words & scope.stems:
        return False
    return any(words <= scope.stems | held.reading.stems for held in scope.linked)


def _path(scope: RequestScope, value: TextReading) -> ValueOrigin | None:
    """A path put together from one that is proved and names that the owner said."""
    segments = value.flat.strip().split("/")
    if len(segments) > _MOST_SEGMENTS or ".." in segments:
        return None
    for cut in range(len(segments) - 1, 0, -1):
        front, rest = read("/".join(segments[:cut])), segments[cut:]
        if front.flat.strip("~/.") and scope.plain(front, "path") and _segments(scope, rest):
            return ValueOrigin.MEMORY
    return None


def _segments(scope: RequestScope, segments: list[str]) -> bool:
    if scope.plain(read("/".join(segments))):
        return True
    return all(_segment(scope, name) for name in segments)


def _segment(scope: RequestScope, name: str) -> bool:
    front, dot, ending = name.rpartition(".")
    readings = [read(name)]
    if dot and ending in words_of("endings"):
        readings.append(read(front.replace("_", " ").replace("-", " ")))
    words = naming(readings[-1].words, frozenset()) if len(readings) > 1 else frozenset()
    is_named = bool(words) and words <= scope.own.reading.stems
    return is_named or any(scope.plain(reading) or scope.says_in_row(reading) for reading in readings)
