"""What a memory states, and which claims answer one question differently.

Contradictions are found by an exact key when a claim is written, never by a scan. A question that is answered in two
ways gets a sealed row: which claims contradict each other, and the latest statements of each by every source. Reading
goes by that row and compares no texts. A source that says much crowds out only itself, and hearsay is listed where it
finds its own place, never where it could change another's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from truekeep.stores.records import memory_from
from truekeep.stores.table_view import TableChanges
from truekeep.trust.influence import Claim, claim_of, outdated, questions
from truekeep.trust.origin import APPROVED, PROVABLE, is_hearsay, label_of
from truekeep.types import Candidate, Memory, Standing, utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

_LENGTH = 20
"""Characters of a keyed digest that are kept: 80 bits, which nobody meets by chance or by trying."""
_WINDOW = 32
_WIDE_WINDOW = 128
"""How many of the newest statements are looked at, and how many where several sources share a label."""
_CONTESTED_WINDOW = 8
"""Where a row lists the claims already, only what came in beside them is looked for."""
_CLAIMS_OF_ONE = 4
"""Claims of one source in a row; a source that says much crowds out only itself."""
_STATEMENTS_OF_ONE = 2
"""Statements of one claim by one source, besides the first."""
_MOST_HEARSAY = 8
"""Claims of hearsay in a row: it finds its own place and makes no row grow."""
_CONCERNED = 8
"""Memories of each claim whose place a write can change; a write costs no more however many agree."""


@lru_cache(maxsize=1_024)
def _claim(text: str, speaker: str | None) -> Claim:
    return claim_of(text, speaker=speaker)


def claim_in(memory: Memory | Candidate) -> Claim:
    """What the memory states; "I" and "my" are its principal's, so that two people's accounts stay apart."""
    return _claim(memory.text, memory.origin.principal)


class ClaimKeys:
    """Digests with one keep's key: a store that leaks does not say what its memories are about."""

    def __init__(self, ledger: Ledger) -> None:
        self._digest = ledger.digest

    def bound(self, memory: Memory) -> Memory:
        """The memory with the digests of its claim and of the questions it answers.

        A claim that answers no question is its own; one about nobody has neither.
        """
        claim = claim_in(memory)
        if not claim.bound or not claim.key:
            return replace(memory, claim="", keys=())
        own = self._digest("claim-key", claim.key)[:_LENGTH]
        keys = tuple(self._digest("question", question)[:_LENGTH] for question in questions(claim))
        return replace(memory, claim=own, keys=keys or (own,))


def tag(memory: Memory, under: str | None = None) -> str:
    """The tag of a memory's row: its label, or another, and the first question it answers.

    Statements of the same claim have the same tag, and so have most rivals.
    """
    return f"{under or label_of(memory)}:{memory.keys[0] if memory.keys else ''}"


@dataclass(frozen=True, slots=True)
class ContradictionLink:
    """A statement that a memory cannot stand beside."""

    rival: str
    version: int
    by: str
    is_newer: bool
    since: datetime
    is_whole: bool


@dataclass(frozen=True, slots=True)
class ClaimStatement:
    """One memory that states a claim, as the row of its question lists it."""

    memory: str
    version: int
    by: str
    when: tuple[str, int]
    since: str


@dataclass(slots=True)
class Contest:
    """One question's row: statements by claim, and for two claims which of them the other outdates as a whole."""

    said: dict[str, list[ClaimStatement]] = field(default_factory=dict)
    outdates: dict[str, dict[str, bool]] = field(default_factory=dict)
    """By claim, the claims that outdate it, and whether as a whole."""
    hearsay: list[str] = field(default_factory=list)
    let_go: int = 0
    """Claims that were written before this were listed once and are no longer; they are compared by their texts."""


