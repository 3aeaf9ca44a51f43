"""The worlds in which the promises are tried: whose keep it is, who may write to it, and a clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from truekeep.config import MEMBER_CAPABILITIES, Settings, default_channels
from truekeep.trust.influence import Reader
from truekeep.types import MEMBER, Channel, Standing

SYSTEMS = ("crm", "billing")
DESK = "desk"
"""A system that is enrolled and retired along the way."""
SESSIONS = ("s-1", "s-2")
PAYING = Reader(purpose="pay")
"""A reader that only differs where an approval is for that purpose."""
CLEARING = "s-clearing"
"""Where the owner clears what was first met as hearsay; nothing else happens there."""


@dataclass(frozen=True)
class World:
    """One variant: a preset, and the members of a shared keep if it is one."""

    name: str
    policy: str
    members: Mapping[str, str] = field(default_factory=dict)
    """For whom each session acts."""

    @property
    def is_shared(self) -> bool:
        return bool(self.members)

    @property
    def readers(self) -> tuple[Reader, ...]:
        """For whom the keep is read."""
        if not self.is_shared:
            return (Reader(), PAYING)
        return tuple(Reader(name, is_shared_keep=True) for name in (*sorted(set(self.members.values())), None))

    def channel(self, name: str) -> str:
        """``owner`` and ``other`` are the user, or two members who share the keep."""
        if name not in ("owner", "other"):
            return name
        people = sorted(set(self.members.values()))
        return f"{MEMBER}{people[name == 'other']}" if people else "user"

    def speaker(self, session: str) -> str:
        """The channel of whoever talks in a session."""
        return f"{MEMBER}{self.members[session]}" if session in self.members else "user"

    def settings(self) -> Settings:
        """Settings with small limits, so that a short sequence reaches them."""
        enrolled = {name: Channel(name, Standing.ENROLLED, frozenset({"write"})) for name in SYSTEMS}
        people = {f"{MEMBER}{name}" for name in self.members.values()}
        members = {name: Channel(name, Standing.OWNER, MEMBER_CAPABILITIES) for name in people}
        return Settings(
            policy=self.policy,
            embedder="none",
            queue_per_principal=3,
            queue_expiry_days=10,
            credits_per_hour=1_000,
            learn="off",  # what is learned is learned by Distil, at a moment that the machine chooses
            tools={"pay": {"reads": False}, "send_email": {"reads": False}},
            channels=default_channels() | enrolled | members,
        )


ALONE = World("alone", "strict")
INFORMED = World("informed", "inform")
SHARED = World("shared", "strict", {"s-1": "bob", "s-2": "eva"})
