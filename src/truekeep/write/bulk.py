"""Many memories at once: the lines of a file, and batch after batch through the gate.

Nothing in a file sets a standing. Three kinds of files: plain text or JSON objects line by line; an export that another
keep signed; what was salvaged from a keep. Only of a signed export whose signer the operator named can the operator say
over which channel memories of a standing come in; everything else comes over one channel. A batch is embedded in the
thread that stores it: a second one would hide the few milliseconds of the gate, and the encoder is twice as slow in it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from truekeep.errors import InvalidRequest
from truekeep.read.export import is_export, read_export
from truekeep.types import Candidate, Verdict, utc_moment

if TYPE_CHECKING:
    from truekeep.records.catalog import Catalog
    from truekeep.write.gate import Gate
    from truekeep.write.judge import Vectors

_FIELDS = frozenset({"text", "principal", "session", "kind", "topics", "entities", "metadata"})
_DATES = ("as_of", "expires_at")
_CARRIED = ("kind", "topics", "entities", "metadata")
_LONGEST_LINE = 100_000
"""A memory with all its fields is far below; nothing longer is parsed."""


class Portion(NamedTuple):
    """Candidates that are stored in one transaction, and the mark that is audited with them."""

    candidates: Sequence[Candidate]
    mark: str | None


def load(
    portions: Iterable[Portion], gate: Gate, catalog: Catalog, *, embeds: bool = True
) -> Generator[list[Verdict], None, None]:
    """The verdicts of each portion in turn; what is rejected is left out and the rest is stored.

    What will only be held needs no vector (``embeds``); it gets one when it is let in.
    A portion that cannot be read ends the load with its error, after those before it were stored.
    """
    for portion in portions:
        yield _admitted(gate, portion, _embedded(catalog if embeds else None, portion.candidates))


def _embedded(catalog: Catalog | None, candidates: Sequence[Candidate]) -> Vectors:
    return list(catalog.vectors(candidates)) if catalog else [(place, None) for place in range(len(candidates))]


def _admitted(gate: Gate, portion: Portion, vectors: Vectors) -> list[Verdict]:
    return gate.admit_all(portion.candidates, skip_rejected=True, mark=portion.mark, vectors=vectors)


@dataclass(frozen=True, slots=True)
class ImportLine:
    """One line of a file: the channel it comes over and what is offered to the gate, if anything is."""

    via: str
    entry: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator said about a file."""

    via: str = "import"
    signer: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)


def read_lines(text: str, rules: Rules) -> list[ImportLine]:
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
    return [ImportLine(rules.via, _entry(line.rstrip("\n"), number)) for number, line in enumerate(lines, 1)]


def portions(lines: Sequence[ImportLine], start: int, size: int) -> Iterator[tuple[int, str, list[Mapping[str, Any]]]]:
    """Batches of one channel each, from a line on: where the batch ends, its channel and its entries."""
    at = start
    while at < len(lines):
        via, end = lines[at].via, at
        while end < len(lines) and end - at < size and lines[end].via == via:
            end += 1
        yield end, via, [line.entry for line in lines[at:end] if line.entry is not None]
        at = end


def _of_export(lines: Sequence[str], rules: Rules) -> list[ImportLine]:
    if rules.mapping and rules.signer is None:
        raise InvalidRequest(
            "Standings are mapped only for a signer that you name.",
            code="signer_needed",
            hint="Pass --signer with the public key that 'truekeep keys status' shows where the export was made.",
        )
    found = read_export(lines, signer=rules.signer)
    return [_mapped(memory, rules) for memory in found.memories]


def _mapped(memory: Mapping[str, Any], rules: Rules) -> ImportLine:
    channel = rules.mapping.get(str(memory.get("standing")))
    text = memory.get("content")
    if memory.get("blocked") or not isinstance(text, str):
        return ImportLine(channel or rules.via, None)
    entry: dict[str, Any] = {"text": text, **{name: memory[name] for name in _CARRIED if memory.get(name)}}
    return ImportLine(channel or rules.via, entry | {name: _moment(memory.get(name)) for name in _DATES})


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
    # Standing and ids of another store prove nothing here.
    kept = {name: value for name, value in entry.items() if name in _FIELDS}
    return kept | {name: _dated(entry[name], number) for name in _DATES if entry.get(name) is not None}


def _salvaged(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """A salvaged memory, unless it is known to be an old version; held and retired ones stay behind."""
    if entry.get("type") != "memory" or entry.get("blocked") or entry.get("current") is False:
        return None
    return {"text": entry.get("content"), **{name: _moment(entry.get(name)) for name in _DATES}}


def _dated(value: Any, number: int) -> datetime:
    """A date of a line; one that cannot be read is not dropped behind anybody's back."""
    found = _moment(value)
    if found is None:
        raise InvalidRequest(
            f"Line {number} has a date that cannot be read.",
            code="line_date_invalid",
            hint='Write "as_of" and "expires_at" like 2026-01-31T12:00:00Z, or like 2026-01-31.',
        )
    return found


def _moment(text: Any) -> datetime | None:
    """A moment as it stands in a file; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return utc_moment((at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()) if at else None