class Contradictions:
    """Finds, writes down and reads back the rivals of one keep's memories."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._changes = TableChanges(ledger, "rivals")
        self._contested: set[str] = set()
        """Questions that may have more than one answer; all others have one."""

    def of(self, memory: Memory) -> list[ContradictionLink]:
        """The statements that a memory cannot stand beside."""
        contested = self._questions()
        found = [self._contest(key) for key in memory.keys if key in contested]
        links = (link for contest in found if contest for link in self._links(memory, contest))
        return list({link.rival: link for link in links}.values())

    def is_contested(self, memory: Memory) -> bool:
        """Whether a question that it answers may have more than one answer; told by its keys alone."""
        return not self._questions().isdisjoint(memory.keys)

    def related(self, memory: Memory) -> list[Memory]:
        """The newest memories that answer a question of this one, the same or differently; a bounded number."""
        found: dict[str, Memory] = {}
        contested = self._questions()
        labels = PROVABLE if is_hearsay(memory) else (*PROVABLE, Standing.HEARSAY.label)
        tags = {f"{name}:{key}": (name, key) for key in memory.keys for name in labels}
        answered = self._ledger.tags_among(("memories", "answers"), list(tags))
        for tag, (name, key) in tags.items():
            if tag in answered:
                several = name == Standing.ENROLLED.label or memory.origin.principal is not None
                window = _CONTESTED_WINDOW if key in contested else _WIDE_WINDOW if several else _WINDOW
                found |= {other.id: other for other in self._answering(tag, window) if other.id not in found}
        found.pop(memory.id, None)
        return list(found.values())

    def concerned(self, memory: Memory, related: Iterable[Memory]) -> set[str]:
        """Whose place a memory can change: those listed under its questions, and the few that state the same or could
        be the first to contradict it.
        """
        contested = self._questions()
        contests = [contest for key in memory.keys if key in contested and (contest := self._contest(key))]
        names = {one.memory for contest in contests for said in contest.said.values() for one in said[-_CONCERNED:]}
        same = [one.id for one in related if one.claim == memory.claim][:_CONCERNED]
        first = [one.id for one in related if one.claim != memory.claim][:_CONCERNED] if not contests else []
        return {*names, *same, *first}

    def contradicted(self, memory: Memory) -> tuple[str, ...]:
        """The older memories above hearsay that one which is not stored would outdate."""
        elders = (other for other in self.related(memory) if not is_hearsay(other) and other.as_of <= memory.as_of)
        return tuple(elder.id for elder in elders if outdated(claim_in(elder), claim_in(memory)))

    def disagreeing(self, memory: Memory) -> tuple[str, ...]:
        """The memories above hearsay that answer the same otherwise, whichever of the two is older."""
        stated = claim_in(memory)
        others = ((other.id, claim_in(other)) for other in self.related(memory) if not is_hearsay(other))
        return tuple(name for name, claim in others if outdated(claim, stated) or outdated(stated, claim))

    def file(self, entry: Entry, memory: Memory, related: Iterable[Memory]) -> None:
        """Write down what a memory answers and whom it contradicts, inside the writer's transaction."""
        for number, key in enumerate(memory.keys[1:], 1):
            entry.put("answers", f"{memory.id}/{number}", {"v": 1, "memory": memory.id}, f"{label_of(memory)}:{key}")
        others = [other for other in related if other.id != memory.id and other.claim != memory.claim]
        for key in memory.keys:
            self._enter(entry, key, memory, [other for other in others if key in other.keys])

    def withdraw(self, entry: Entry, memory: Memory) -> None:
        """Forget what a memory answers, before it is changed or taken away."""
        for number in range(1, len(memory.keys)):
            if (answer := self._ledger.get("answers", f"{memory.id}/{number}")) is not None:
                entry.remove("answers", answer.row)
        for key in memory.keys:
            sealed = self._ledger.get("rivals", key) if key in self._questions() else None
            if sealed is not None:
                self._write(entry, key, sealed, self._without(_read(sealed), key, memory))

    def _without(self, contest: Contest, key: str, memory: Memory) -> Contest:
        """The row without one statement; another one of the same claim moves up."""
        said = contest.said.pop(memory.claim, [])
        again = self._answering(f"{label_of(memory)}:{key}", _WIDE_WINDOW)
        others = [other for other in again if other.claim == memory.claim and other.id != memory.id]
        for one in others if any(one.memory == memory.id for one in said) else ():
            _list(contest, one)
        listed = contest.said.setdefault(memory.claim, [])
        listed += [one for one in said if one.memory not in {memory.id, *(known.memory for known in listed)}]
        _bound(contest)
        return contest

    def _write(self, entry: Entry, key: str, sealed: Sealed | None, contest: Contest) -> None:
        if sealed is None:
            entry.put("rivals", key, _body(contest))
            self._questions().add(key)
        elif contest.outdates:
            entry.replace("rivals", sealed.row, _body(contest))
        else:
            entry.remove("rivals", sealed.row)

    def _answering(self, tag: str, window: int) -> Iterator[Memory]:
        rows = self._ledger.tagged("memories", tag, window, newest=True)
        for answer in self._ledger.tagged("answers", tag, window, newest=True):
            sealed = self._ledger.get("memories", json.loads(answer.row.body)["memory"])
            rows += [sealed] if sealed is not None else []
        return (memory_from(sealed) for sealed in rows if sealed.verified)

    def _enter(self, entry: Entry, key: str, memory: Memory, others: Sequence[Memory]) -> None:
        """List a memory, and those it contradicts, in the row of a question, if it has one or needs one."""
        sealed = self._ledger.get("rivals", key) if key in self._questions() else None
        contest = _read(sealed) if sealed else Contest()
        for other in _one_of_each([*self._listed(contest), *others], contest, memory.claim):
            _compare(contest, memory, other)
        if memory.claim in contest.outdates:
            for one in (*(other for other in others if other.claim in contest.outdates[memory.claim]), memory):
                _list(contest, one)
            _bound(contest)
            self._write(entry, key, sealed, contest)

    def _listed(self, contest: Contest) -> Iterator[Memory]:
        """One memory for each claim that is listed."""
        for said in contest.said.values():
            sealed = self._ledger.get("memories", said[-1].memory) if said else None
            if sealed is not None and sealed.verified:
                yield memory_from(sealed)

    def _contest(self, key: str) -> Contest | None:
        sealed = self._ledger.get("rivals", key)
        return _read(sealed) if sealed else None

    def _links(self, memory: Memory, contest: Contest) -> Iterator[ContradictionLink]:
        outdates = contest.outdates.get(memory.claim)
        if outdates is None:
            outdates = self._compared_anew(memory, contest) if memory.order <= contest.let_go else {}
        for claim, is_whole in outdates.items():
            for one in contest.said.get(claim, ()):
                is_newer = one.when > _when(memory)
                yield ContradictionLink(one.memory, one.version, one.by, is_newer, utc_moment(one.since), is_whole)

    def _compared_anew(self, memory: Memory, contest: Contest) -> dict[str, bool]:
        """A claim that many newer ones have crowded out of its row is compared with them by its text."""
        if is_hearsay(memory):
            return {}
        mine = claim_in(memory)
        listed = {other.claim: other for other in self._listed(contest)}
        compared = ((claim, outdated(mine, claim_in(other))) for claim, other in listed.items())
        # What a row that was altered said nobody can know; it is taken to contradict, until a person decides.
        unknown = {claim: True for claim, said in contest.said.items() if said and claim not in listed}
        return unknown | {claim: len(parts) == len(mine.clauses) for claim, parts in compared if parts}

    def _questions(self) -> set[str]:
        if self._changes.is_quiet:
            return self._contested
        with self._changes.taken() as changed:
            if changed is None:
                self._contested |= {sealed.row.id for sealed in self._ledger.all("rivals")}
            elif changed.places:
                rows = self._ledger.at("rivals", sorted(changed.places))
                self._contested |= {sealed.row.id for sealed in rows.values()}
        return self._contested


