"""Erasure: everything about a subject, or everything of some memories, is removed for good, with a signed receipt.

Every table is walked, and the audit chain; how a table is treated is in ``TREATMENTS``, and none can be left out of it.
Content goes as whole rows. In rows that keep books, and in events, the words go and the rest stays; a later event
vouches for what is left of an event, so that the chain still holds. Copies beside the database go, too, and then the
file is written anew, so that no freed page keeps what was erased. The receipt names what cannot be erased from here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from truekeep.audit.log import ERASED, ERASURE
from truekeep.claims.mentions import FirstMentions
from truekeep.config import NAME_CAP
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.ops.naming import SubjectWords
from truekeep.ops.redaction import OWN_ID, Redaction, parsed
from truekeep.records.rows import merged_in, stood_for
from truekeep.stores.base import TABLES, EventRow, Row
from truekeep.stores.codec import Shape
from truekeep.stores.records import memory_from
from truekeep.trust.candidate import checked_reason, checked_text
from truekeep.trust.influence import hearsay_marks
from truekeep.trust.origin import person_name
from truekeep.types import Memory, utc_text

if TYPE_CHECKING:
    from truekeep.claims.contradictions import Contradictions
    from truekeep.ops.beside import Surroundings
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

_MOST_IDS = 10_000
"""Memories that are erased in one transaction."""


class Treatment(Enum):
    """What becomes of a row that names the subject."""

    GOES = "goes"
    """It is content, or a permission: without the words it would be nothing, or something else."""
    IS_CLEARED = "is cleared"
    """It keeps books or restricts: the words go, and what it forbids stays forbidden."""


TREATMENTS = {
    "memories": Treatment.GOES,
    "history": Treatment.GOES,
    "queue": Treatment.GOES,
    "snapshots": Treatment.GOES,
    "observations": Treatment.GOES,
    "working": Treatment.GOES,
    "jobs": Treatment.GOES,
    "grants": Treatment.GOES,
    "entries": Treatment.GOES,
    "tombstones": Treatment.IS_CLEARED,
    "answers": Treatment.IS_CLEARED,
    "rivals": Treatment.IS_CLEARED,
    "derived": Treatment.IS_CLEARED,
    "sessions": Treatment.IS_CLEARED,
    "marks": Treatment.IS_CLEARED,
    "tickets": Treatment.IS_CLEARED,
    "credits": Treatment.IS_CLEARED,
    "channels": Treatment.IS_CLEARED,
    "exposures": Treatment.IS_CLEARED,
    "incidents": Treatment.IS_CLEARED,
    "prompts": Treatment.IS_CLEARED,
    "notes": Treatment.IS_CLEARED,
}
_MEMORY_ID = re.compile(r"mem_[0-9a-f]{20}|row-[0-9]+")
_WITH_IDS = ("memories", "history", "queue")


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased, or would be. Signed by the keep; it names the subject only by a keyed hash."""

    keep: str
    at: str
    by: str
    subject: str
    """The keyed hash of the subject, or of the ids."""
    removed: dict[str, int]
    """Rows that are gone, by table."""
    redacted: dict[str, int]
    """Rows that stayed without the words."""
    memories: tuple[str, ...]
    derived: tuple[str, ...]
    """Memories that were derived from erased ones and do not themselves name the subject: they stay."""
    event: int | None = None
    scrubbed: bool = False
    """Whether the file was written anew without the erased bytes; false while another process keeps its log in use."""
    files: tuple[str, ...] = ()
    """Copies beside the database that are gone."""
    left: tuple[str, ...] = ()
    """What could not be erased from here and is left to a person."""
    public_key: str = ""
    signature: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The receipt as JSON members."""
        return {"truekeep": "erasure", "version": 1, **_RECEIPT.write(self)}

    def signed_bytes(self) -> bytes:
        """What the signature is over: every other member, in a fixed order."""
        members = {name: value for name, value in self.as_dict().items() if name != "signature"}
        return b"truekeep erasure v1\n" + json.dumps(members, sort_keys=True).encode()


_RECEIPT = Shape(Receipt)


@dataclass(slots=True)
class _Plan:
    remove: dict[tuple[str, int], Row] = field(default_factory=dict)
    rewrite: dict[tuple[str, int], tuple[Row, Row]] = field(default_factory=dict)
    """Rows, and what is left of them, unless they go."""
    restate: list[tuple[EventRow, dict[str, Any]]] = field(default_factory=list)
    memories: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    verified: dict[int, Memory] = field(default_factory=dict)
    """Those of the memories that this keep wrote as they are: others contradict them or are contradicted."""

    @property
    def removed(self) -> dict[str, int]:
        return dict(sorted(Counter(table for table, _ in self.remove).items()))

    @property
    def redacted(self) -> dict[str, int]:
        found = Counter(table for table, _ in self.rewrite.keys() - self.remove.keys())
        found.update({"events": len(self.restate)} if self.restate else {})
        return dict(sorted(found.items()))


class Eraser:
    """Erases in one keep."""

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        contradictions: Contradictions,
        channels: Iterable[str],
        clock: Callable[[], datetime],
    ) -> None:
        self._name = name
        self._ledger = ledger
        self._contradictions = contradictions
        self._mentions = FirstMentions(ledger)
        self._channels = frozenset(channels)
        """The channels of the settings."""
        self._clock = clock

    def erase(
        self,
        *,
        subject: str | None,
        ids: Iterable[str],
        by: str,
        reason: str,
        dry_run: bool,
        around: Surroundings | None = None,
    ) -> Receipt:
        """Erase a subject or some memories. ``dry_run`` says what would go, and changes nothing."""
        wanted = self._wanted(subject, ids)
        who, why = person_name(by), checked_reason(reason)
        if wanted.names(why):
            raise InvalidRequest("The reason must not name the subject: it stays in the log.", code="subject_in_reason")
        who = ERASED if wanted.names(who) else who
        if dry_run:
            with self._ledger.reading():
                return self._receipt(self._planned(wanted), wanted, who, around)
        with self._ledger.writing() as entry:
            plan = self._planned(wanted)
            receipt = self._receipt(plan, wanted, who, around)
            self._carry_out(entry, plan)
            entry.event(
                ERASURE,
                subject=receipt.subject,
                by=who,
                reason=why,
                removed=receipt.removed,
                redacted=receipt.redacted,
                memories=list(receipt.memories),
            )
            event = entry.tip.head.seq
        files, in_use = around.clear() if around is not None else ([], [])
        done = replace(receipt, event=event, scrubbed=self._ledger.scrub(), files=tuple(files))
        return self._signed(replace(done, left=(*receipt.left, *in_use)))

    def _carry_out(self, entry: Entry, plan: _Plan) -> None:
        for (table, seq), row in plan.remove.items():
            if table == "memories" and (memory := plan.verified.get(seq)):
                # One after the other: a memory that is gone cannot move up in another one's place.
                self._contradictions.withdraw(entry, memory)
            entry.remove(table, row)
        for (table, seq), (row, left) in plan.rewrite.items():
            # Forgetting what a memory answers may have taken or changed the row meanwhile.
            if (table, seq) not in plan.remove and entry.is_ours(table, row):
                entry.replace(table, row, _body(left), left.tag, row_id=left.id)
        for event, body in plan.restate:
            entry.restate(event, body)

    def _wanted(self, subject: str | None, ids: Iterable[str]) -> _Wanted:
        listed = frozenset(ids)
        if (subject is None) == (not listed):
            raise InvalidRequest("Say what to erase: a subject or ids.", code="what_to_erase")
        if len(listed) > _MOST_IDS or not all(isinstance(one, str) for one in listed):
            raise InvalidRequest(f"Pass at most {_MOST_IDS:,} ids, as strings.")
        if subject is None:
            # What was merged into a memory says the same as it: it goes, too.
            return _Wanted(ids=listed | stood_for(listed, merged_in(self._ledger)))
        words = SubjectWords.of(checked_text(subject, NAME_CAP))
        if not words.is_telling:
            raise InvalidRequest("The subject is too short to be told from other words.", code="subject_too_short")
        if OWN_ID.fullmatch(subject.strip()):
            raise InvalidRequest("That is an id of the keep's.", code="subject_is_id", hint="Erase it by its id.")
        return _Wanted(Redaction(words, self._pseudonym, self._channels))

    def _pseudonym(self, name: str) -> str:
        return f"erased-{self._ledger.digest('pseudonym', name)[:16]}"

    def _planned(self, wanted: _Wanted) -> _Plan:
        plan = _Plan()
        for table in TABLES:
            for sealed in self._ledger.everything(table):
                if wanted.may_be_in(sealed.row):
                    self._plan_row(plan, table, sealed, wanted)
        if wanted.ids and not plan.remove:
            raise UnknownId("None of these ids is in this keep.")
        self._plan_shown(plan)
        plan.restate = [(event, left) for event in self._ledger.events() if (left := wanted.left_of_event(event))]
        self._plan_marks(plan)
        return plan

    def _plan_row(self, plan: _Plan, table: str, sealed: Sealed, wanted: _Wanted) -> None:
        if TREATMENTS[table] is Treatment.GOES and wanted.is_about(table, sealed):
            _plan_removal(plan, table, sealed)
        elif (left := wanted.left_of(sealed.row)) != sealed.row:
            # A row that this keep did not write goes as a whole: written anew, it would get a seal.
            if sealed.verified:
                plan.rewrite[table, sealed.row.seq] = sealed.row, left
            else:
                plan.remove[table, sealed.row.seq] = sealed.row

    def _plan_shown(self, plan: _Plan) -> None:
        """What tells of memories that go: notes of events about them, snapshots, exposures and what calls used."""
        for number in self._events_about(plan.memories):
            if (note := self._ledger.get("notes", number)) is not None:
                plan.remove["notes", note.row.seq] = note.row
        for table in ("snapshots", "exposures", "tickets"):
            for sealed in self._ledger.everything(table):
                place = table, sealed.row.seq
                row, left = plan.rewrite.get(place, (sealed.row, sealed.row))
                if place in plan.remove or plan.memories.isdisjoint(_MEMORY_ID.findall(left.body)):
                    continue
                kept = _without_memories(table, left, plan.memories) if sealed.verified else None
                if kept is None:
                    plan.remove[place] = row
                elif kept != row:
                    plan.rewrite[place] = row, kept

    def _plan_marks(self, plan: _Plan) -> None:
        """A mark goes with the last text that bears it.

        As long as an echo of hearsay stays, it has to stay known for one; and what was proved before hearsay repeated
        it must not come to look like an echo.
        """
        if self._ledger.is_empty("marks"):
            return
        told = {mark for text in plan.texts for mark in hearsay_marks(text)}
        known = self._mentions.rows_of(told)
        for text in self._staying(plan) if known else ():
            for mark in known.keys() & set(hearsay_marks(text)):
                del known[mark]
        plan.remove |= {("marks", row.row.seq): row.row for _, row in sorted(known.items()) if row is not None}
        for row, left in self._mentions.packs_without(mark for mark, own in known.items() if own is None):
            if left is None:
                plan.remove["marks", row.seq] = row
            else:
                plan.rewrite["marks", row.seq] = row, row._replace(body=json.dumps(left))

    def _staying(self, plan: _Plan) -> set[str]:
        """The texts of what stays."""
        bodies = (
            _body(sealed.row)
            for table in _WITH_IDS
            for sealed in self._ledger.all(table)
            if (table, sealed.row.seq) not in plan.remove
        )
        inner = (body.get("memory") if isinstance(body.get("memory"), dict) else body for body in bodies)
        return {str(body.get("text", "")) for body in inner if body is not None}

    def _events_about(self, memories: set[str]) -> set[str]:
        """The numbers of the events that are about these memories and have a note beside them."""
        if not memories:
            return set()
        noted = (event for event in self._ledger.events() if '"noted"' in event.body)
        return {str(event.seq) for event in noted if json.loads(event.body).get("memory") in memories}

    def _receipt(self, plan: _Plan, wanted: _Wanted, by: str, around: Surroundings | None) -> Receipt:
        return Receipt(
            keep=self._name,
            at=utc_text(self._clock()),
            by=by,
            subject=self._ledger.digest("subject", wanted.letters or ",".join(sorted(wanted.ids))),
            removed=plan.removed,
            redacted=plan.redacted,
            memories=tuple(sorted(plan.memories)),
            derived=tuple(sorted(self._derived(plan.memories))),
            files=tuple(path.name for path in around.copies()) if around is not None else (),
            left=tuple(self._left(wanted, around)),
        )

    def _left(self, wanted: _Wanted, around: Surroundings | None) -> Iterator[str]:
        if any(map(wanted.names, self._channels)):
            yield "a channel of the settings, whose name stays wherever it stands"
        if any(True for _ in self._ledger.all("entries")):
            yield "what the stores that are wrapped hold themselves"
        if around is not None:
            yield from around.named_in(wanted.names)

    def _derived(self, memories: set[str]) -> Iterator[str]:
        for sealed in self._ledger.all("memories"):
            parents = _body(sealed.row).get("origin", {}).get("parents", ()) if sealed.verified else ()
            if sealed.row.id not in memories and memories.intersection(parents):
                yield sealed.row.id

    def _signed(self, receipt: Receipt) -> Receipt:
        public, _ = self._ledger.sign(b"")
        named = replace(receipt, public_key=public)
        return replace(named, signature=self._ledger.sign(named.signed_bytes())[1])


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be erased: a subject, or ids."""

    redaction: Redaction | None = None
    ids: frozenset[str] = frozenset()

    @property
    def letters(self) -> str:
        return self.redaction.words.letters if self.redaction is not None else ""

    def names(self, text: str) -> bool:
        return self.redaction is not None and self.redaction.words.are_in(text)

    def may_be_in(self, row: Row) -> bool:
        """Whether a row is worth a closer look: most are not, and it costs a fraction."""
        return self.redaction is None or any(map(self.redaction.words.may_be_in, (row.body, row.id, row.tag)))

    def is_about(self, table: str, sealed: Sealed) -> bool:
        body = _body(sealed.row)
        if self.redaction is not None:
            return self.redaction.is_about(body)
        kin = (sealed.row.id, sealed.row.id.partition(".")[0], body.get("target"), _inner_id(body))
        named = {one for one in kin if isinstance(one, str)}
        return table in _WITH_IDS and not self.ids.isdisjoint(named)

    def left_of(self, row: Row) -> Row:
        """The row without the subject: in its content, in its id and in its tag."""
        if self.redaction is None:
            return row
        body = _body(row)
        cleared = self.redaction.cleared(body)
        text = row.body if cleared == body else json.dumps(cleared)
        return row._replace(id=self._named(row.id), tag=self._named(row.tag), body=text)

    def left_of_event(self, event: EventRow) -> dict[str, Any] | None:
        """What is left of an event that names the subject; none if it does not."""
        if self.redaction is None or not self.redaction.words.may_be_in(event.body):
            return None
        body = json.loads(event.body)
        left: dict[str, Any] = self.redaction.cleared(body)
        return left if left != body else None

    def _named(self, name: str) -> str:
        kept = self.redaction is None or name in self.redaction.kept
        return name if kept or self.redaction is None else self.redaction.name(name)


