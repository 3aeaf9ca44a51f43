"""What waits for the owner's own word, by the day and the place it was noted at, so that one step confirms many.

It is what the owner said and a screen held, and what an agent noted. What could do harm is never confirmed with the
rest: findings, contradictions, and whatever names an account, an address or a link are looked at one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from truekeep.text.salient import names_a_target
from truekeep.trust.origin import AGENT, is_moved
from truekeep.trust.policy import Ruling
from truekeep.types import Decision, Finding, Item, Standing

NOTED_BEFORE = Ruling(Decision.QUARANTINE, "noted_before", "Noted earlier, not in your words; confirm what is right.")
"""For what an earlier version learned without a quote of the owner's."""
MOVED_IN = Ruling(Decision.QUARANTINE, "moved_in", "It was moved in from another memory; take over what is yours.")
MOVED_APART = Ruling(
    Decision.QUARANTINE,
    "moved_in_apart",
    "It was moved in from another memory, and contradicts something or names an account, an address or a link.",
)
"""For what was moved in and is never taken over together with others."""
SAMPLES = 3


@dataclass(slots=True)
class NotedGroup:
    """Things that were noted on one day in one place, or moved in from one source, and wait for the owner."""

    key: str
    items: list[Item] = field(default_factory=list)
    """What one step confirms, oldest first."""
    apart: list[Item] = field(default_factory=list)
    """What has to be looked at one by one."""

    @property
    def first(self) -> Item:
        """The one that was noted first."""
        return min((*self.items, *self.apart), key=lambda item: item.created_at)

    @property
    def source(self) -> str:
        """Where it was moved in from; nothing for what was noted here."""
        return self.first.memory.origin.principal or "" if is_moved(self.first.memory.origin) else ""

    @property
    def place(self) -> str:
        """The session it was noted in, or the channel; nothing for what an earlier version noted."""
        return _place(self.first)

    @property
    def when(self) -> str:
        """When it was noted, in words."""
        if self.first.code == NOTED_BEFORE.code:
            return "before the upgrade"
        if self.source:
            return "in another memory"
        day = self.first.created_at
        return f"on {day:%A} {day.day} {day:%B}"

    @property
    def title(self) -> str:
        """What it is, in a line."""
        count = len(self.items) + len(self.apart)
        if self.source:
            return f"{count:,} thing{'s' if count != 1 else ''} moved in from {self.source}"
        things = f"{count:,} thing{'s' if count != 1 else ''} noted {self.when}"
        return f"{things}, {self.place}" if self.place else things


def noted_key(item: Item) -> str:
    """One key for what was noted on one day in one place; nothing for what does not wait for the owner's word.

    What was moved in is one group for each source.
    """
    memory = item.memory
    if item.kind == "memory" and is_moved(memory.origin):
        return _hashed(f"moved\x00{memory.origin.principal or ''}")
    if item.kind != "memory" or not (memory.standing is Standing.OWNER or memory.origin.channel == AGENT):
        return ""
    about = item.code if item.code == NOTED_BEFORE.code else f"{item.created_at:%Y-%m-%d}\x00{_place(item)}"
    return _hashed(about)


def goes_with_others(item: Item) -> bool:
    """Whether it may be confirmed together with others.

    Of what was moved in that was settled when it came: there may be a hundred thousand, and this is a listing. Whoever
    takes a group over looks at each again (``is_plain``).
    """
    if item.code in (MOVED_IN.code, MOVED_APART.code):
        return item.code == MOVED_IN.code
    return is_plain(item.memory.text, item.findings, item.contests)


def is_plain(text: str, findings: Sequence[Finding], contests: Sequence[str]) -> bool:
    """Whether nothing was found in a text, it contradicts nothing and names nothing that an act can go to."""
    return not findings and not contests and not names_a_target(text)


def noted_groups(items: Iterable[Item]) -> list[NotedGroup]:
    """The groups of what waits for the owner, in the order of their first items."""
    found: dict[str, NotedGroup] = {}
    for item in items:
        if key := noted_key(item):
            group = found.setdefault(key, NotedGroup(key))
            (group.items if goes_with_others(item) else group.apart).append(item)
    return list(found.values())


def _hashed(about: str) -> str:
    return hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _place(item: Item) -> str:
    if item.code == NOTED_BEFORE.code or is_moved(item.memory.origin):
        return ""
    origin = item.memory.origin
    return f"in session {origin.session}" if origin.session is not None else f"over {origin.channel}"
