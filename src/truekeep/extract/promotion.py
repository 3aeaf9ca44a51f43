"""Says over which channel a candidate goes to the gate: the owner's only if every quote is proved.

The proof is the house's (``truekeep.quote``); this module asks for it and fails closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from truekeep.extract import events
from truekeep.extract.conversation import Conversation, Extraction
from truekeep.quote import Proof, SeenTexts, prove_quote

_NO_QUOTE = Proof(False, "no_quote", "It has no quote, or one that stands in none of the messages.")
_FAILED = Proof(False, "proof_failed", "The quote could not be checked.")


def proof_of(extraction: Extraction, conversation: Conversation) -> Proof:
    """Whether the candidate is the owner's word: the first quote that is not proved, or the last that is."""
    if not extraction.is_located:
        return _NO_QUOTE
    seen = _seen(conversation)
    proof = _NO_QUOTE
    for support in extraction.supports:
        proof = _proof(support.quote, extraction, conversation, seen)
        if proof.ok is not True:
            return proof
    return proof


def proved_form(extraction: Extraction, conversation: Conversation) -> Extraction | None:
    """The candidate as its quotes prove it, the best wording first; nothing when they prove none."""
    for text in (extraction.text, *extraction.plainer):
        form = replace(extraction, text=text, plainer=())
        if proof_of(form, conversation).ok is True:
            return form
    return None


def routed(extraction: Extraction, conversation: Conversation, *, owner: str, otherwise: str) -> tuple[Extraction, str]:
    """What goes to the gate, and over which channel: the owner's only for what is proved to be the owner's words."""
    form = proved_form(extraction, conversation)
    return (extraction, otherwise) if form is None else (form, owner)


def routed_all(
    extractions: Iterable[Extraction], conversation: Conversation, *, owner: str, otherwise: str
) -> list[tuple[Extraction, str]]:
    """Every candidate with its channel; two that come to the same words go to the gate once."""
    found: dict[tuple[str, str], tuple[Extraction, str]] = {}
    for extraction in extractions:
        form, channel = routed(extraction, conversation, owner=owner, otherwise=otherwise)
        found.setdefault((form.text.casefold(), channel), (form, channel))
    return list(found.values())


def _proof(quote: str, extraction: Extraction, conversation: Conversation, seen: SeenTexts) -> Proof:
    owners, speaker = conversation.owner_messages(), conversation.speaker
    try:
        return prove_quote(quote, extraction.text, owners, seen=seen, speaker=speaker)
    except Exception as error:
        events.emit(events.PROOF_FAILED, code="proof_failed", error=type(error).__name__)
        return _FAILED


def _seen(conversation: Conversation) -> SeenTexts:
    """Everything that did not come from the owner, so that a copy of it in the owner's message is recognised."""
    seen = SeenTexts()
    for message in conversation.messages:
        if message.channel not in conversation.owner_channels:
            seen.add(message.text)
    return seen
