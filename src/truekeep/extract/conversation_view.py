"""Talks: a session as extraction sees it, read from verified rows. The owner's own words, and what else there was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from truekeep.extract.conversation import Conversation, Message
from truekeep.extract.promotion import Prove
from truekeep.extract.working_rows import SealedWorking
from truekeep.sessions import Sessions
from truekeep.transcripts import PASTE, Observation
from truekeep.types import Standing

IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Talk:
    """A session's messages, what each of them stands for, and who can prove what the owner said."""

    conversation: Conversation
    standings: Mapping[str, Standing]
    prove: Prove


class Talks:
    """The sessions of one keep."""

    def __init__(self, sessions: Sessions, working: SealedWorking) -> None:
        self._sessions = sessions
        self._working = working

    def of(self, session: str) -> Talk:
        """The session as it is now: of the owner's messages only the owner's own words, and not what was pasted."""
        member, found = self._sessions.state(session).member, self._sessions.observations(session)
        own = [seen for seen in found if seen.standing is Standing.OWNER and seen.principal == member]
        owners = frozenset(seen.channel for seen in own)
        memory = self._working.get(session)
        speaker = memory.speaker if memory is not None else None
        messages = (_message(seen, owners) for seen in found)
        # In a transcript that nobody vouches for somebody speaks, too; nothing of it can be proved.
        speaking = owners or frozenset({IMPORT})
        return Talk(
            Conversation(tuple(message for message in messages if message.text), speaking, speaker, session),
            {seen.id: seen.standing for seen in found},
            self._sessions.prover(session, speaker=speaker),
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
