"""Extracts what the owner said about themselves, without a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from truekeep.extract.conversation import MAX_TEXT, Conversation, Message
from truekeep.extract.offline.clauses import statements
from truekeep.extract.offline.dates import date_edits
from truekeep.extract.offline.grammar import Grammar, grammar_of
from truekeep.extract.offline.grounding import grounded
from truekeep.text.words import own_sentences

LONGEST_MESSAGE = 20_000  # characters that are looked at


@dataclass(frozen=True, slots=True)
class OfflineStatement:
    """One statement: its grounded text, its verbatim quote and message, and what kind it is."""

    text: str
    quote: str
    message_id: str
    kind: str


def extract_statements(conversation: Conversation) -> list[OfflineStatement]:
    """What the owner said about themselves, each thing once. Nothing is taken from any other message."""
    found: dict[str, OfflineStatement] = {}
    language: Grammar | None = None
    for message in conversation.owner_messages():
        language = grammar_of(message.text, language)
        if language is None:
            continue
        for statement in _of_message(message, language, conversation.speaker):
            found.setdefault(statement.text.casefold(), statement)
    return list(found.values())


def _of_message(message: Message, grammar: Grammar, speaker: str | None) -> Iterator[OfflineStatement]:
    for span in own_sentences(message.text[:LONGEST_MESSAGE]):
        yield from statements_of(message, span, grammar, speaker)


def statements_of(
    message: Message, span: tuple[int, int], grammar: Grammar, speaker: str | None
) -> Iterator[OfflineStatement]:
    """What one sentence of a message states about its speaker."""
    sentence = message.text[span[0] : span[1]]
    for clause in statements(sentence, grammar):
        quote = sentence[clause.start : clause.end]
        dates = date_edits(quote, grammar, message.at.date()) if message.is_dated else []
        text = grounded(quote, grammar, speaker, dates, kind=clause.kind, implied=clause.implied)
        if len(text) <= MAX_TEXT:
            yield OfflineStatement(text, quote, message.id, clause.kind)
