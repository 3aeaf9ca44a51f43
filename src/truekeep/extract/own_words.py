"""Says in the owner's own words what a model says in its own: the clauses and sentences that its quotes stand in.

A quote can be true and the wording around it a lie: "I trust Eva with the keys" does not say that visitors are trusted
with them. So a model chooses what is worth remembering, and what is remembered is what the built-in extractor makes
of the words it chose, or the whole sentence as it was said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from truekeep.extract.conversation import MAX_TEXT, Conversation, Extraction, Message, Support, owner_message
from truekeep.extract.offline.dates import date_edits
from truekeep.extract.offline.extractor import LONGEST_MESSAGE, Statement, statements_of
from truekeep.extract.offline.grammar import Grammar, grammar, grammar_of
from truekeep.extract.offline.grounding import applied, labelled
from truekeep.extract.offline.sentences import own_sentences
from truekeep.extract.strategies import combined
from truekeep.text.clause import clauses


def in_own_words(extraction: Extraction, conversation: Conversation) -> Extraction | None:
    """The same rest on the same quotes, in the owner's words; nothing where the quotes lead to no sentence."""
    found: dict[tuple[str, str], Statement] = {}
    for support in extraction.supports:
        message = owner_message(support, conversation)
        stated = list(_stated(support.quote, message, conversation.speaker)) if message is not None else []
        if not stated:
            return None
        found |= {(one.message_id, one.quote): one for one in stated}
    parts = [
        replace(extraction, text=one.text, supports=(Support(one.quote, one.message_id),), plainer=one.plainer)
        for one in found.values()
    ]
    own = parts[0] if len(parts) == 1 else combined(parts) if parts else None
    return own if own is not None and len(own.text) <= MAX_TEXT else None


def is_mechanical(extraction: Extraction, conversation: Conversation) -> bool:
    """Whether a text is what the built-in extractor makes of the one quote it rests on."""
    if len(extraction.supports) != 1:
        return False
    (support,) = extraction.supports
    message = owner_message(support, conversation)
    stated = _stated(support.quote, message, conversation.speaker) if message is not None else ()
    return any((one.text, one.quote) == (extraction.text, support.quote) for one in stated)


def _stated(quote: str, message: Message, speaker: str | None) -> Iterator[Statement]:
    """What the built-in extractor makes of the quoted words; where it makes nothing of them, their sentences."""
    language = grammar_of(message.text) or grammar("en")
    start = message.text[:LONGEST_MESSAGE].find(quote)
    if start < 0:
        return
    end = start + len(quote)
    spans = [span for span in own_sentences(message.text[:LONGEST_MESSAGE]) if span[0] < end and span[1] > start]
    for sentence in spans:
        inside = [
            (statement, message.text.find(statement.quote, sentence[0], sentence[1]))
            for statement in statements_of(message, sentence, language, speaker)
        ]
        meant = [one for one, at in inside if at < end and at + len(one.quote) > start]
        yield from meant or [_whole(message, sentence, language, speaker)]


def _whole(message: Message, sentence: tuple[int, int], language: Grammar, speaker: str | None) -> Statement:
    """A sentence as it was said, with its dates made absolute; one that says "it" brings what went before along."""
    said = message.text[sentence[0] : sentence[1]].rstrip(" .")
    if any(clause.has_pronoun for clause in clauses(said)):
        before = list(own_sentences(message.text[: sentence[0]]))[-1:]
        said = message.text[before[0][0] : sentence[0]] + said if before else said
    dates = date_edits(said, language, message.at.date()) if message.is_dated else []
    plainer = (labelled(said, language, speaker), said)
    return Statement(labelled(applied(said, dates), language, speaker), said, message.id, "fact", plainer)
