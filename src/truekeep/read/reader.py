"""The way out: verify, decide what may be shown and what may act, sanitise. Every read path goes through here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from truekeep.claims.may_act_now import ANYBODY, MayActNow
from truekeep.errors import UnknownId
from truekeep.screens.credentials import redact
from truekeep.stores.records import memory_from
from truekeep.trust import fence
from truekeep.trust.candidate import MOST_NESTED, fields_of
from truekeep.trust.influence import UNRIVALLED, Reader, SuccessionPlace
from truekeep.trust.origin import AGENT
from truekeep.trust.policy import Policy, blocking
from truekeep.types import Memory, Standing, utc_text

if TYPE_CHECKING:
    from truekeep.claims.evidence import Evidence
    from truekeep.screens.panel import Panel, Screening
    from truekeep.stores.ledger import Ledger, Sealed

UNVERIFIED = "unverified_record"
_MOST_NESTED = 2 * MOST_NESTED
"""Reports put what is stored a few levels deeper. Keeps from before there was a limit may hold what is deeper still."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory as it may be shown: sanitised text or the placeholder, and what it may do."""

    memory: Memory
    text: str
    block_reason: tuple[str, ...]
    may_act: bool
    why: str
    place: SuccessionPlace = UNRIVALLED
    """What its rivals leave it."""
    fades_at: datetime | None = None
    """When it expires, unless it has come to be able to act by then."""
    gist: str = ""
    """The agent's reading of it, sanitised; for people, and for prompts where it is plain."""
    question: str = ""
    """What it answers, sanitised."""

    @property
    def retired_by(self) -> str | None:
        """The newer memory that has taken its place."""
        return self.place.retired_by[-1] if self.place.retired_by else None

    @property
    def valid_until(self) -> datetime | None:
        """From when on it no longer holds, by its own words or because something newer does."""
        ends = [moment for moment in (self.memory.valid_until, self.place.until) if moment is not None]
        return min(ends, default=None)

    def held_at(self, moment: datetime) -> bool:
        """Whether it held, or was believed, at that moment, as far as is known now."""
        ends = (self.valid_until, self.memory.expires_at, self.fades_at)
        return self.memory.begins <= moment and not any(_is_past(end, moment) for end in ends)

    def is_over(self, now: datetime) -> bool:
        """Whether it is history by then: expired, faded, or replaced as a whole."""
        return is_expired(self.memory, now) or bool(self.place.retired_by) or _is_past(self.fades_at, now)

    @property
    def blocked(self) -> bool:
        """Whether the placeholder stands in for the text."""
        return bool(self.block_reason)

    @property
    def is_note(self) -> bool:
        """Whether the agent wrote it down while nothing foreign was in sight: it informs and is clean."""
        memory = self.memory
        return memory.origin.channel == AGENT and memory.standing is Standing.ENROLLED and not self.blocked

    @property
    def origin(self) -> str:
        """Where it came from, in a few words."""
        origin = self.memory.origin
        return f"{origin.channel} {origin.principal}" if origin.principal else origin.channel

    @property
    def plain_gist(self) -> str:
        """The agent's reading, where a prompt may hold it: what a model or a tainted session worded is for people."""
        return self.gist if self.memory.gist is not None and self.memory.gist.is_plain else ""

    def as_dict(self) -> dict[str, Any]:
        """The entry of a listing."""
        memory = self.memory
        origin = {name: sanitised_json(value) for name, value in memory.origin.as_dict().items() if name != "quote"}
        return {
            "id": memory.id,
            "content": self.text,
            "gist": self.plain_gist,
            "question": self.question,
            "said": memory.said,
            "pinned": memory.pinned,
            "blocked": self.blocked,
            "block_reason": list(self.block_reason),
            "standing": memory.standing.label,
            "may_act": self.may_act,
            "why": self.why,
            "as_of": utc_text(memory.as_of),
            "created_at": utc_text(memory.created_at),
            "expires_at": _text(memory.expires_at),
            "fades_at": _text(self.fades_at),
            "valid_from": utc_text(memory.begins),
            "valid_until": _text(self.valid_until),
            "retired_by": self.retired_by,
            "contests": list(self.place.contests),
            "kind": memory.kind,
            "topics": [] if self.blocked else [fence.one_line(word) for word in memory.topics],
            "entities": [] if self.blocked else [fence.one_line(word) for word in memory.entities],
            "metadata": {} if self.blocked else sanitised_json(memory.metadata),
            "version": memory.version,
            "origin": origin if memory.verified else {"channel": "unknown"},
        }


