"""What a memory states, and the keyed digests under which its claim and the questions it answers are looked up."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from truekeep.influence import Claim, claim_of, questions
from truekeep.stores.ledger import Ledger
from truekeep.types import Candidate, Memory, Standing

_LENGTH = 20
APPROVED = "approved"
PROVABLE = (Standing.OWNER.label, APPROVED, Standing.ENROLLED.label)
"""Labels of what could act at all."""


@lru_cache(maxsize=1_024)
def _read(text: str, speaker: str | None) -> Claim:
    return claim_of(text, speaker=speaker)


def claim_in(memory: Memory | Candidate) -> Claim:
    """What the memory states; "I" and "my" are its principal's, so that two people's accounts stay apart."""
    return _read(memory.text, memory.origin.principal)


def label(memory: Memory) -> str:
    """The first part of a row's tag: its standing, or that a person approved it."""
    return APPROVED if memory.approval else memory.standing.label


class Statements:
    """Digests with one keep's key: a store that leaks does not say what its memories are about."""

    def __init__(self, ledger: Ledger) -> None:
        self._digest = ledger.digest

    def bound(self, memory: Memory) -> Memory:
        """The memory with the digests of its claim and of the questions it answers.

        A claim that answers no question is its own; one about nobody has neither.
        """
        claim = claim_in(memory)
        if not claim.bound or not claim.key:
            return replace(memory, claim="", keys=())
        own = self._digest("claim-key", claim.key)[:_LENGTH]
        keys = tuple(self._digest("question", question)[:_LENGTH] for question in questions(claim))
        return replace(memory, claim=own, keys=keys or (own,))


def tag(memory: Memory, under: str | None = None) -> str:
    """The tag of a memory's row: its label, or another, and the first question it answers.

    Statements of the same claim have the same tag, and so have most rivals.
    """
    return f"{under or label(memory)}:{memory.keys[0] if memory.keys else ''}"
