"""Mutes: sources of hearsay that a person does not want to hear of any more.

What a muted source says is refused at the gate, without waiting for anybody; what came from it before stays as it is.
A mute is a sealed row beside the channels, found by a keyed hash of its source.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from truekeep.candidate import checked_text
from truekeep.errors import InvalidRequest
from truekeep.origin import AGENT, person_name
from truekeep.stores.ledger import Ledger
from truekeep.types import Candidate, Standing, utc_text

PREFIX = "muted:"
_REASON_CAP = 2_000


@dataclass(frozen=True, slots=True)
class Mute:
    """A muted source: who muted it, when and why."""

    channel: str
    principal: str | None
    by: str
    reason: str
    at: str


class Mutes:
    """The muted sources of one keep."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._clock = clock

    def covers(self, candidate: Candidate) -> bool:
        """Whether a text comes from a muted source. Only hearsay can be muted."""
        if candidate.standing is not Standing.HEARSAY or self._ledger.is_empty("channels"):
            return False
        origin = candidate.origin
        return self._ledger.get("channels", self._key(origin.channel, origin.principal)) is not None

    def mute(self, channel: str, principal: str | None, *, by: str, reason: str) -> None:
        """Refuse what a source says from here on."""
        if channel == AGENT:
            raise InvalidRequest("What the agent itself writes cannot be muted.", code="cannot_mute")
        body: dict[str, Any] = {
            "v": 1,
            "state": "muted",
            "channel": channel,
            "principal": principal,
            "by": person_name(by),
            "reason": checked_text(reason, _REASON_CAP),
            "at": utc_text(self._clock()),
        }
        with self._ledger.writing() as entry:
            key = self._key(channel, principal)
            known = self._ledger.get("channels", key)
            if known is None:
                entry.put("channels", key, body)
            else:
                entry.replace("channels", known.row, body)
            entry.event("source.muted", channel=channel, principal=principal, by=by, reason=reason)

    def unmute(self, channel: str, principal: str | None, *, by: str, reason: str) -> bool:
        """Listen to a source again; says whether it was muted."""
        person_name(by)
        checked_text(reason, _REASON_CAP)
        with self._ledger.writing() as entry:
            known = self._ledger.get("channels", self._key(channel, principal))
            if known is None:
                return False
            entry.remove("channels", known.row)
            entry.event("source.unmuted", channel=channel, principal=principal, by=by, reason=reason)
        return True

    def listed(self) -> list[Mute]:
        """Every muted source, in the order in which they were muted."""
        bodies = [json.loads(row.row.body) for row in self._ledger.all("channels") if row.row.id.startswith(PREFIX)]
        return [Mute(one["channel"], one["principal"], one["by"], one["reason"], one["at"]) for one in bodies]

    def _key(self, channel: str, principal: str | None) -> str:
        return PREFIX + self._ledger.digest("mute", f"{channel}\x00{principal or ''}")
