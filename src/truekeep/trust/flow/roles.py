"""Take a call's arguments apart and say what each value is: a target, content, a flag, or neither.

By the tool's declaration first, then its schema, then the argument's name, then the value's shape. What nothing
speaks for is a target: unknown is unsafe. Data hides in nested tables, lists and keys, so all of them are walked.
What is proved is noted by path, so no two values of a call share one: else the proof of one would be the other's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest
from truekeep.trust import fence
from truekeep.trust.flow.forms import name_words
from truekeep.trust.flow.reading import read_table

if TYPE_CHECKING:
    from truekeep.trust.flow.tools import Tool

_MOST_LEAVES = 2_000  # of one call, all of which are judged
_DEEPEST = 24  # far from the interpreter's own limit
_LONGEST_CHOICE = 40  # letters of a word out of a list
# A name as programs give them. Three digits in a row are part of a number, not of a name ("line2", "utf8").
_PLAIN_NAME = re.compile(r"(?!.*\d{3})[^\W\d][\w-]{0,63}")
_SETTING = re.compile(r"(?:Africa|America|Asia|Atlantic|Australia|Europe|Pacific|Etc)/[A-Za-z_/]+|UTC|text/[a-z]+")
"""Values that say how by their shape: time zones and kinds of text."""
Scalar = str | int | float | bool | None


class ArgumentRole(StrEnum):
    """What a value is in a call."""

    TARGET = "target"
    WHOLE = "whole"
    """A command, code, prompt or filter: a target that only the owner's whole wording proves."""
    CONTENT = "content"
    FLAG = "flag"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class ArgumentLeaf:
    """One value of a call: the dotted path of its argument, the role, and whether it widens what the call does."""

    path: str
    top: str
    key: str
    value: Scalar
    role: ArgumentRole
    widens: bool = False

    @property
    def text(self) -> str:
        """The value as text; a whole float is its integer."""
        if isinstance(self.value, float) and self.value.is_integer():
            return str(int(self.value))
        return "" if self.value is None else str(self.value)


@cache
def words_of(table: str) -> frozenset[str]:
    """One table of names; ``max_results`` is there as one word of letters."""
    return frozenset(word.replace("_", "") for word in read_table("act", "roles.toml")[table].split())


@cache
def currencies() -> Mapping[str, frozenset[str]]:
    """The codes of currencies with the words and signs for each."""
    return {code: frozenset(words.split()) for code, words in read_table("act", "roles.toml")["currencies"].items()}


@cache
def money_words() -> frozenset[str]:
    """Words and signs for all currencies."""
    return frozenset().union(*currencies().values())


def leaves(tool: Tool, arguments: Mapping[str, Any]) -> tuple[ArgumentLeaf, ...]:
    """Every value in the arguments with its role, in order, each under a path of its own."""
    found: list[ArgumentLeaf] = []
    paths: set[str] = set()
    for name, value in arguments.items():
        for path, key, scalar, is_key in _argument(tool, str(name), value):
            role, is_wide = (ArgumentRole.TARGET, False) if is_key else _role(tool, str(name), key, scalar)
            found.append(ArgumentLeaf(path, str(name), key, scalar, role, is_wide))
            paths.add(fence.one_line(path))  # as the owner is shown it
            if len(found) > _MOST_LEAVES:
                raise InvalidRequest("A call has too many values.", hint="Split it into smaller calls.")
            if len(paths) < len(found):
                # "to[0]" beside "to": ["…"] would be judged, and the other one used.
                raise InvalidRequest(
                    "Two values of a call go by the same name.",
                    code="argument_twice",
                    hint="Give every argument a name of its own, in visible characters.",
                )
    return tuple(found)


def _argument(tool: Tool, name: str, value: Any) -> Iterator[tuple[str, str, Scalar, bool]]:
    if not (_PLAIN_NAME.fullmatch(name) or tool.names(name)):
        yield _named_at(name), name, name, True
    yield from _walk(name, name, value, 0)


