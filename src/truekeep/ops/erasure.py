"""Erasure: everything about a subject, or everything of some memories, is removed for good, with a signed receipt.

Content goes as whole rows: memories with their cards and vectors, old versions, held items, observations, snapshots,
working memory, jobs. In rows that only keep books (tombstones, tickets, sessions, notes of the audit log) the words go
and the row stays. The chain is not touched: it holds ids, keyed hashes and counts. Afterwards the file is written anew,
so that no freed page keeps what was erased.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from truekeep.archive import merged_in, stood_for
from truekeep.audit import ERASED
from truekeep.candidate import checked_text
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.influence import hearsay_marks
from truekeep.origin import person_name
from truekeep.rivals import Rivals
from truekeep.stores.base import Row
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from
from truekeep.text import folded
from truekeep.types import Memory, utc_text

_CONTENT = ("memories", "history", "queue", "snapshots", "observations", "working", "jobs")
_BOOKS = ("tombstones", "tickets", "credits", "channels", "sessions", "incidents", "notes")
_NAMES_OF_OTHERS = frozenset({"by", "decided_by", "channel", "carrier", "session", "run", "strategy"})
_WORDS = re.compile(r"\w+")
_SUBJECT_CAP, _REASON_CAP, _MOST_IDS = 200, 2_000, 10_000


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
    public_key: str = ""
    signature: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The receipt as JSON members."""
        return {
            "truekeep": "erasure",
            "version": 1,
            "keep": self.keep,
            "at": self.at,
            "by": self.by,
            "subject": self.subject,
            "removed": self.removed,
            "redacted": self.redacted,
            "memories": list(self.memories),
            "derived": list(self.derived),
            "event": self.event,
            "scrubbed": self.scrubbed,
            "public_key": self.public_key,
            "signature": self.signature,
        }

    def signed_bytes(self) -> bytes:
        """What the signature is over: every other member, in a fixed order."""
        members = {name: value for name, value in self.as_dict().items() if name != "signature"}
        return b"truekeep erasure v1\n" + json.dumps(members, sort_keys=True).encode()


@dataclass(slots=True)
class _Plan:
    remove: list[tuple[str, Row]] = field(default_factory=list)
    rewrite: list[tuple[str, Row, dict[str, Any]]] = field(default_factory=list)
    memories: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    verified: dict[int, Memory] = field(default_factory=dict)
    """Those of the memories that this keep wrote as they are: others contradict them or are contradicted."""

    @property
    def removed(self) -> dict[str, int]:
        return dict(sorted(Counter(table for table, _ in self.remove).items()))

    @property
    def redacted(self) -> dict[str, int]:
        return dict(sorted(Counter(table for table, _, _ in self.rewrite).items()))


