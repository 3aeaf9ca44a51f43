"""Where text came from, as a revocation names it, and who is derived from whom.

A source is a principal, channel, session, prompt or time, all of those that are given. Something is derived by the
parents a memory names, or by what the agent had before it when it wrote.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING

from truekeep.config import NAME_CAP
from truekeep.errors import InvalidName, InvalidRequest
from truekeep.trust.candidate import checked_moment, checked_text
from truekeep.trust.origin import AGENT, session_name
from truekeep.trust.principal import principal_of
from truekeep.types import Memory, Standing, utc_text

if TYPE_CHECKING:
    from truekeep.read.exposures import Exposure
    from truekeep.sessions.transcripts import Observation


@dataclass(frozen=True, slots=True)
class Since:
    """From when on: by the audit log's own count, and by the clock only for rows from before that was kept.

    A clock can be set back, and a message can claim any date.
    """

    order: int
    at: datetime

    def includes(self, other: Since) -> bool:
        """Whether all that the other covers is covered; two that are counted differently include nothing."""
        return 0 < self.order <= other.order and self.at <= other.at

    def covers(self, memory: Memory) -> bool:
        """Whether the memory was written after that."""
        return memory.order >= self.order if self.order and memory.order else memory.created_at >= self.at


@dataclass(frozen=True, slots=True)
class LineageView:
    """The memories of a keep as a graph; ``seen`` says which sessions had which memory before them, and since when."""

    memories: Mapping[str, Memory]
    children: Mapping[str, frozenset[str]]
    seen: Mapping[str, Mapping[str, Since]]
    notes: Mapping[str, Sequence[Memory]]
    """By session, what the agent noted there and the owner did not say in so many words."""

    @classmethod
    def of(cls, memories: Iterable[Memory], exposures: Iterable[Exposure]) -> LineageView:
        """The graph over these memories."""
        known = {memory.id: memory for memory in memories}
        children: defaultdict[str, set[str]] = defaultdict(set)
        for memory in known.values():
            for parent in memory.origin.parents:
                children[parent].add(memory.id)
        seen: defaultdict[str, dict[str, Since]] = defaultdict(dict)
        for exposure in exposures:
            for memory_id, _ in exposure.memories:
                seen[memory_id].setdefault(exposure.session, Since(exposure.order, exposure.at))
        notes: defaultdict[str, list[Memory]] = defaultdict(list)
        for memory in known.values():
            if memory.origin.channel == AGENT and memory.standing is not Standing.OWNER and memory.approval is None:
                notes[memory.origin.session or ""].append(memory)
        return cls(known, {parent: frozenset(found) for parent, found in children.items()}, seen, notes)

    def derived(self, roots: Collection[str], read_in: Mapping[str, Since]) -> list[str]:
        """Everything derived from the roots, to the end, nearest first; the roots are not among it.

        ``read_in`` names sessions that read the source itself, and since when: what the agent noted there after that,
        other than the owner's proven words, may be its summary.
        """
        found: dict[str, None] = {}
        opened: dict[str, Since] = {}  # a session that many of them were shown to is looked through once
        waiting = deque(self._noted(read_in, opened))
        waiting += (child for root in roots for child in self._next(root, opened))
        while waiting:
            memory_id = waiting.popleft()
            if memory_id in roots or memory_id in found or memory_id not in self.memories:
                continue
            found[memory_id] = None
            waiting += self._next(memory_id, opened)
        return list(found)

    def ancestors(self, memory_id: str) -> list[str]:
        """The memories it is derived from by name, nearest first."""
        found: dict[str, None] = {}
        waiting = list(self.memories[memory_id].origin.parents) if memory_id in self.memories else []
        while waiting:
            parent = waiting.pop(0)
            if parent not in found:
                found[parent] = None
                waiting += self.memories[parent].origin.parents if parent in self.memories else ()
        return list(found)

    def _next(self, memory_id: str, opened: dict[str, Since]) -> list[str]:
        return [*sorted(self.children.get(memory_id, ())), *self._noted(self.seen.get(memory_id, {}), opened)]

    def _noted(self, sessions: Mapping[str, Since], opened: dict[str, Since]) -> list[str]:
        """What the agent noted in sessions since some moment, and the owner did not say in so many words.

        ``opened`` has those that were looked through, and since when: what came after that was told already.
        """
        found: list[str] = []
        for session, since in sessions.items():
            known = opened.get(session)
            if known is None or not known.includes(since):
                opened[session] = since
                found += [memory.id for memory in self.notes.get(session, ()) if since.covers(memory)]
        return found


@dataclass(frozen=True, slots=True)
class Source:
    """Where text came from; everything that is given has to match."""

    principal: str | None = None
    """As it was named; ``spellings`` are those that are stored."""
    channel: str | None = None
    session: str | None = None
    prompt: str | None = None
    since: datetime | None = None
    spellings: frozenset[str] = frozenset()

    @classmethod
    def checked(
        cls,
        principal: str | None,
        channel: str | None,
        session: str | None,
        prompt: str | None,
        since: datetime | None,
    ) -> Source:
        """The source that a caller names, in the spelling that is stored."""
        if all(given is None for given in (principal, channel, session, prompt, since)):
            raise InvalidRequest(
                "Nothing was named that could be revoked.",
                code="no_source",
                hint="Name a principal, channel, session, prompt or time.",
            )
        return cls(
            principal=principal,
            spellings=_spellings(principal) if principal is not None else frozenset(),
            channel=None if channel is None else checked_text(channel, NAME_CAP),
            session=None if session is None else session_name(session),
            prompt=None if prompt is None else checked_text(prompt, NAME_CAP),
            since=checked_moment("since", since),
        )

    def wrote(self, memory: Memory) -> bool:
        """Whether the memory came from there."""
        origin = memory.origin
        return (
            (self.principal is None or origin.principal in self.spellings)
            and (self.channel is None or self.channel in (origin.channel, origin.carrier))
            and (self.session is None or origin.session == self.session)
            and (self.prompt is None or origin.prompt == self.prompt)
            and (self.since is None or memory.created_at >= self.since)
        )

    def read_in(self, observations: Iterable[Observation], first: int = 0) -> dict[str, Since]:
        """The sessions that took in text from there, and since when. A prompt is not read by a session.

        ``first`` is the first audit event since the time that is given: when something was taken in is the log's
        word, not its sender's.
        """
        found: dict[str, Since] = {}
        for seen in observations if self._is_read() else ():
            if (
                (self.principal is None or seen.principal in self.spellings)
                and (self.channel is None or seen.channel == self.channel)
                and (self.session is None or seen.session == self.session)
                and (not seen.order or seen.order >= first)
            ):
                found.setdefault(seen.session, Since(seen.order, seen.at))
        return found

    def as_dict(self) -> dict[str, str]:
        """What was named, as JSON members."""
        given = ((entry.name, getattr(self, entry.name)) for entry in fields(self) if entry.name != "spellings")
        return {n: utc_text(v) if isinstance(v, datetime) else str(v) for n, v in given if v is not None}

    def _is_read(self) -> bool:
        return self.prompt is None and (self.principal is not None or self.channel is not None)


def _spellings(given: str) -> frozenset[str]:
    """A principal as it may be stored: the domain of a page or mail, or a plain name."""
    found = set()
    for kind in ("web", "email", ""):
        with suppress(InvalidName):
            found.add(principal_of(kind, given))
    if not found:
        raise InvalidName("The principal is not a URL, a domain or a name.", code="invalid_principal")
    return frozenset(name for name in found if name is not None)
