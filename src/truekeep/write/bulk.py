"""Importing: the lines of a file as entries for the gate. Nothing in a file sets a standing.

Three kinds of files: plain text or JSON objects line by line; an export that another keep signed; what was salvaged
from a keep. Only of a signed export whose signer the operator named can the operator say over which channel memories of
a standing come in; everything else comes over one channel.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from truekeep.errors import InvalidRequest
from truekeep.export import is_export, read_export
from truekeep.types import utc_moment

_FIELDS = frozenset({"text", "principal", "session", "kind", "topics", "entities", "metadata"})
_CARRIED = ("kind", "topics", "entities", "metadata")
_LONGEST_LINE = 100_000


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file: the channel it comes over and what is offered to the gate, if anything is."""

    via: str
    entry: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator said about a file."""

    via: str = "import"
    signer: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)


def read_lines(text: str, rules: Rules) -> list[Line]:
    """Every line of a file, in order."""
    lines = text.splitlines(keepends=True)
    if lines and is_export(lines[0]):
        return _of_export(lines, rules)
    if rules.signer or rules.mapping:
        raise InvalidRequest(
            "Only a signed export has a signer and standings to map.",
            code="not_an_export",
            hint="Make one with 'truekeep export'.",
        )
    return [Line(rules.via, _entry(line.rstrip("\n"), number)) for number, line in enumerate(lines, 1)]


def portions(lines: Sequence[Line], start: int, size: int) -> Iterator[tuple[int, str, list[Mapping[str, Any]]]]:
    """Batches of one channel each, from a line on: where the batch ends, its channel and its entries."""
    at = start
    while at < len(lines):
        via, end = lines[at].via, at
        while end < len(lines) and end - at < size and lines[end].via == via:
            end += 1
        yield end, via, [line.entry for line in lines[at:end] if line.entry is not None]
        at = end


def _of_export(lines: Sequence[str], rules: Rules) -> list[Line]:
    if rules.mapping and rules.signer is None:
        raise InvalidRequest(
            "Standings are mapped only for a signer that you name.",
            code="signer_needed",
            hint="Pass --signer with the public key that 'truekeep keys status' shows where the export was made.",
        )
    found = read_export(lines, signer=rules.signer)
    return [_mapped(memory, rules) for memory in found.memories]


def _mapped(memory: Mapping[str, Any], rules: Rules) -> Line:
    channel = rules.mapping.get(str(memory.get("standing")))
    text = memory.get("content")
    if memory.get("blocked") or not isinstance(text, str):
        return Line(channel or rules.via, None)
    entry: dict[str, Any] = {"text": text, **{name: memory[name] for name in _CARRIED if memory.get(name)}}
    if channel is None:
        return Line(rules.via, entry)
    return Line(channel, entry | {"as_of": _moment(memory.get("as_of"))})


def _entry(line: str, number: int) -> dict[str, Any] | None:
    if not line.strip():
        return None
    if len(line) > _LONGEST_LINE:
        raise InvalidRequest(f"Line {number} is over {_LONGEST_LINE:,} characters.", code="line_too_long")
    if not line.lstrip().startswith("{"):
        return {"text": line}
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidRequest(
            f"Line {number} is not JSON.",
            code="line_not_json",
            hint='A line is a JSON object with "text", or plain text.',
        ) from None
    if "standing_was" in entry or entry.get("truekeep") == "salvage" or entry.get("type") == "summary":
        return _salvaged(entry)
    if not isinstance(entry.get("text"), str):
        raise InvalidRequest(
            f'Line {number} has no "text".', code="line_without_text", hint='"text" has to be a string.'
        )
    # Standing, dates and ids of another store prove nothing here.
    return {name: value for name, value in entry.items() if name in _FIELDS}


def _salvaged(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """A salvaged memory, unless it is known to be an old version; held and retired ones stay behind."""
    if entry.get("type") != "memory" or entry.get("blocked") or entry.get("current") is False:
        return None
    return {"text": entry.get("content")}


def _moment(text: Any) -> datetime | None:
    try:
        return utc_moment(text) if isinstance(text, str) else None
    except ValueError:
        return None
