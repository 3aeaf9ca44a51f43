"""Channels: the authenticated ways into one keep. The operator's settings, and what was enrolled or retired here.

What a person enrols in a keep is a sealed row with who and why. Retiring a channel closes the way in; what it said
before stays, and is taken back with ``revoke``. A mute refuses one source of hearsay at the gate, without waiting for
anybody; it is a sealed row beside the channels, found by a keyed hash of its source.
"""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.config import CAPABILITIES, MEMBER_CAPABILITIES, Settings, default_channels
from truekeep.errors import InvalidName, InvalidRequest, NotAllowed, UnknownChannel
from truekeep.trust.candidate import checked_reason
from truekeep.trust.origin import AGENT, person_name
from truekeep.trust.principal import principal_of
from truekeep.types import MEMBER, Candidate, Channel, Standing, utc_text

if TYPE_CHECKING:
    from truekeep.stores.ledger import Ledger, Sealed

_NAME = re.compile(rf"(?:{MEMBER})?[a-z0-9][a-z0-9_.-]{{0,59}}", re.ASCII)
_MUTED = "muted:"
_REVIEWER = "reviewer:"
_OF_SYSTEMS = frozenset({"write"})
_NEVER_ENROLLED = frozenset({"credit", "review"})


def configured(settings: Settings, name: str) -> Channel | None:
    """The channel of that name before any keep has its own; ``reviewer:NAME`` always exists and can only review."""
    if name.startswith(_REVIEWER) and len(name) > len(_REVIEWER):
        return Channel(name, None, frozenset({"review"}))
    return settings.channels.get(name)


