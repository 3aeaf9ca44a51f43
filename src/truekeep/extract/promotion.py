"""Says over which channel a candidate goes to the gate: the owner's only if somebody else proved every quote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from truekeep.extract.conversation import Conversation, Extraction, Message


class Prover(Protocol):
    """Decides whether a memory's text follows from a quote in the owner's own messages."""

    def __call__(self, quote: str, text: str, owner_messages: Sequence[Message]) -> bool:
        """Whether it is proved."""


def is_proved(extraction: Extraction, conversation: Conversation, prove: Prover | None) -> bool:
    """Whether every quote is proved. Without quotes, messages of the owner or a prover, nothing is."""
    owners = conversation.owner_messages()
    if prove is None or not owners or not extraction.is_located:
        return False
    return all(prove(support.quote, extraction.text, owners) for support in extraction.supports)


def channel_for(
    extraction: Extraction, conversation: Conversation, prove: Prover | None, *, owner: str, otherwise: str
) -> str:
    """The owner's channel for what is proved to be the owner's words, the other one for the rest."""
    return owner if is_proved(extraction, conversation, prove) else otherwise
