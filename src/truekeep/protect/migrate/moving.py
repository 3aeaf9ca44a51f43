"""Moving in: what the entries of another memory become here, and the run that takes them in.

Everything is hearsay of its source, whatever the source says about it. An entry has a key of its own, made of what the
source calls it and what it says, so that it comes in once, however often and from however many processes it is sent.
Each batch is marked in the keep's sealed log in the transaction that stores it: a run that was killed goes on there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, TruekeepError
from truekeep.protect.migrate.entries import Read, Skipped, SourceEntry
from truekeep.protect.naming import reads_as_words
from truekeep.trust.candidate import checked_metadata, checked_moment, checked_text, checked_words
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.config import Settings
    from truekeep.keep import Keep

MOST_ENTRIES = 500_000
"""Entries of one run: all of them are in memory, and a person has to decide about them."""
_LONGEST_VALUE = 400
"""Characters of a metadata value that is kept where all of them are more than a memory takes."""
_FIELD, _MOST_FIELDS = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,40}"), 40
"""Fields that the report names; it is read by people, and by agents that run the command."""
Keyed = tuple[str, Mapping[str, Any]]


@dataclass(slots=True)
class Report:
    """What was found in a source, and what became of it."""

    format: str
    source: str
    entries: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    """How many entries each field of the source was taken over from."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Why nothing was made of something in the source."""
    cut: Counter[str] = field(default_factory=Counter)
    """What of entries that came in did not fit: topics, metadata, dates, or texts in several parts."""
    resumed_at: int = 0
    told: Counter[str] = field(default_factory=Counter)
    """How many were held, stored as background, refused, or known before."""
    refused: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON members."""
        listed = {name: dict(getattr(self, name).most_common()) for name in ("fields", "skipped", "cut", "refused")}
        counts = {name: self.told[name] for name in ("held", "stored", "known", "refused")}
        return {
            "format": self.format,
            "source": self.source,
            "entries": self.entries,
            "resumed_at": self.resumed_at,
            **listed,
            "counts": counts,
        }

    def count(self, verdicts: Iterable[Verdict]) -> None:
        """Add what was decided on a batch."""
        for verdict in verdicts:
            if verdict.code == "moved_before":
                self.told["known"] += 1
            elif verdict.decision is Decision.REJECT:
                self.told["refused"] += 1
                self.refused[verdict.code] += 1
            else:
                self.told["stored" if verdict.accepted else "held"] += 1


def planned(found: Read, report: Report, settings: Settings, now: datetime) -> list[Keyed]:
    """The entries that come in, with their keys, and the report of what does not."""
    planned, seen, known = list[Keyed](), Counter[str](), set[tuple[str, str]]()
    for one in found:
        if isinstance(one, Skipped):
            report.skipped[one.reason] += 1
            continue
        if one.expires_at is not None and one.expires_at <= now:
            report.skipped["expired_there"] += 1
            continue
        if one.id and (one.id, one.text) in known:
            report.skipped["twice_there"] += 1
            continue
        known.add((one.id, one.text))
        try:
            made = list(_fields(one, report, settings))
        except TruekeepError as error:
            report.skipped[error.code] += 1
            continue
        report.fields.update(_shown(name, report.fields) for name in one.mapped)
        for fields in made:
            planned.append((_key(report, one, fields["text"], seen), fields))
        if len(planned) > MOST_ENTRIES:
            raise InvalidRequest(
                f"There are over {MOST_ENTRIES:,} entries.", code="source_too_large", hint="Split it in parts."
            )
    report.entries = len(planned)
    return planned


def move(
    keep: Keep, entries: list[Keyed], report: Report, *, batch: int = 200, tell: Callable[[int], None] = lambda _: None
) -> None:
    """Take the entries in, from where an earlier run stopped; ``tell`` is told how many are done."""
    name = hashlib.sha256("\n".join(key for key, _ in entries).encode()).hexdigest()[:16]
    start = report.resumed_at = resumed_at(keep, f"migrate:{name}:")
    ends = [*range(start + batch, len(entries), batch), len(entries)] if start < len(entries) else []
    starts = [start, *ends]
    parts = ((entries[begin:end], f"migrate:{name}:{end}") for begin, end in zip(starts, ends, strict=False))
    tell(start)
    for end, verdicts in zip(ends, keep.move_in(parts, source=report.source), strict=True):
        report.count(verdicts)
        tell(end)


def weighed(keep: Keep, entries: list[Keyed], report: Report, tell: Callable[[int], None] = lambda _: None) -> None:
    """Count what would become of the entries; nothing is stored."""
    for done, (_, fields) in enumerate(entries, 1):
        report.count([keep.weigh(via="import", principal=report.source, **fields)])
        tell(done)


def resumed_at(keep: Keep, prefix: str) -> int:
    """How far an earlier run came whose batches are marked with that prefix."""
    marks = (str(event.body["mark"]) for event in keep.audit.events(kinds=["batch.marked"]))
    return max((int(mark.removeprefix(prefix)) for mark in marks if mark.startswith(prefix)), default=0)


def _fields(entry: SourceEntry, report: Report, settings: Settings) -> Iterator[dict[str, Any]]:
    """What is offered to the gate: checked here, so that one bad entry does not end a batch."""
    parts = _parts(entry.text, settings.text_cap)
    report.cut["text_in_parts"] += len(parts) > 1
    shared: dict[str, Any] = {
        "kind": entry.kind,
        "topics": _words(entry.topics, "topics", report, settings),
        "entities": _words(entry.entities, "entities", report, settings),
        "metadata": _metadata(entry, report, settings),
        "as_of": _moment("as_of", entry.as_of, report),
        "expires_at": _moment("expires_at", entry.expires_at, report),
    }
    for text in parts:
        yield {"text": checked_text(text, settings.text_cap), **shared}
    report.cut += Counter()  # forgets what was never cut


def _parts(text: str, cap: int) -> list[str]:
    """A text in parts that fit, cut where a paragraph, a line or a word ends; nothing of it is lost."""
    parts = []
    while len(text) > cap:
        at = next((found for mark in ("\n\n", "\n", ". ", " ") if (found := text.rfind(mark, cap // 2, cap)) > 0), cap)
        parts.append(text[:at].strip())
        text = text[at:].strip()
    return [part for part in (*parts, text) if part] or [text]


def _shown(name: str, known: Counter[str]) -> str:
    """A field by its name, if that is a name and there are not too many: whoever made the file chose them."""
    is_name = _FIELD.fullmatch(name) is not None and not reads_as_words(name)
    return name if is_name and (name in known or len(known) < _MOST_FIELDS) else "others"


def _words(words: tuple[str, ...], name: str, report: Report, settings: Settings) -> tuple[str, ...]:
    fitting = tuple(word for word in words if len(word) <= settings.field_cap)[: settings.fields_cap]
    report.cut[name] += len(fitting) < len(words)
    return checked_words(name, fitting, settings)


def _metadata(entry: SourceEntry, report: Report, settings: Settings) -> dict[str, Any]:
    named = {"source_id": entry.id[: settings.field_cap]} if entry.id else {}
    try:
        return checked_metadata({**entry.metadata, **named}, settings)
    except InvalidRequest:
        report.cut["metadata"] += 1
    short = {key: one for key, one in entry.metadata.items() if len(key) + len(repr(one)) <= _LONGEST_VALUE}
    try:
        return checked_metadata({**short, **named}, settings)
    except InvalidRequest:
        return checked_metadata(named, settings)


def _moment(name: str, at: datetime | None, report: Report) -> datetime | None:
    try:
        return checked_moment(name, at)
    except InvalidRequest:
        report.cut[name] += 1
        return None


def _key(report: Report, entry: SourceEntry, text: str, seen: Counter[str]) -> str:
    """What an entry goes by: its id there and its words; where there are no ids, the source and its place in it."""
    about = [entry.id] if entry.id else ["", report.source, *entry.topics, *entry.entities]
    told = json.dumps([report.format, *about, text])
    seen[told] += 1
    return hashlib.sha256(f"{told}{seen[told]}".encode()).hexdigest()[:40]