def _plan_removal(plan: _Plan, table: str, sealed: Sealed) -> None:
    plan.remove[table, sealed.row.seq] = sealed.row
    if sealed.verified:
        # A forged row would take the marks of values along that it merely mentions.
        plan.texts += _texts(_body(sealed.row))
        if table == "memories":
            plan.verified[sealed.row.seq] = memory_from(sealed)
    if table in ("memories", "history"):
        plan.memories.add(sealed.row.id.partition(".")[0])


def _without_memories(table: str, row: Row, memories: set[str]) -> Row | None:
    """The row without what it says of erased memories: that they were shown, or which of their words a call used."""
    if table == "snapshots":
        return None
    body = _body(row)
    if table == "exposures":
        left = [pair for pair in body.get("memories", []) if pair[0] not in memories]
        return row._replace(body=json.dumps(body | {"memories": left})) if left else None
    if table == "tickets" and isinstance(values := body.get("matched_values"), dict):
        kept = {memory: one for memory, one in values.items() if memory not in memories}
        return row._replace(body=json.dumps(body | {"matched_values": kept}))
    return row


def _body(row: Row) -> dict[str, Any]:
    body = parsed(row.body)
    return body if isinstance(body, dict) else {"text": row.body}


def _texts(value: Any) -> list[str]:
    """Every text in a body."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]


def _inner_id(body: dict[str, Any]) -> str | None:
    inner = body.get("memory")
    return inner.get("id") if isinstance(inner, dict) else None