def _compare(contest: Contest, memory: Memory, other: Memory) -> None:
    mine, theirs = claim_in(memory), claim_in(other)
    if parts := outdated(theirs, mine):
        contest.outdates.setdefault(other.claim, {})[memory.claim] = len(parts) == len(theirs.clauses)
        contest.outdates.setdefault(memory.claim, {})[other.claim] = len(outdated(mine, theirs)) == len(mine.clauses)


def _one_of_each(others: Iterable[Memory], contest: Contest, claim: str) -> list[Memory]:
    """One statement of each other claim that is not known to contradict this one already."""
    known = {claim, *contest.outdates.get(claim, ())}
    return list({other.claim: other for other in others if other.claim not in known}.values())


def _list(contest: Contest, memory: Memory) -> None:
    if is_hearsay(memory):
        if memory.claim not in contest.hearsay:
            contest.hearsay.append(memory.claim)
        return
    said = contest.said.setdefault(memory.claim, [])
    said[:] = [one for one in said if one.memory != memory.id]
    by = APPROVED if memory.approval is not None else memory.origin.principal or memory.origin.channel
    said.append(ClaimStatement(memory.id, memory.version, by, _when(memory), utc_text(memory.begins)))
    said.sort(key=lambda one: one.when)
    spare = [one for one in said if one.by == by][1:-_STATEMENTS_OF_ONE]
    said[:] = [one for one in said if one not in spare]


def _bound(contest: Contest) -> None:
    """Keep the latest claims of every source; hearsay has a share of its own."""
    kept: set[str] = set()
    for by in {one.by for said in contest.said.values() for one in said}:
        latest = [
            (max(one.when for one in said if one.by == by), claim)
            for claim, said in contest.said.items()
            if any(one.by == by for one in said)
        ]
        kept |= {claim for _, claim in sorted(latest)[-_CLAIMS_OF_ONE:]}
    for claim in [claim for claim, said in contest.said.items() if said and claim not in kept]:
        contest.let_go = max(contest.let_go, *(one.when[1] for one in contest.said[claim]))
        _forget(contest, claim)
    contest.hearsay = [claim for claim in contest.hearsay if not contest.said.get(claim)]
    while len(contest.hearsay) > _MOST_HEARSAY:
        _forget(contest, contest.hearsay.pop(0))
    for claim in [claim for claim, said in contest.said.items() if not said]:
        if claim in contest.hearsay:
            del contest.said[claim]
        else:
            _forget(contest, claim)


def _forget(contest: Contest, claim: str) -> None:
    contest.said.pop(claim, None)
    contest.outdates.pop(claim, None)
    for others in contest.outdates.values():
        others.pop(claim, None)


def _when(memory: Memory) -> tuple[str, int]:
    """Which of two is the newer: the moment it is about, and at the same moment the order of writing."""
    return utc_text(memory.as_of), memory.order


def _body(contest: Contest) -> dict[str, Any]:
    said = {
        claim: [[one.memory, one.version, one.by, *one.when, one.since] for one in listed]
        for claim, listed in contest.said.items()
    }
    return {"v": 1, "said": said, "outdates": contest.outdates, "hearsay": contest.hearsay, "let_go": contest.let_go}


def _read(sealed: Sealed) -> Contest:
    body = json.loads(sealed.row.body)
    said = {
        claim: [
            ClaimStatement(memory, version, by, (as_of, order), since)
            for memory, version, by, as_of, order, since in one
        ]
        for claim, one in body["said"].items()
    }
    return Contest(said, body["outdates"], body["hearsay"], body["let_go"])
