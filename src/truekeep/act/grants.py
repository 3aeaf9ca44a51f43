"""Grants: the owner's standing permissions. A tool, a pattern for each target, a cap, an end.

Only whoever may confirm for the owner makes one; a grant replaces the owner's request, and never proves a value that
came from hearsay.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from truekeep.errors import UnknownId
from truekeep.stores.records import new_id
from truekeep.stores.table_view import TableView
from truekeep.trust.candidate import checked_moment, checked_text
from truekeep.trust.flow.evidence import StandingGrant
from truekeep.trust.origin import own_principal, person_name, require
from truekeep.types import utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.sessions.channels import Channels
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

OWNER = "owner"
_LONGEST = 500  # a pattern is matched against every call, so it stays short
_Kept = tuple[str | None, StandingGrant]


class Grants:
    """The grants of one keep."""

    def __init__(self, ledger: Ledger, channels: Channels, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._channels = channels
        self._clock = clock
        self._view: TableView[_Kept] = TableView(ledger, "grants", _kept)

    def add(
        self,
        *,
        tool: str,
        where: Mapping[str, str],
        cap: Mapping[str, str] | None = None,
        until: datetime | None = None,
        by: str,
        via: str = "user",
    ) -> StandingGrant:
        """Permit calls of a tool whose targets fit the patterns, until a moment or for good."""
        channel = self._channels.get(via)
        require(channel, "confirm")
        made = StandingGrant(
            id=new_id("gnt"),
            tool=checked_text(tool, _LONGEST),
            where={checked_text(name, _LONGEST): checked_text(fits, _LONGEST) for name, fits in where.items()},
            cap={checked_text(name, _LONGEST): checked_text(str(most), _LONGEST) for name, most in (cap or {}).items()},
            until=checked_moment("until", until),
        )
        with self._ledger.writing() as entry:
            self._put(entry, made, own_principal(channel), person_name(by))
        return made

    def list(self, *, via: str | None = None) -> list[StandingGrant]:
        """Every grant, oldest first, also those that have ended; with ``via`` those that this channel could give."""
        kept = self._view.now().values()
        if via is None:
            return [grant for _, grant in kept]
        whose = own_principal(self._channels.get(via))
        return [grant for owner, grant in kept if owner == whose]

    def remove(self, grant_id: str, *, by: str, via: str = "user") -> None:
        """Take a grant back; another member's is not there."""
        channel = self._channels.get(via)
        require(channel, "confirm")
        with self._ledger.writing() as entry:
            sealed = self._ledger.get("grants", grant_id) if isinstance(grant_id, str) else None
            if sealed is None or (sealed.verified and _kept(sealed)[0] != own_principal(channel)):
                raise UnknownId("No such grant.", code="unknown_grant", hint="List them with 'truekeep grants'.")
            entry.remove("grants", sealed.row)
            entry.event("grant.removed", grant=grant_id, by=person_name(by))

    def standing(self, whose: str | None) -> tuple[StandingGrant, ...]:
        """The grants of whom a session acts for."""
        return tuple(grant for owner, grant in self._view.now().values() if owner == whose)

    def _put(self, entry: Entry, grant: StandingGrant, owner: str | None, by: str) -> None:
        body = {
            "v": 1,
            "owner": owner,
            "tool": grant.tool,
            "where": dict(grant.where),
            "cap": dict(grant.cap),
            "until": utc_text(grant.until) if grant.until is not None else None,
            "by": by,
            "at": utc_text(self._clock()),
        }
        entry.put("grants", grant.id, body)
        entry.event("grant.added", grant=grant.id, tool=grant.tool, by=by)


def _kept(sealed: Sealed) -> _Kept:
    body = json.loads(sealed.row.body)
    until = utc_moment(body["until"]) if body["until"] else None
    return body["owner"], StandingGrant(sealed.row.id, body["tool"], body["where"], body["cap"], until)