class RecordReader:
    """Reads the memories of one keep."""

    def __init__(
        self,
        ledger: Ledger,
        evidence: Evidence,
        may_act_now: MayActNow,
        panel: Screening,
        policy: Policy,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._evidence = evidence
        self._may_act_now = may_act_now
        self._panel = panel
        self._policy = policy
        self._clock = clock
        self._judged: dict[tuple[str, int, str], tuple[str, ...]] = {}

    def found(self, memory_id: str) -> Sealed:
        """The memory of that id as it is in the store."""
        sealed = self._ledger.find_memory(memory_id) if isinstance(memory_id, str) else None
        if sealed is None:
            raise UnknownId(
                "No such memory in this keep.", hint="List them with keep.get_memories() or 'truekeep list'."
            )
        return sealed

    def shown(
        self, memory: Memory, now: datetime | None = None, panel: Panel | None = None, whom: Reader = ANYBODY
    ) -> Shown:
        """What a reader gets to see of a memory under the rules in force."""
        blocked = self.block_reason(memory, panel)
        if blocked:
            text = fence.placeholder(blocked, memory.id)
            why = "A rule in force blocks it." if memory.verified else "This keep did not write it as it is now."
            fades_at = self._evidence.fades_at(memory) if memory.verified else None
            return Shown(memory, text, blocked, may_act=False, why=why, fades_at=fades_at)

        def is_blocked(other: Memory) -> bool:
            return bool(self.block_reason(other, panel))

        settled = self._may_act_now.settled(memory, whom, now or self._clock(), is_blocked)
        fades_at = None if settled.merit.may_act else self._evidence.fades_at(memory)
        text, influence = fence.sanitised(_without_secrets(memory)), settled.influence
        gist, question = (
            self._beside(words, panel) for words in (memory.gist.text if memory.gist else "", memory.question)
        )
        return Shown(memory, text, (), influence.may_act, influence.why, settled.place, fades_at, gist, question)

    def _beside(self, words: str, panel: Panel | None) -> str:
        """The agent's words beside a memory, if today's rules let the agent's words stand; they are not the memory."""
        if not words:
            return ""
        findings = (panel or self._panel.current()).examine({"text": words}, Standing.ENROLLED)
        return "" if blocking(self._policy, Standing.HEARSAY, findings) else fence.one_line(words)

    def earlier(self, memory: Memory, until: datetime, panel: Panel | None = None) -> Shown:
        """What a reader gets to see of a version that was changed since. It never acts."""
        blocked = self.block_reason(memory, panel)
        text = fence.placeholder(blocked, memory.id) if blocked else fence.sanitised(memory.text)
        why = "A rule in force blocks it." if blocked else f"An earlier version; it was changed on {until:%Y-%m-%d}."
        return Shown(memory, text, blocked, may_act=False, why=why, place=SuccessionPlace(until=until))

    def listed(
        self,
        *,
        after: int = 0,
        limit: int | None = None,
        whom: Reader = ANYBODY,
        as_of: datetime | None = None,
    ) -> list[Shown]:
        """Memories in the order in which they were stored; what has expired or was replaced is left out.

        ``as_of`` lists what held at that moment instead, also what was replaced since.
        """
        shown = self._all_shown(after, limit, whom, as_of)
        return list(islice(shown, limit)) if limit is not None else list(shown)

    def _all_shown(self, after: int, page: int | None, whom: Reader, as_of: datetime | None) -> Iterator[Shown]:
        """Page after page, so that a page full of what is left out does not look like the end."""
        now, panel = self._clock(), self._panel.current()
        while rows := self._ledger.all("memories", after=after, limit=page):
            for memory in map(memory_from, rows):
                if as_of is None and is_expired(memory, now):
                    continue
                shown = self.shown(memory, now, panel, whom)
                if not shown.is_over(now) if as_of is None else shown.held_at(as_of):
                    yield shown
            if page is None or len(rows) < page:
                return
            after = rows[-1].row.seq

    @property
    def digest(self) -> str:
        """The digest of the screens in force: what they passed at writing is not looked at again."""
        return self._panel.current().digest

    def may_be_over(self, memory: Memory, now: datetime) -> bool:
        """Whether a memory could be history by now, told without its text; ``Shown.is_over`` knows."""
        fades_at = self._evidence.fades_at(memory)
        return is_expired(memory, now) or _is_past(fades_at, now) or self._may_act_now.is_contested(memory)

    def outcomes(self, memory: Memory) -> int:
        """How many more actions that relied on it turned out well than badly."""
        credits = self._evidence.credits(memory)
        return credits.good - credits.bad

    def served(self) -> dict[str, int]:
        """By its id, how many more actions that relied on a memory turned out well than badly, where any did."""
        counted = self._evidence.all_credits().items()
        return {
            memory_id: credits.good - credits.bad for (memory_id, _), credits in counted if credits.good > credits.bad
        }

    def block_reason(self, memory: Memory, panel: Panel | None = None) -> tuple[str, ...]:
        """The rule ids that block a memory now; what today's screens already passed at writing is not run again."""
        panel = panel or self._panel.current()
        if memory.verified and memory.screened == panel.digest:
            return ()
        if not memory.verified:
            findings = panel.examine({"text": memory.text}, Standing.HEARSAY)
            ids = dict.fromkeys(finding.rule_id for finding in findings)
            return (UNVERIFIED, *ids)
        key = (memory.id, memory.version, panel.digest)
        if key not in self._judged:
            self._judged[key] = blocked_by(memory, panel, self._policy)
        return self._judged[key]


def blocked_by(memory: Memory, panel: Panel, policy: Policy) -> tuple[str, ...]:
    """The ids of what the screens find in a memory today and the policy does not let pass."""
    approved = memory.approval
    standing = Standing.OWNER if approved else memory.standing
    findings = panel.examine(fields_of(memory), standing)
    return tuple(blocking(policy, standing, findings, approved.rules if approved else ()))


def _without_secrets(memory: Memory) -> str:
    """The text; of one that a person let in although something was found in it, without passwords, keys and codes."""
    if memory.approval is None or not memory.approval.rules:
        return memory.text
    return redact(memory.text)


def is_expired(memory: Memory, now: datetime) -> bool:
    """Whether the memory has expired, as whoever wrote it wished."""
    return _is_past(memory.expires_at, now)


def _is_past(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment <= now


def _text(moment: datetime | None) -> str | None:
    return utc_text(moment) if moment else None


def sanitised_json(value: Any, depth: int = 0) -> Any:
    """Nested JSON with every string on one line and sanitised, keys included; what lies too deep is left out."""
    if isinstance(value, str):
        return fence.one_line(value)
    if depth > _MOST_NESTED:
        return None
    if isinstance(value, Mapping):
        return {fence.one_line(str(key)): sanitised_json(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [sanitised_json(entry, depth + 1) for entry in value]
    return value
