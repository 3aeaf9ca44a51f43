"""The audience: for whom a session reads, and what it counts for that it was shown something."""

from __future__ import annotations

from collections.abc import Sequence

from truekeep.channels import Channels
from truekeep.exposures import Exposures
from truekeep.influence import Reader as ForWhom
from truekeep.origin import own_principal, session_name
from truekeep.reading import is_hearsay
from truekeep.sessions import Sessions
from truekeep.succession import ANYBODY
from truekeep.types import MEMBER, Memory


class Audience:
    """Everybody who reads one keep."""

    def __init__(self, channels: Channels, sessions: Sessions, exposures: Exposures) -> None:
        self._channels = channels
        self._sessions = sessions
        self._exposures = exposures

    def of(self, session: str | None) -> ForWhom:
        """For whom a session reads: in a shared keep, whose words count as the owner's."""
        if not self._channels.is_shared():
            return ANYBODY
        return ForWhom(principal=self._sessions.state(session).member, is_shared_keep=True)

    def everybody(self) -> list[ForWhom]:
        """Everybody for whom a memory could act."""
        if not self._channels.is_shared():
            return [ANYBODY]
        names = (str(one["name"]) for one in self._channels.list() if one["state"] != "retired")
        known = [own_principal(self._channels.get(name)) for name in names if name.startswith(MEMBER)]
        return [ForWhom(principal=name, is_shared_keep=True) for name in (None, *known)]

    def saw(self, session: str | None, memories: Sequence[Memory], how: str) -> None:
        """What a session was shown counts: it is an exposure, and hearsay taints a mediated session."""
        if session is None:
            return
        if any(is_hearsay(memory) for memory in memories):
            self._sessions.taint(session_name(session))
        self._exposures.show(session_name(session), memories, how)
