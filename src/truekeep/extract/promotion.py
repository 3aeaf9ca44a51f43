"""Asks for the proof of a candidate's quotes: it is the owner's word only if every one of them is proved.

The proof is the house's (``truekeep.quote``); this module asks for it and fails closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from truekeep.extract import events
from truekeep.extract.conversation import Conversation, Extraction
from truekeep.quote import Proof, SeenTexts, prove_quote

Prove = Callable[[str, str], Proof]
"""Whether a quote proves that the owner said what a text says."""

_NO_QUOTE = Proof(False, "no_quote", "It has no quote, or one that stands in none of the messages.")
_FAILED = Proof(False, "proof_failed", "The quote could not be checked.")


def proof_of(extraction: Extraction, prove: Prove) -> Proof:
    """Whether the candidate is the owner's word: the first quote that is not proved, or the last that is."""
    if not extraction.is_located:
        return _NO_QUOTE
    proof = _NO_QUOTE
    for support in extraction.supports:
        proof = _checked(prove, support.quote, extraction.text)
        if proof.ok is not True:
            return proof
    return proof


def proved_form(extraction: Extraction, prove: Prove) -> tuple[Extraction, Proof]:
    """The candidate in the best wording that its quotes prove, or as it is with the reason why they prove none."""
    first: Proof | None = None
    for text in (extraction.text, *extraction.plainer):
        form = replace(extraction, text=text, plainer=())
        proof = proof_of(form, prove)
        if proof.ok is True:
            return form, proof
        first = proof if first is None else first
    return replace(extraction, plainer=()), _NO_QUOTE if first is None else first


def prover(conversation: Conversation) -> Prove:
    """Proves against the owner's messages of a conversation; what else it holds is what might have been pasted."""
    seen = SeenTexts()
    for message in conversation.messages:
        if message.channel not in conversation.owner_channels:
            seen.add(message.text)
    owners, speaker = conversation.owner_messages(), conversation.speaker
    return lambda quote, text: prove_quote(quote, text, owners, seen=seen, speaker=speaker)


def _checked(prove: Prove, quote: str, text: str) -> Proof:
    try:
        return prove(quote, text)
    except Exception as error:
        events.emit(events.PROOF_FAILED, code="proof_failed", error=type(error).__name__)
        return _FAILED
