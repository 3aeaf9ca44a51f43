"""The audience: for whom a session reads, and what it counts for that it was shown something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truekeep.claims.may_act_now import ANYBODY
from truekeep.trust.influence import Reader
from truekeep.trust.origin import is_hearsay, own_principal, session_name
from truekeep.types import MEMBER, Memory

if TYPE_CHECKING:
    from truekeep.read.exposures import Exposures
    from truekeep.sessions.channels import Channels
    from truekeep.sessions.sessions import Sessions


class Audience:
    """Everybody who reads one keep."""

    def __init__(self, channels: Channels, sessions: Sessions, exposures: Exposures) -> None:
        self._channels = channels
        self._sessions = sessions
        self._exposures = exposures

    def of(self, session: str | None) -> Reader:
        """For whom a session reads: in a shared keep, whose words count as the owner's."""
        if not self._channels.is_shared():
            return ANYBODY
        return Reader(principal=self._sessions.state(session).member, is_shared_keep=True)

    def everybody(self) -> list[Reader]:
        """Everybody for whom a memory could act."""
        if not self._channels.is_shared():
            return [ANYBODY]
        names = (str(one["name"]) for one in self._channels.list() if one["state"] != "retired")
        known = [own_principal(self._channels.get(name)) for name in names if name.startswith(MEMBER)]
        return [Reader(principal=name, is_shared_keep=True) for name in (None, *known)]

    def saw(self, session: str | None, memories: Sequence[Memory], how: str) -> None:
        """What a session was shown counts: it is an exposure, and hearsay taints a mediated session."""
        if session is None:
            return
        if any(is_hearsay(memory) for memory in memories):
            self._sessions.taint(session_name(session))
        self._exposures.show(session_name(session), memories, how)
