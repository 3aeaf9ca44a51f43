"""A session as learning sees it, read from verified rows: the owner's own words, and what else there was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truekeep.extract.conversation import Conversation, Message
from truekeep.sessions.transcripts import PASTE, Observation
from truekeep.types import Standing

if TYPE_CHECKING:
    from truekeep.extract.working_rows import SealedWorking
    from truekeep.sessions.sessions import Sessions, SessionState

IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Talk:
    """A session's messages, what each of them stands for, and how far the session's reports can be relied on."""

    conversation: Conversation
    standings: Mapping[str, Standing]
    seen: Sequence[Observation]
    state: SessionState

    def is_owners(self, seen: Observation) -> bool:
        """Whether it is a message of whom the session acts for."""
        return seen.standing is Standing.OWNER and seen.principal == self.state.member


class ConversationView:
    """The sessions of one keep."""

    def __init__(self, sessions: Sessions, working: SealedWorking) -> None:
        self._sessions = sessions
        self._working = working

    def may_learn(self, session: str) -> bool:
        """Whether the host lets this session be learned from."""
        return self._sessions.state(session).may_learn

    def last_before(self, session: str) -> str:
        """The id of what the session took in before the newest; nothing if that is all there is."""
        found = self._sessions.observations(session)
        return found[-2].id if len(found) > 1 else ""

    def of(self, session: str) -> Talk:
        """The session as it is now: of the owner's messages only the owner's own words, and not what was pasted."""
        state, found = self._sessions.state(session), self._sessions.observations(session)
        own = [seen for seen in found if seen.standing is Standing.OWNER and seen.principal == state.member]
        owners = frozenset(seen.channel for seen in own)
        memory = self._working.get(session)
        speaker = memory.speaker if memory is not None else None
        messages = (_message(seen, owners) for seen in found)
        # In a transcript that nobody vouches for somebody speaks, too; nothing of it can be proved.
        speaking = owners or frozenset({IMPORT})
        return Talk(
            Conversation(tuple(message for message in messages if message.text), speaking, speaker, session),
            {seen.id: seen.standing for seen in found},
            found,
            state,
        )


def _message(seen: Observation, owners: frozenset[str]) -> Message:
    """An observation as extraction sees it. What the owner's channel passed on from others is not the owner's."""
    is_own = seen.channel in owners and seen.standing is Standing.OWNER
    return Message(
        id=seen.id,
        channel=PASTE if seen.channel in owners and not is_own else seen.channel,
        text=seen.own if is_own else seen.text,
        at=seen.at,
        role=seen.role or "",
        principal=seen.principal,
        is_dated=seen.is_dated,
        alias=seen.message or "",
    )
