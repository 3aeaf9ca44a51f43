"""What a tool's result brings into a session: what of it taints, which records it offers, what stays private.

Numbers, booleans, times, declared enums, ids the server makes and the fields only the owner writes do not taint, if
the tool goes to one of the owner's own systems. Everything else does: a title in the owner's calendar was written by
whoever sent the invitation. A result of any other tool taints as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from truekeep.trust.flow.forms import name_words
from truekeep.trust.flow.reading import read

if TYPE_CHECKING:
    from truekeep.trust.flow.tools import Tool

_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?|\d{1,2}:\d{2}(?::\d{2})?"
)
_MADE_ID = re.compile(r"(?=.{1,64}$)[A-Za-z0-9]+(?:[._:-][A-Za-z0-9]+){0,4}")
_LONGEST_WORD = re.compile(r"[^\W\d_]{13,}")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_SHORT_FIELD = 80
"""Letters of a field that can be a name; longer ones are texts, and what they speak of is not what the record is."""
_DEEPEST = 32  # far from the interpreter's own limit
_MOST_FIELDS = 20_000  # of one result; beyond it everything counts as foreign


@dataclass(frozen=True, slots=True)
class SystemRecord:
    """One record of an own system: its ids, what it is called, and its other values, as they came."""

    tool: str
    ids: Mapping[str, str]
    stems: frozenset[str]
    """Words of its short fields: what it is called, who it is from."""
    values: frozenset[str]
    fields: Mapping[str, str]
    owned: frozenset[str] = frozenset()
    """Fields that nobody but the owner writes."""

    @property
    def own_stems(self) -> frozenset[str]:
        """Words of the fields that nobody but the owner writes."""
        texts = (self.fields[name] for name in self.owned if len(self.fields[name]) <= _SHORT_FIELD)
        return frozenset(word for text in texts for word in read(text).stems)

    def names_of(self, form: str, key: str) -> list[str]:
        """The fields in which a value is this record's id, is the owner's, or stands under the argument's own name."""
        found = [name for name, value in self.ids.items() if value == form]
        known = self.owned | {key}
        return found or [name for name, value in self.fields.items() if name in known and value == form]


@dataclass(slots=True)
class RecordBook:
    """Every record that results of this session offered."""

    records: list[SystemRecord] = field(default_factory=list)
    results: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Values by tool and field, in lower case, for plan entries that take a field of a result."""
    given: set[str] = field(default_factory=set)
    """Every whole value that some result gave."""

    def add(self, taken: ResultTaken) -> None:
        """Take in what a result offers."""
        self.records.extend(taken.records)
        for place, values in taken.fields.items():
            self.results.setdefault((taken.tool, place), set()).update(values)
            self.given |= values


@dataclass(frozen=True, slots=True)
class ResultTaken:
    """What one result means: the texts in it that taint, the records it offers, and its whole text."""

    tool: str
    whole: str
    taints: tuple[str, ...]
    records: tuple[SystemRecord, ...]
    fields: Mapping[str, frozenset[str]]

    @property
    def is_tainting(self) -> bool:
        """Whether the session is tainted once this result is in it."""
        return bool(self.taints)


def take_result(tool: Tool, result: Any) -> ResultTaken:
    """Read a result as its tool's declaration allows; what cannot be read taints as a whole."""
    data = _parsed(result)
    whole = "\n".join(_text(value) for _, value in _fields("", data, 0))
    fields: dict[str, set[str]] = {}
    taints: list[str] = []
    for name, value in _fields("", data, 0):
        fields.setdefault(name, set()).add(_text(value).lower())
        if not (tool.own and _is_harmless(tool, name, value)):
            taints.append(_text(value))
        if len(fields) > _MOST_FIELDS:
            taints.append(whole)
            break
    if not tool.own and whole.strip():
        taints = [whole]
    records = tuple(_records(tool, data, 0)) if isinstance(data, (Mapping, list)) else ()
    frozen = {name: frozenset(values) for name, values in fields.items()}
    return ResultTaken(tool.name, whole, tuple(text for text in taints if text.strip()), records, frozen)


def _parsed(result: Any) -> Any:
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(result)
        except (ValueError, RecursionError):
            return result
    return result


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def _fields(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Every scalar with the name of its field; a key that is no plain name is data itself."""
    if depth > _DEEPEST:
        yield name, str(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not re.fullmatch(r"\w{1,40}", str(key)):
                yield "", str(key)
            yield from _fields(str(key), inner, depth + 1)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _fields(name, inner, depth + 1)
    else:
        yield name, value


def _is_harmless(tool: Tool, name: str, value: object) -> bool:
    """Whether a field of an own system's result carries nobody else's words."""
    if value is None or isinstance(value, (bool, int, float)) or tool.is_owners(name):
        return True
    text = str(value)
    if _TIME.fullmatch(text) or _NUMBER.fullmatch(text) or not text.strip():
        return True
    if name in tool.enums:
        return text in tool.enums[name]
    return _is_id_name(tool, name) and bool(_MADE_ID.fullmatch(text)) and not _LONGEST_WORD.search(text)


def _is_id_name(tool: Tool, name: str) -> bool:
    """Whether a field holds ids that the server makes; a user name or a key somebody chose does not count."""
    words = name_words(name)
    return name in tool.server_ids or (
        bool(words) and words[-1] in ("id", "ids", "uuid", "guid", "key", "number", "ref")
    )


def _records(tool: Tool, data: Any, depth: int) -> Iterator[SystemRecord]:
    if depth > _DEEPEST:
        return
    if isinstance(data, Mapping):
        scalars = {str(key): _text(value) for key, value in data.items() if not isinstance(value, (Mapping, list))}
        if tool.own and scalars:
            yield _record(tool, scalars, data)
        for inner in data.values():
            yield from _records(tool, inner, depth + 1)
    elif isinstance(data, (list, tuple)):
        for inner in data:
            yield from _records(tool, inner, depth + 1)


def _record(tool: Tool, scalars: Mapping[str, str], data: Mapping[str, Any]) -> SystemRecord:
    ids = {name: value.lower() for name, value in scalars.items() if value and _is_id_name(tool, name)}
    texts = [value for name, value in scalars.items() if name not in ids and value and len(value) <= _SHORT_FIELD]
    texts += [
        str(item) for value in data.values() if isinstance(value, list) for item in value if isinstance(item, str)
    ]
    readings = [read(text) for text in texts if len(text) <= _SHORT_FIELD]
    values = frozenset(key for reading in readings for key in reading.keys)
    stems = frozenset(word for reading in readings for word in reading.stems)
    fields = {name: value.lower() for name, value in scalars.items()}
    return SystemRecord(tool.name, ids, stems, values, fields, frozenset(filter(tool.is_owners, fields)))
