"""A session to try calls in: what the owner said, what is remembered, what was merely read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from truekeep.action import ActionJudgement, ActionsSettings, Evidence, MemoryTrust, ValueIndex, judge

NOW = datetime(2025, 3, 14, 12, tzinfo=UTC)


@dataclass
class World:
    owner: ValueIndex = field(default_factory=lambda: ValueIndex(is_owners=True))
    memories: ValueIndex = field(default_factory=ValueIndex)
    hearsay: ValueIndex = field(default_factory=lambda: ValueIndex(is_loose=True))
    observed: ValueIndex = field(default_factory=lambda: ValueIndex(is_loose=True))
    trust: dict[str, MemoryTrust] = field(default_factory=dict)
    spent: frozenset[tuple[str, int]] = frozenset()
    uses: dict[str, int] | None = None

    def says(self, text: str) -> World:
        self.owner.add(f"u{len(self.owner.sources)}", text, at=NOW)
        return self

    def knows(self, text: str, *, acts: bool = True, days: float = 1) -> World:
        name = f"m{len(self.memories.sources)}"
        self.memories.add(name, text, at=NOW - timedelta(days=days))
        self.trust[name] = MemoryTrust(acts, NOW - timedelta(days=days))
        return self

    def heard(self, text: str) -> World:
        self.hearsay.add(f"h{len(self.hearsay.sources)}", text, at=NOW)
        return self

    def reads(self, text: str, channel: str = "web", principal: str | None = "evil.example") -> World:
        self.observed.add(f"o{len(self.observed.sources)}", text, at=NOW, channel=channel, principal=principal)
        return self

    def call(self, name: str, settings: ActionsSettings | None = None, **arguments: Any) -> ActionJudgement:
        return judge(name, arguments, self.evidence(), settings)

    def evidence(self) -> Evidence:
        return Evidence(
            self.owner, self.memories, self.hearsay, self.observed, self.trust.get, NOW, self.spent, self.uses
        )

    def answer(self, name: str, settings: ActionsSettings | None = None, **arguments: Any) -> str:
        return self.call(name, settings, **arguments).decision.value
