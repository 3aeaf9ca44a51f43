"""Asks for the proof of a candidate's quotes: it is the owner's word only if every one of them is proved.

The proof is the house's (``truekeep.quote``); this module asks for it and fails closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from truekeep.extract import events
from truekeep.extract.conversation import Conversation, Extraction
from truekeep.extract.strategies import combined
from truekeep.quote import REWORDED, Proof, SeenTexts, prove_quote

Prove = Callable[[str, str], Proof]
"""Whether a quote proves that the owner said what a text says."""

_NO_QUOTE = Proof(False, "no_quote", "It has no quote, or one that stands in none of the messages.")
_MECHANICAL = Proof(True, "mechanical", "It follows from your words mechanically.")
_FAILED = Proof(False, "proof_failed", "The quote could not be checked.")


def proved(extraction: Extraction, conversation: Conversation, prove: Prove) -> list[tuple[Extraction, Proof]]:
    """The candidate in the form that is proved; what of it is not comes apart from that, with the reason why.

    What a model worded is the owner's word only as the owner worded it.
    """
    if extraction.model is None:
        return _told_apart(extraction, conversation, prove)
    proof = proof_of(extraction, prove, _is_about_that)
    if not _is_about_that(proof):
        return [(extraction, proof)]
    own = _in_own_words(extraction, conversation)
    forms = _told_apart(own, conversation, prove) if own is not None else []
    return forms if forms and all(found.ok is True for _, found in forms) else [(extraction, REWORDED)]


def _is_proved(proof: Proof) -> bool:
    return proof.ok is True


def _is_about_that(proof: Proof) -> bool:
    """Whether a model says, if in its own words, what the quote says."""
    return proof.ok is True or proof.code == REWORDED.code


def proof_of(extraction: Extraction, prove: Prove, is_enough: Callable[[Proof], bool] = _is_proved) -> Proof:
    """Whether the candidate is the owner's word: every sentence of it is proved, and every quote proves one."""
    if not extraction.is_located:
        return _NO_QUOTE
    quotes = [support.quote for support in extraction.supports]
    sentences = _sentences(extraction.text) if len(quotes) > 1 else [extraction.text]
    found = [[_checked(prove, quote, sentence) for quote in quotes] for sentence in sentences]
    by_quote = [[proofs[at] for proofs in found] for at in range(len(quotes))]
    for proofs in found + by_quote:
        if not any(map(is_enough, proofs)):
            return proofs[0]
    return next(filter(is_enough, found[0]))


def proved_form(extraction: Extraction, conversation: Conversation, prove: Prove) -> tuple[Extraction, Proof]:
    """The candidate in the best wording that its quotes prove, or as it is with the reason why they prove none.

    The built-in extractor puts in the third person and the dates and nothing else, so that what it makes of a quote
    follows wherever the quote is proved as it stands. Whether it made this is looked up, not believed.
    """
    first: Proof | None = None
    for text in (extraction.text, *extraction.plainer):
        form = replace(extraction, text=text, plainer=())
        proof = proof_of(form, prove)
        if proof.ok is not True and _follows(form, conversation, prove):
            proof = _MECHANICAL
        if proof.ok is True:
            return form, proof
        first = proof if first is None else first
    return replace(extraction, plainer=()), _NO_QUOTE if first is None else first


def _told_apart(extraction: Extraction, conversation: Conversation, prove: Prove) -> list[tuple[Extraction, Proof]]:
    """Of what is put together from statements, those that are proved as one candidate and the rest as another."""
    if not extraction.parts:
        return [proved_form(extraction, conversation, prove)]
    forms = [proved_form(part, conversation, prove) for part in extraction.parts]
    groups = [[pair for pair in forms if (pair[1].ok is True) is proven] for proven in (True, False)]
    return [(combined([form for form, _ in group]), group[0][1]) for group in groups if group]


def _follows(form: Extraction, conversation: Conversation, prove: Prove) -> bool:
    from truekeep.extract.own_words import is_mechanical  # noqa: PLC0415 - loads the languages

    said = all(_checked(prove, one.quote, one.quote).ok is True for one in form.supports)
    return form.is_located and said and is_mechanical(form, conversation)


def _sentences(text: str) -> list[str]:
    from truekeep.extract.offline.sentences import own_sentences  # noqa: PLC0415

    return [text[start:end] for start, end in own_sentences(text)] or [text]


def _in_own_words(extraction: Extraction, conversation: Conversation) -> Extraction | None:
    from truekeep.extract.own_words import in_own_words  # noqa: PLC0415 - loads the languages

    return in_own_words(extraction, conversation)


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
