"""What a call goes to: a tool, declared by the operator, or known by nothing but its name.

A tool reads or has effects. Without a declaration only one reading verb beside nouns reads (``list_files``, not
``get_or_create``); everything else has effects, so there is no list of dangerous names to be left off. A definition
that the operator pinned is known again by the hash of all of it, because a description is text that a model obeys.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from truekeep.errors import InvalidRequest
from truekeep.trust.flow.forms import name_words, tool_acts
from truekeep.trust.flow.reading import read_table

_ABBREVIATED = 3
"""Letters of a word that can only abbreviate a system's name; short verbs are in the table of acts."""
_LONGEST_NAME = 200  # names are split into words at every call
_HINT = "See the documentation of Tool for its fields."


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the operator declares it. ``name`` may be a pattern such as ``gmail_*``.

    ``reads``: the call changes nothing. ``own``: it goes to one of the owner's own systems. ``owner_writes``: fields
    of its results that nobody but the owner writes (``*``: all). ``server_ids``: more fields with ids the server makes.
    ``enums``: string fields of its results with a fixed set of values. ``targets`` and ``contents`` name arguments
    whose role the schema and the names do not tell. ``confirm`` asks always, ``trust_pointed`` lets targets through
    that stand in a document the owner pointed at.
    """

    name: str
    reads: bool | None = None
    own: bool = False
    owner_writes: tuple[str, ...] = ()
    server_ids: tuple[str, ...] = ()
    enums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    schema: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    targets: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    confirm: bool = False
    trust_pointed: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= _LONGEST_NAME:
            raise InvalidRequest("A tool needs a name of at most 200 characters.", hint=_HINT)
        for name in ("own", "confirm", "trust_pointed"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidRequest(f"A tool's {name} is true or false.", hint=_HINT)
        if self.reads not in (True, False, None):
            raise InvalidRequest("A tool's reads is true, false or not given.", hint=_HINT)
        if not isinstance(self.description, str):
            raise InvalidRequest("A tool's description is text.", hint=_HINT)
        for name in ("owner_writes", "server_ids", "targets", "contents"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        for name in ("enums", "schema"):
            if not isinstance(getattr(self, name), Mapping):
                raise InvalidRequest(f"A tool's {name} is a table.", hint=_HINT)
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        if set(self.targets) & set(self.contents):
            raise InvalidRequest("An argument is a target or a content, not both.", hint=_HINT)

    def is_owners(self, field_name: str) -> bool:
        """Whether nobody but the owner writes a field of its results; ``*`` stands for all of them."""
        return field_name in self.owner_writes or "*" in self.owner_writes

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def is_reading(self) -> bool:
        """Whether its calls change nothing: as declared, else by its name."""
        return reads_by_name(self.name) if self.reads is None else self.reads

    @property
    def digest(self) -> str:
        """The hash of the whole definition, which is what an operator pins."""
        return definition_hash(self.name, self.description, self.schema)

    def names(self, argument: str) -> bool:
        """Whether the declaration or its schema has an argument of that name."""
        declared = (*self.targets, *self.contents, *_table(_table(self.schema).get("properties", {})))
        return argument in declared

    def property_of(self, name: str) -> Mapping[str, Any]:
        """What the schema says about an argument; nothing if it says nothing."""
        found = _table(_table(self.schema).get("properties", {})).get(name, {})
        return _table(found)


def _names(what: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, (tuple, list, frozenset, set)):
        raise InvalidRequest(f"A tool's {what} is a list of names.", hint=_HINT)
    if not all(isinstance(name, str) and name for name in given):
        raise InvalidRequest(f"A tool's {what} holds names only.", hint=_HINT)
    return tuple(given)


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def definition_hash(name: str, description: str, schema: Mapping[str, Any]) -> str:
    """One hash over everything of a tool that a model reads."""
    whole = json.dumps([name, description, _plain(schema)], sort_keys=True, ensure_ascii=True, default=repr)
    return hashlib.sha256(whole.encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def tool_for(name: str, declared: Mapping[str, Tool]) -> Tool:
    """The declaration for a call's name: the exact one, else the longest pattern, else nothing but the name."""
    if name in declared:
        return declared[name]
    fitting = [pattern for pattern in declared if fnmatchcase(name, pattern)]
    if fitting:
        return declared[max(fitting, key=lambda pattern: (len(pattern.replace("*", "")), pattern))]
    return Tool(name)


@cache
def _tables() -> dict[str, frozenset[str]]:
    table = read_table("act", "tools.toml")
    return {name: frozenset(words.split()) for name, words in table.items() if name != "case"}


@lru_cache(maxsize=4_096)
def names_a_record(name: str) -> bool:
    """Whether a name is a system's and a record's, and no verb: ``tracker_issue``, ``wiki_page``."""
    words, tables = name_words(name), _tables()
    others = [word for word in words[:-1] if word not in tables["systems"] and len(word) > _ABBREVIATED]
    return len(words) > 1 and words[-1] in tables["records"] and not others


@lru_cache(maxsize=4_096)
def reads_by_name(name: str) -> bool:
    """Whether a name alone says that its tool reads: one reading verb beside nouns, or a thing one looks at."""
    words, tables = name_words(name), _tables()
    if not words or tables["joining"] & set(words):
        return False
    verbs = [word for word in words if word in tables["reading"]]
    acting = [word for word in words if word in tool_acts() and word not in tables["reading"]]
    nouns = tables["nouns"] | tables["things"] | tables["channels"]
    is_opening = tables["opening"].intersection(verbs) and words[-1] not in tables["opened"] | tables["things"]
    if is_opening or any(f"{verb}_{after}" in tables["acting"] for verb, after in pairwise(words)):
        return False
    if len(verbs) == 1:
        # After the reading verb a plural is what is read: "list_refunds" refunds nothing.
        after = words[words.index(verbs[0]) + 1 :]
        return all(word in nouns or (word in after and word.endswith("s")) for word in acting)
    if words[-1] in tables["facts"] and not acting and not verbs:
        return True
    known = tables["systems"] | tables["things"] | tables["channels"]
    others = [word for word in words[:-1] if word not in known and (len(word) > _ABBREVIATED or word in tool_acts())]
    return not verbs and words[-1] in tables["things"] and words[-1] not in tool_acts() and not others
