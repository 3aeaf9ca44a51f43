"""The symbolic record of one keep: what was written, said, read and credited, kept without the product's help.

It knows what each text states because it was taken from the pools, and which standing a text can have at most because
it knows over which channel it was sent and what the session had seen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any

from tests.promises.vocabulary import MEANING, Fact, meaning
from tests.promises.world import DESK, SYSTEMS, World
from truekeep import TruekeepError
from truekeep.trust.influence import hearsay_marks as _hearsay_marks
from truekeep.types import MEMBER, Approval, Memory, Standing, Verdict


@cache
def hearsay_marks(text: str) -> tuple[str, ...]:
    """What of a text would be recognised, read once."""
    return _hearsay_marks(text)


class PromiseBroken(AssertionError):
    """A sequence of operations for which a promise does not hold."""


@dataclass(frozen=True)
class Outcome:
    """What an operation answered, or the code of the error it raised."""

    code: str
    ok: bool = True
    memory_id: str | None = None
    item_id: str | None = None
    value: Any = None
    is_doubtful: bool = False
    """Whether it is about hearsay, or about what the agent wants, whose place in the queue others may take up."""


def attempt(call: Callable[[], Any]) -> Outcome:
    """The outcome of a call; a refusal is an answer."""
    try:
        return answered(call())
    except TruekeepError as error:
        return Outcome(error.code, ok=False)


def answered(value: Any) -> Outcome:
    """The outcome of a call that was not refused."""
    if isinstance(value, Verdict):
        return Outcome(value.code, memory_id=value.memory_id, item_id=value.item_id, value=value)
    return Outcome("ok", value=value)


@dataclass(frozen=True)
class Written:
    """What the record knows of a memory."""

    text: str
    fact: Fact | None
    channel: str
    principal: str | None
    most: Standing
    """The highest standing that its channel, session and parents allow."""
    parents: tuple[str, ...] = ()
    approval: Approval | None = None
    is_extra: bool = False

    @property
    def is_hearsay(self) -> bool:
        """Whether nobody vouches for it."""
        return self.most is Standing.HEARSAY and self.approval is None


@dataclass
class Record:
    """What happened to one keep."""

    name: str
    world: World
    clock: Callable[[], datetime]
    written: dict[str, Written] = field(default_factory=dict)
    """By id, as the memory now reads."""
    versions: dict[tuple[str, int], Written] = field(default_factory=dict)
    mediated: set[str] = field(default_factory=set)
    heard: set[str] = field(default_factory=set)
    """Sessions that took in hearsay, by whichever way."""
    said: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What the person behind a session said in it, in their own words."""
    read: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    firsts: dict[str, Standing] = field(default_factory=dict)
    """Who was first to mention a telling value or a claim; the owner's word clears it."""
    frozen: dict[str, str] = field(default_factory=dict)
    """The snapshots of sessions, as they were made."""
    credits: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Good less bad outcomes of runs that used the memory as it then read."""

    # Memories

    def note(self, memory: Memory, known: Written) -> None:
        """Write down a version of a memory."""
        self.written[memory.id] = self.versions[memory.id, memory.version] = known

    def follow(self, memories: Mapping[str, Memory]) -> None:
        """Read each memory as the version that is there: a person may have brought an earlier one back.

        A version of the same words, as being said again or an undo leaves it, is known by them.
        """
        for memory in memories.values():
            if known := self.versions.get((memory.id, memory.version)):
                self.written[memory.id] = known
            elif (known := self.written.get(memory.id)) is not None and known.text == memory.text:
                self.note(memory, known)
        for gone in self.written.keys() - memories.keys():
            self.written[gone] = replace(self.written[gone], fact=None)

    def set_apart(self, memory_id: str) -> None:
        """From here on a memory belongs to the extra hearsay."""
        for key, known in self.versions.items():
            if key[0] == memory_id:
                self.versions[key] = replace(known, is_extra=True)
        self.written[memory_id] = replace(self.written[memory_id], is_extra=True)

    def lineage(self, memory_id: str) -> frozenset[str]:
        """A memory and everything it was derived from."""
        found: set[str] = set()
        waiting = [memory_id]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.written[one].parents if one in self.written else ()
        return frozenset(found)

    # Standing

    def most(
        self, text: str, via: str, session: str | None, principal: str | None, parents: Iterable[str], quote: str | None
    ) -> Standing:
        """The highest standing that a text may have, from how it was sent and nothing else."""
        if via == "agent":
            standing = self._most_of_agent(text, session, quote)
        elif via == "user" or via.startswith(MEMBER):
            standing = Standing.OWNER
        else:
            standing = Standing.ENROLLED if _is_enrolled(via) else Standing.HEARSAY
        if principal is not None and principal != own_name(via):
            standing = Standing.HEARSAY
        return min((standing, *(self.written[parent].most for parent in parents)))

    def _most_of_agent(self, text: str, session: str | None, quote: str | None) -> Standing:
        if session is None:
            return Standing.HEARSAY
        if quote is not None and self._was_said(session, quote, text):
            return Standing.OWNER
        return Standing.ENROLLED if self.is_clean(session) else Standing.HEARSAY

    def is_clean(self, session: str | None) -> bool:
        """Whether the agent may stand above hearsay there, as far as the record knows."""
        return session in self.mediated and session not in self.heard

    def _was_said(self, session: str, quote: str, text: str) -> bool:
        """Whether the person behind the session said just that: the quote, and the fact."""
        said = self.said[session]
        return any(quote in one for one in said) and any(
            stated in one for one in said for stated, fact in MEANING.items() if fact == meaning(text)
        )

    # Who was first

    def mention(self, text: str, standing: Standing, *, reviewed: bool = False) -> None:
        """Note who was first to mention what a text tells; the owner and a reviewer clear it, a member does not."""
        clears = reviewed or (standing is Standing.OWNER and not self.world.is_shared)
        for mark in hearsay_marks(text):
            if clears and mark in self.firsts:
                self.firsts[mark] = Standing.OWNER
            elif not clears:
                self.firsts.setdefault(mark, min(standing, Standing.ENROLLED))

    def repeats_hearsay(self, text: str) -> bool:
        """Whether something in the text was first met as hearsay, and nobody has cleared it."""
        return any(self.firsts.get(mark) is Standing.HEARSAY for mark in hearsay_marks(text))

    # Sessions

    def heard_person(self, session: str, via: str, text: str) -> None:
        """Note what a person said: their own words, and what they only handed on."""
        lead, _, pasted = text.partition("\n\n")
        if text not in self.read[session] and via == self.world.speaker(session):
            self.said[session].append(lead)
        if pasted or text in self.read[session]:
            self.heard.add(session)

    def shown(self, session: str | None, memories: Iterable[Memory]) -> None:
        """Note what a session was shown."""
        if session is not None and any(is_hearsay(memory) for memory in memories):
            self.heard.add(session)


def is_hearsay(memory: Memory) -> bool:
    """Whether showing it to a session is showing hearsay."""
    return memory.standing is Standing.HEARSAY and memory.approval is None


def _is_enrolled(via: str) -> bool:
    return via in (*SYSTEMS, DESK)


def own_name(via: str) -> str | None:
    """Whom a channel speaks for by itself."""
    if via.startswith(MEMBER):
        return via.removeprefix(MEMBER)
    return via if _is_enrolled(via) else None