def _walk(path: str, key: str, value: Any, depth: int) -> Iterator[tuple[str, str, Scalar, bool]]:
    if depth > _DEEPEST:
        raise InvalidRequest("A call's arguments are nested too deeply.", hint="Flatten them.")
    if isinstance(value, Mapping):
        for inner, content in value.items():
            # Where a table maps parties to something, or a key is no plain name, the key itself is data.
            if _words(key) & words_of("keyed") or not _PLAIN_NAME.fullmatch(str(inner)):
                yield _named_at(f"{path}.{inner}"), key, str(inner), True
            yield from _walk(f"{path}.{inner}", str(inner), content, depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for place, content in enumerate(value):
            yield from _walk(f"{path}[{place}]", key, content, depth + 1)
    else:
        yield path, key, _scalar(value), False


def _named_at(path: str) -> str:
    """The path of a name that is data, beside that of what it names."""
    return f"{path} (the name)"


def _scalar(value: object) -> Scalar:
    """A value as what it prints: a subclass of ``int`` that lies about itself is what its text says."""
    if value is None or value is True or value is False:
        return value
    if type(value) in (int, float, str):
        return value  # type: ignore[return-value]
    return str(value)


@lru_cache(maxsize=4_096)
def _words(name: str) -> frozenset[str]:
    words = name_words(name)
    return frozenset({*words, "".join(words)})


def _named(key: str, table: str) -> bool:
    """Whether an argument's whole name, or its last word, is in a table."""
    words = name_words(key)
    return bool(words) and ("".join(words) in words_of(table) or words[-1] in words_of(table))


def _role(tool: Tool, top: str, key: str, value: Scalar) -> tuple[ArgumentRole, bool]:
    is_wide = widens(key, value)
    if {key, top} & set(tool.contents):
        return ArgumentRole.CONTENT, False
    if {key, top} & set(tool.targets):
        return ArgumentRole.TARGET, is_wide
    if isinstance(value, bool):
        return _flag(tool, key, value)
    described = tool.property_of(key)
    is_default = "default" in described and described["default"] == value
    is_choice = value in (described.get("enum") or ()) and not is_wide
    if value is None or is_default or is_choice:
        return ArgumentRole.NEITHER, False
    return _by_name(key, value, is_wide)


def _by_name(key: str, value: Scalar, is_wide: bool) -> tuple[ArgumentRole, bool]:
    if _named(key, "whole"):
        return ArgumentRole.WHOLE, is_wide
    if _named(key, "content") and isinstance(value, str):
        return ArgumentRole.CONTENT, False
    if isinstance(value, str) and (value.upper() in currencies() or _SETTING.fullmatch(value)):
        return ArgumentRole.NEITHER, False
    is_size = not isinstance(value, str) and _named(key, "sizes")
    if not is_wide and (is_size or _named(key, "neutral") or (value == 1 and _named(key, "count"))):
        return ArgumentRole.NEITHER, False
    return ArgumentRole.TARGET, is_wide


def _flag(tool: Tool, key: str, value: bool) -> tuple[ArgumentRole, bool]:
    described = tool.property_of(key)
    if "default" in described:
        return (ArgumentRole.NEITHER, False) if described["default"] is value else (ArgumentRole.FLAG, True)
    if widens(key, value):
        return ArgumentRole.FLAG, True
    is_quiet = value is False or bool(_words(key) & words_of("harmless"))
    return (ArgumentRole.NEITHER if is_quiet else ArgumentRole.FLAG), False


def is_place(key: str) -> bool:
    """Whether an argument says where a command runs."""
    return bool(_words(key) & words_of("working"))


def widens(key: str, value: Scalar) -> bool:
    """Whether a value opens something up: a widening flag that is on, a guarding one that is off, a wide choice."""
    words = _words(key)
    if isinstance(value, bool):
        negated = bool(words & {"no", "not", "without", "skip", "disable"})
        if words & words_of("guarding"):
            return value is negated
        return value and bool(words & words_of("widening"))
    if isinstance(value, str) and len(value) <= _LONGEST_CHOICE:
        return bool(_words(value) & words_of("widening")) or value.strip() == "*"
    return False