class Channels:
    """The channels of one keep."""

    def __init__(self, ledger: Ledger, settings: Settings, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._settings = settings
        self._clock = clock
        self.mutes = Mutes(ledger, clock)

    def get(self, name: str) -> Channel:
        """The channel of that name; ``reviewer:NAME`` always exists and can only review."""
        if not isinstance(name, str):
            raise UnknownChannel("The channel must be a string.", hint=self._known())
        is_own = not name.startswith((_REVIEWER, _MUTED))
        sealed = self._ledger.get("channels", name) if is_own else None
        found = self._enrolled(sealed) if sealed else configured(self._settings, name)
        if found is None:
            raise UnknownChannel("No such channel is configured.", hint=self._known())
        return found

    def is_shared(self) -> bool:
        """Whether several members share the keep, so that OWNER is relative to the reader."""
        if any(name.startswith(MEMBER) for name in self._settings.channels):
            return True
        own = [] if self._ledger.is_empty("channels") else self._ledger.all("channels")
        return any(sealed.row.id.startswith(MEMBER) for sealed in own)

    def list(self) -> list[dict[str, Any]]:
        """Every channel with its standing, its capabilities and where it was set up."""
        own = {sealed.row.id: sealed for sealed in self._own()}
        built_in = default_channels()
        listed = [
            _entry(channel, "built in" if built_in.get(name) == channel else "settings")
            for name, channel in self._settings.channels.items()
            if name not in own
        ]
        listed += [self._own_entry(sealed) for sealed in own.values()]
        return sorted(listed, key=lambda entry: str(entry["name"]))

    def enrol(self, name: str, *, by: str, reason: str, capabilities: Iterable[str] | None = None) -> Channel:
        """Let a system, or with ``member:NAME`` a person of a shared keep, write over a channel of its own."""
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name.startswith(_REVIEWER):
            raise InvalidName(
                "The channel's name cannot be used.",
                code="invalid_channel_name",
                hint="Use 1 to 60 small letters, digits, '.', '-' or '_'; 'member:NAME' for a person.",
            )
        if name in self._settings.channels:
            self._reopen(name, by, reason)
            return self.get(name)
        is_member = name.startswith(MEMBER)
        given = (
            frozenset(capabilities) if capabilities is not None else MEMBER_CAPABILITIES if is_member else _OF_SYSTEMS
        )
        if unknown := given - CAPABILITIES:
            raise InvalidRequest(
                f"{len(unknown)} unknown capabilities were given.",
                code="unknown_capability",
                hint=f"Capabilities: {', '.join(sorted(CAPABILITIES))}.",
            )
        if given & _NEVER_ENROLLED:
            raise InvalidRequest(
                "A channel that writes can neither credit nor review.",
                code="capability_conflict",
                hint="Set up a channel without a standing in config.toml for that.",
            )
        channel = Channel(name, Standing.OWNER if is_member else Standing.ENROLLED, given)
        self._write(channel, "enrolled", by, reason)
        return channel

    def retire(self, name: str, *, by: str, reason: str) -> None:
        """Close a way in. What came over it stays as it is.

        What the settings set up is closed there: retired here it could not be enrolled again as it was. A reviewer has
        no way in of a keep's to close: their tokens are revoked.
        """
        if isinstance(name, str) and name.startswith(_REVIEWER):
            raise InvalidRequest(
                "A reviewer cannot be retired.", code="built_in_channel", hint="Revoke their tokens: 'truekeep tokens'."
            )
        known = self.get(name)
        if name in self._settings.channels:
            raise InvalidRequest(
                "A channel of the settings cannot be retired.",
                code="built_in_channel",
                hint="Mute its sources, or leave it out of the settings and of the tokens.",
            )
        self._write(known, "retired", by, reason)

    def _reopen(self, name: str, by: str, reason: str) -> None:
        """Give a channel of the settings back as they have it, if an older version retired it or enrolled over it.

        What the operator bound to a standing stays so: nobody in a keep makes a source of hearsay more than that.
        """
        sealed = self._ledger.get("channels", name)
        if sealed is None or not sealed.verified:
            raise InvalidRequest(
                "A channel of the settings cannot be enrolled anew.",
                code="built_in_channel",
                hint="Choose another name, or change what it is in the settings.",
            )
        self._write(self._settings.channels[name], "enrolled", by, reason)

    def mute(self, channel: str, principal: str | None = None, *, by: str, reason: str) -> None:
        """Refuse from here on what a source of hearsay says; an enrolled system's way in is retired instead."""
        known = self.get(channel)
        if known.standing is not Standing.HEARSAY:
            raise InvalidRequest(
                "Only sources of hearsay can be muted.", code="cannot_mute", hint="Retire the channel."
            )
        self.mutes.mute(known.name, principal_of(known.name, principal), by=by, reason=reason)

    def unmute(self, channel: str, principal: str | None = None, *, by: str, reason: str) -> bool:
        """Listen to a source again; says whether it was muted."""
        return self.mutes.unmute(channel, principal_of(channel, principal), by=by, reason=reason)

    def muted(self) -> builtins.list[Mute]:
        """Every muted source."""
        return self.mutes.listed()

    def _own(self) -> builtins.list[Sealed]:
        return [sealed for sealed in self._ledger.all("channels") if not sealed.row.id.startswith(_MUTED)]

    def _write(self, channel: Channel, state: str, by: str, reason: str) -> None:
        body = {
            "v": 1,
            "state": state,
            "standing": channel.standing.label if channel.standing is not None else None,
            "capabilities": sorted(channel.capabilities),
            "by": person_name(by),
            "reason": checked_reason(reason),
            "at": utc_text(self._clock()),
        }
        with self._ledger.writing() as entry:
            entry.set("channels", channel.name, body)
            entry.event(f"channel.{state}", channel=channel.name, by=by, reason=reason)

    def _enrolled(self, sealed: Sealed) -> Channel:
        if not sealed.verified:
            raise NotAllowed(
                "This channel's enrolment was altered, so nothing comes in over it.",
                code="channel_unverified",
                hint="Enrol or retire it again; 'truekeep audit verify' shows what else was altered.",
            )
        body = json.loads(sealed.row.body)
        if body["state"] == "retired":
            raise NotAllowed(
                "This channel was retired.",
                code="channel_retired",
                hint="Enrol it again with 'truekeep channels enrol'.",
            )
        standing = Standing[body["standing"].upper()] if body["standing"] else None
        return Channel(sealed.row.id, standing, frozenset(body["capabilities"]))

    def _own_entry(self, sealed: Sealed) -> dict[str, Any]:
        if not sealed.verified:
            name = sealed.row.id if _NAME.fullmatch(sealed.row.id) else f"row-{sealed.row.seq}"
            return _entry(Channel(name, None, frozenset()), "altered")
        body = json.loads(sealed.row.body)
        standing = Standing[body["standing"].upper()] if body["standing"] else None
        channel = Channel(sealed.row.id, standing, frozenset(body["capabilities"]))
        return _entry(channel, body["state"]) | {"by": body["by"], "reason": body["reason"], "at": body["at"]}

    def _known(self) -> str:
        names = sorted({*self._settings.channels, *(sealed.row.id for sealed in self._own())})
        listed = ", ".join(name for name in names if _NAME.fullmatch(name))
        return f"Channels: {listed}. Add others with 'truekeep channels enrol' or under [channels.NAME] in config.toml."


def _entry(channel: Channel, state: str) -> dict[str, Any]:
    return {
        "name": channel.name,
        "standing": channel.standing.label if channel.standing is not None else None,
        "capabilities": sorted(channel.capabilities),
        "state": state,
    }


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
            "reason": checked_reason(reason),
            "at": utc_text(self._clock()),
        }
        with self._ledger.writing() as entry:
            entry.set("channels", self._key(channel, principal), body)
            entry.event("source.muted", channel=channel, principal=principal, by=by, reason=reason)

    def unmute(self, channel: str, principal: str | None, *, by: str, reason: str) -> bool:
        """Listen to a source again; says whether it was muted."""
        person_name(by)
        checked_reason(reason)
        with self._ledger.writing() as entry:
            known = self._ledger.get("channels", self._key(channel, principal))
            if known is None:
                return False
            entry.remove("channels", known.row)
            entry.event("source.unmuted", channel=channel, principal=principal, by=by, reason=reason)
        return True

    def listed(self) -> list[Mute]:
        """Every muted source, in the order in which they were muted."""
        bodies = [json.loads(row.row.body) for row in self._ledger.all("channels") if row.row.id.startswith(_MUTED)]
        return [Mute(one["channel"], one["principal"], one["by"], one["reason"], one["at"]) for one in bodies]

    def _key(self, channel: str, principal: str | None) -> str:
        return _MUTED + self._ledger.digest("mute", f"{channel}\x00{principal or ''}")