class Eraser:
    """Erases in one keep."""

    def __init__(self, name: str, ledger: Ledger, rivals: Rivals, clock: Callable[[], datetime]) -> None:
        self._name = name
        self._ledger = ledger
        self._rivals = rivals
        self._clock = clock

    def erase(self, *, subject: str | None, ids: Iterable[str], by: str, reason: str, dry_run: bool) -> Receipt:
        """Erase a subject or some memories. ``dry_run`` says what would go, and changes nothing."""
        wanted = _Wanted.of(subject, ids)
        who, why = person_name(by), checked_text(reason, _REASON_CAP)
        if wanted.names(why):
            raise InvalidRequest("The reason must not name the subject: it stays in the log.", code="subject_in_reason")
        with self._ledger.reading():
            receipt = self._receipt(self._planned(wanted), wanted, who)
        if dry_run:
            return receipt
        with self._ledger.writing() as entry:
            plan = self._planned(wanted)
            receipt = self._receipt(plan, wanted, who)
            for table, row in plan.remove:
                if table == "memories" and (memory := plan.verified.get(row.seq)):
                    # One after the other: a memory that is gone cannot move up in another one's place.
                    self._rivals.withdraw(entry, memory)
                entry.remove(table, row)
            for table, row, body in plan.rewrite:
                entry.replace(table, row, body, row.tag)
            entry.event(
                "subject.erased",
                subject=receipt.subject,
                by=who,
                reason=why,
                removed=receipt.removed,
                redacted=receipt.redacted,
                memories=list(receipt.memories),
            )
            event = entry.tip.head.seq
        return self._signed(replace(receipt, event=event, scrubbed=self._ledger.scrub()))

    def _planned(self, wanted: _Wanted) -> _Plan:
        plan = _Plan()
        # What was merged into a memory says the same as it: it goes, too.
        wanted = replace(wanted, ids=wanted.ids | stood_for(wanted.ids, merged_in(self._ledger)))
        for table in _CONTENT:
            for sealed in self._ledger.all(table):
                if wanted.is_about(table, sealed):
                    plan.remove.append((table, sealed.row))
                    plan.texts += _strings(_body(sealed.row))
                    if table == "memories" and sealed.verified:
                        plan.verified[sealed.row.seq] = memory_from(sealed)
                    if table in ("memories", "history"):
                        plan.memories.add(sealed.row.id.partition(".")[0])
        if wanted.ids and not plan.remove:
            raise UnknownId("None of these ids is in this keep.")
        self._plan_shown(plan)
        self._plan_books(plan, wanted)
        self._plan_marks(plan)
        return plan

    def _plan_shown(self, plan: _Plan) -> None:
        """Snapshots that show an erased memory go, and exposures forget that it was shown."""
        removed = {(table, row.seq) for table, row in plan.remove}
        for sealed in self._ledger.all("snapshots"):
            shows = plan.memories.intersection(_body(sealed.row).get("memories", ()))
            if shows and ("snapshots", sealed.row.seq) not in removed:
                plan.remove.append(("snapshots", sealed.row))
        for sealed in self._ledger.all("exposures"):
            body = _body(sealed.row)
            shown = body.get("memories", [])
            left = [pair for pair in shown if pair[0] not in plan.memories]
            if not left:
                plan.remove.append(("exposures", sealed.row))
            elif len(left) < len(shown):
                plan.rewrite.append(("exposures", sealed.row, body | {"memories": left}))

    def _plan_books(self, plan: _Plan, wanted: _Wanted) -> None:
        told = self._events_about(plan.memories)
        for table in _BOOKS:
            for sealed in self._ledger.all(table):
                if table == "notes" and sealed.row.id in told:
                    plan.remove.append((table, sealed.row))
                elif (body := _body(sealed.row)) != (kept := wanted.redacted(body)):
                    plan.rewrite.append((table, sealed.row, kept))

    def _plan_marks(self, plan: _Plan) -> None:
        """A mark goes with the last text that bears it.

        As long as an echo of hearsay stays, it has to stay known for one; and what was proved before hearsay repeated
        it must not come to look like an echo.
        """
        told = {mark for text in plan.texts for mark in hearsay_marks(text)}
        gone = told - self._borne(plan) if told else told
        marks = sorted(self._ledger.digest("mark", mark) for mark in gone)
        plan.remove += [("marks", sealed.row) for mark in marks if (sealed := self._ledger.get("marks", mark))]

    def _borne(self, plan: _Plan) -> set[str]:
        """The marks of what stays."""
        removed = {(table, row.seq) for table, row in plan.remove}
        bodies = (
            _body(sealed.row)
            for table in ("memories", "history", "queue")
            for sealed in self._ledger.all(table)
            if (table, sealed.row.seq) not in removed
        )
        inner = (body.get("memory") if isinstance(body.get("memory"), dict) else body for body in bodies)
        texts = {str(body.get("text", "")) for body in inner if body is not None}
        return {mark for text in texts for mark in hearsay_marks(text)}

    def _events_about(self, memories: set[str]) -> set[str]:
        """The numbers of the events that are about these memories and have a note beside them."""
        if not memories:
            return set()
        noted = (event for event in self._ledger.events() if '"noted"' in event.body)
        return {str(event.seq) for event in noted if json.loads(event.body).get("memory") in memories}

    def _receipt(self, plan: _Plan, wanted: _Wanted, by: str) -> Receipt:
        return Receipt(
            keep=self._name,
            at=utc_text(self._clock()),
            by=by,
            subject=self._ledger.digest("subject", wanted.words or ",".join(sorted(wanted.ids))),
            removed=plan.removed,
            redacted=plan.redacted,
            memories=tuple(sorted(plan.memories)),
            derived=tuple(sorted(self._derived(plan.memories))),
        )

    def _derived(self, memories: set[str]) -> Iterator[str]:
        for sealed in self._ledger.all("memories"):
            parents = _body(sealed.row).get("origin", {}).get("parents", ())
            if sealed.row.id not in memories and memories.intersection(parents):
                yield sealed.row.id

    def _signed(self, receipt: Receipt) -> Receipt:
        public, _ = self._ledger.sign(b"")
        named = replace(receipt, public_key=public)
        return replace(named, signature=self._ledger.sign(named.signed_bytes())[1])


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be erased: the words of a subject, or ids."""

    words: str = ""
    ids: frozenset[str] = frozenset()

    @classmethod
    def of(cls, subject: str | None, ids: Iterable[str]) -> _Wanted:
        listed = frozenset(ids)
        if (subject is None) == (not listed):
            raise InvalidRequest("Say what to erase: a subject or ids.", code="what_to_erase")
        if len(listed) > _MOST_IDS or not all(isinstance(one, str) for one in listed):
            raise InvalidRequest(f"Pass at most {_MOST_IDS:,} ids, as strings.")
        words = _spaced(checked_text(subject, _SUBJECT_CAP)) if subject is not None else ""
        if subject is not None and len(words.replace(" ", "")) < 3:
            raise InvalidRequest("The subject is too short to be told from other words.", code="subject_too_short")
        return cls(words, listed)

    def names(self, text: str) -> bool:
        """Whether a text has the subject's words in it, one after the other, however they are written."""
        return bool(self.words) and f" {self.words} " in f" {_spaced(text)} "

    def is_about(self, table: str, sealed: Sealed) -> bool:
        body = _body(sealed.row)
        if self.words:
            return any(self.names(text) for text in _strings(body)) or self.names(sealed.row.tag)
        kin = {sealed.row.id, sealed.row.id.partition(".")[0], body.get("target"), _inner_id(body)}
        return table in ("memories", "history", "queue") and not self.ids.isdisjoint(filter(None, kin))

    def redacted(self, value: Any) -> Any:
        """The same value with everything that names the subject taken out."""
        if isinstance(value, dict):
            return {key: one if key in _NAMES_OF_OTHERS else self.redacted(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.redacted(one) for one in value]
        if not isinstance(value, str) or not self.names(value):
            return value
        inner = _parsed(value)
        return ERASED if inner is None else json.dumps(self.redacted(inner))


def _spaced(text: str) -> str:
    return " ".join(_WORDS.findall(folded(text).replace("_", " ")))


def _body(row: Row) -> dict[str, Any]:
    body = _parsed(row.body)
    return body if isinstance(body, dict) else {"text": row.body}


def _parsed(text: str) -> Any:
    """What a text is as JSON, if it is an object or a list."""
    try:
        value = json.loads(text) if text[:1] in "{[" else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _strings(value: Any) -> list[str]:
    """Every string in a body but the names of other people and things."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        parts: Sequence[Any] = [one for key, one in value.items() if key not in _NAMES_OF_OTHERS]
    else:
        parts = value if isinstance(value, list) else ()
    return [text for part in parts for text in _strings(part)]


def _inner_id(body: dict[str, Any]) -> str | None:
    inner = body.get("memory")
    return inner.get("id") if isinstance(inner, dict) else None
