"""Prove that a memory extracted from a conversation is what the owner said.

The model that extracted it is not believed about anything: the quote has to stand in the owner's own words, as a
plain assertion, about the same subject, and every value of the memory has to have been said or to follow
mechanically, as a date does from "tomorrow" and the speaker's name from "I".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Protocol

from truekeep.quote.attachment import Piece, pieces_with
from truekeep.quote.paste import SeenTexts, split_paste
from truekeep.quote.wording import NOT, is_rearranged, is_same_word, plain_parts, plain_words
from truekeep.text import folded
from truekeep.text.clause import SELF, Clause, clauses
from truekeep.text.language import function_words, read_table
from truekeep.text.lexemes import lexeme, lexemes
from truekeep.text.salient import Kind, Salient, Scan, scan
from truekeep.text.salient.dates import resolved

_WORD = re.compile(r"[^\W_]+")
_PREFIX = 5
_LONGEST_QUOTE = 2_000
_SAME = 0.5
"""How many of its words may differ for a memory to be the same in other words, rather than something else."""
_UNCHECKED = frozenset({Kind.NAME, Kind.NEGATION, Kind.QUOTED, Kind.BOOLEAN})


class Spoken(Protocol):
    """A message over the owner's channel: what it says, when, and whether that time is really known."""

    @property
    def text(self) -> str:
        """What it says."""

    @property
    def at(self) -> datetime | None:
        """When it was said."""

    @property
    def is_dated(self) -> bool:
        """Whether relative dates may be resolved from that time."""


@dataclass(frozen=True, slots=True)
class OwnerMessage:
    """One message over the owner's channel."""

    text: str
    at: datetime | None = None
    is_dated: bool = True


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether the memory is the owner's word, with a stable code and a sentence."""

    ok: bool
    code: str
    reason: str

    def __bool__(self) -> bool:
        return self.ok


REWORDED = Proof(False, "reworded", "It says in other words what you said, and so may say something else.")


@dataclass(frozen=True, slots=True)
class Understood:
    """An owner's message without what was pasted into it, read once for many proofs."""

    text: str
    at: datetime | None
    flat: str
    """Its words with single spaces, as quotes are looked for."""
    scanned: Scan
    clauses: tuple[Clause, ...]
    words: frozenset[str]
    keys: frozenset[str]
    """Every value in it, in each form that proves one."""


@dataclass(frozen=True, slots=True)
class _Words:
    mechanical: frozenset[str]
    turning: frozenset[str]
    joining: frozenset[str]
    denying: frozenset[str]
    weighty: frozenset[str]
    reporting: frozenset[str]
    hypothetical: frozenset[str]


@cache
def _tables() -> _Words:
    table = read_table("quote", "words.toml")
    return _Words(**{name: frozenset(words) for name, words in table.items()})


def prove_quote(
    quote: str,
    memory_text: str,
    owner_messages: Iterable[Spoken | Understood],
    *,
    seen: SeenTexts | None = None,
    speaker: str | None = None,
) -> Proof:
    """Whether the quote proves that the owner said what the memory says."""
    messages = list(owner_messages)
    wanted = " ".join(quote.split())
    if not wanted or len(wanted) > _LONGEST_QUOTE or not _WORD.search(wanted):
        return Proof(False, "no_quote", "There is no quote that could prove it.")
    said = [understood(message, seen) for message in messages]
    holder = next((part for part in said if wanted in part.flat), None)
    if holder is None:
        if any(wanted in " ".join(message.text.split()) for message in messages):
            return Proof(False, "quote_is_paste", "The quote stands in something you pasted, not in your words.")
        return Proof(False, "quote_not_found", "The quote does not stand in one of your messages.")
    return _check(memory_text, _sentences_around(wanted, holder.text), holder, said, speaker)


def understood(message: Spoken | Understood, seen: SeenTexts | None = None) -> Understood:
    """A message read for proofs; one that was read already is not read again."""
    if isinstance(message, Understood):
        return message
    own = split_paste(message.text, seen).own
    scanned = scan(own)
    words = frozenset(_WORD.findall(folded(own)))
    at = message.at if message.is_dated else None
    keys = frozenset(key for value in scanned.values for key in _forms(value, at))
    return Understood(own, at, " ".join(own.split()), scanned, clauses(scanned), words, keys)


def _sentences_around(quote: str, text: str) -> str:
    """The whole sentences that the quote touches; a model may not cut "I don't" off "like nuts"."""
    flat = " ".join(text.split())
    start = flat.index(quote)
    end = start + len(quote)
    before = max(flat.rfind(mark, 0, start) for mark in (". ", "! ", "? ", "; "))
    after = [place for mark in (".", "!", "?", ";") if (place := flat.find(mark, max(end - 1, 0))) >= 0]
    return flat[before + 1 : (min(after) + 1) if after else len(flat)].strip()


def _check(memory: str, sentence: str, holder: Understood, said: Sequence[Understood], speaker: str | None) -> Proof:
    faults = (
        _unasserted(sentence, memory),
        _unsaid_value(memory, said),
        _unsaid_name(memory, said, speaker),
        _other_denial(memory, sentence),
        _other_subject(memory, sentence, said, speaker),
        _unsaid_words(memory, sentence, holder, said, speaker),
    )
    proved = Proof(True, "quoted", "You said it in these words.")
    return next((fault for fault in faults if fault is not None), proved)


def _unasserted(sentence: str, memory: str) -> Proof | None:
    words = set(_WORD.findall(folded(sentence)))
    told = set(_WORD.findall(folded(memory)))
    if sentence.rstrip("\"')").endswith("?") or words & _tables().hypothetical - told:
        return Proof(False, "quote_is_question", "You asked or supposed it; you did not say that it is so.")
    if words & _tables().reporting - told:
        return Proof(False, "quote_is_reported", "You reported what somebody else says.")
    return None


def _unsaid_value(memory: str, said: Sequence[Understood]) -> Proof | None:
    for clause in clauses(memory):
        for value in clause.values:
            wanted = _wanted(value, clause)
            if value.kind not in _UNCHECKED and all(part.keys.isdisjoint(wanted) for part in said):
                return Proof(False, "value_not_said", f"It has a {value.kind} that you did not say.")
    return None


def _forms(value: Salient, at: datetime | None) -> set[str]:
    """The value, and the days, months and years that a date means in a message of that time."""
    if value.kind is not Kind.DATE:
        return {value.key}
    days = resolved(value.value, at) if at is not None else frozenset({value.value})
    coarser = {day[:size] for day in days if day[:1].isdigit() and "?" not in day for size in (4, 7, 10)}
    return {value.key, *(f"date:{day}" for day in coarser)}


def _wanted(value: Salient, clause: Clause) -> set[str]:
    """What proves a value of the memory; a number that answers "which account?" may have been said as a code."""
    names = any(word in lexemes().identifying for word in clause.attribute)
    if names and value.kind is Kind.NUMBER and not value.unit:
        return {value.key, f"{Kind.CODE}:{value.value}"}
    return {value.key}


def _unsaid_name(memory: str, said: Sequence[Understood], speaker: str | None) -> Proof | None:
    own_name = frozenset(_WORD.findall(folded(speaker or "")))
    for value in scan(memory).values:
        if value.kind not in (Kind.NAME, Kind.QUOTED):
            continue
        for word in _WORD.findall(value.value):
            if word not in own_name and word not in function_words() and not _was_said(word, said):
                return Proof(False, "name_not_said", "It names somebody or something that you did not name.")
    return None


def _was_said(word: str, said: Sequence[Understood]) -> bool:
    if word in _tables().mechanical:
        return True
    return any(word in part.words or lexeme(word) in {lexeme(own) for own in part.words} for part in said)


def _other_denial(memory: str, sentence: str) -> Proof | None:
    if _denials(memory) % 2 != _denials(sentence) % 2:
        return Proof(False, "denial_differs", "It affirms what you denied, or denies what you affirmed.")
    return None


def _denials(text: str) -> int:
    words = _WORD.findall(folded(text))
    negations = sum(value.kind is Kind.NEGATION for value in scan(text).values)
    return negations + sum(word in _tables().denying and word not in ("without", "cannot") for word in words)


def _other_subject(memory: str, sentence: str, said: Sequence[Understood], speaker: str | None) -> Proof | None:
    """Every value has to be said of the subject that the memory gives it."""
    own_name = tuple(_WORD.findall(folded(speaker or "")))
    for clause in clauses(memory):
        subject = tuple(SELF if word in own_name else word for word in clause.subject)
        if SELF in subject and not _speaks_of_self(sentence):
            return Proof(False, "another_subject", "It says of you what you said of something else.")
        for value in clause.values:
            if value.kind not in _UNCHECKED and not _said_of(_wanted(value, clause), subject, clause.attribute, said):
                return Proof(False, "another_subject", "It gives a value to another subject than you did.")
    return None


def _speaks_of_self(sentence: str) -> bool:
    """Whether the speaker speaks of himself; a sentence without any subject of its own counts."""
    scanned = scan(sentence)
    parts = clauses(scanned)
    if any(SELF in clause.words or "we" in clause.value or "our" in clause.about for clause in parts):
        return True
    endings = _FIRST_PERSON.get(scanned.language.name, ())
    if scanned.lower and endings and scanned.lower[0].endswith(endings):
        return True
    return all(not clause.is_attribute and not _has_name(sentence) for clause in parts)


# Languages whose verb says "I" by its ending.
_FIRST_PERSON = {"sk": ("m",), "cs": ("m", "u", "i"), "pl": ("m", "ę"), "es": ("o",), "it": ("o",), "pt": ("o",)}


def _has_name(text: str) -> bool:
    return any(value.kind is Kind.NAME and value.sure for value in scan(text).values)


def _said_of(
    wanted: set[str], subject: tuple[str, ...], attribute: tuple[str, ...], said: Sequence[Understood]
) -> bool:
    for part in (one for one in said if not one.keys.isdisjoint(wanted)):
        holds = partial(_is_wanted, wanted, part.at)
        for clause in (one for one in part.clauses if any(map(holds, one.values))):
            sentence = part.scanned.view.text[slice(*clause.span)]
            for piece in pieces_with(sentence, holds):
                if _gives(piece, attribute, part) and _is_about(piece, clause, subject, part):
                    return True
    return False


def _is_wanted(wanted: set[str], at: datetime | None, value: Salient) -> bool:
    return not wanted.isdisjoint(_forms(value, at))


def _gives(piece: Piece, attribute: tuple[str, ...], part: Understood) -> bool:
    """Whether the value is given for that attribute, where the owner spoke of it at all."""
    spoken = [word for word in attribute if _mentions(part, word)]
    return not spoken or piece.gives(spoken)


def _is_about(piece: Piece, clause: Clause, subject: tuple[str, ...], part: Understood) -> bool:
    names = [word for word in subject if word != SELF]
    if piece.names(names):
        return (
            True if names or SELF not in subject else SELF in clause.words | {*clause.about} or not clause.is_attribute
        )
    # "Northwind sent a bill. Their account is …": the pronoun carries the subject over.
    return clause.has_pronoun and all(name in part.words for name in names) and not piece.has_own_subject(names)


def _unsaid_words(
    memory: str, sentence: str, holder: Understood, said: Sequence[Understood], speaker: str | None
) -> Proof | None:
    """Every word that says something has to stand in the quoted message, in the order of the quoted sentence.

    Each part of the memory is looked at by itself, so that nothing rides along on what was really said.
    """
    skipped = _tables().mechanical | function_words() | frozenset(_WORD.findall(folded(speaker or "")))
    names = {word for value in scan(memory).values if value.kind is Kind.NAME for word in _WORD.findall(value.value)}
    missing = 0
    for part in plain_parts(memory):
        words = [word for word in part if word not in skipped and word != NOT and not word.isdigit()]
        if any(_is_weighty(word) and not any(_mentions(one, word) for one in said) for word in words):
            return Proof(False, "words_not_said", "It speaks of authority or money in words that you did not use.")
        unsaid = [word for word in words if not _mentions(holder, word)]
        if len(unsaid) > _SAME * len(words):
            return Proof(False, "words_not_said", "Part of it is not in the message that is quoted.")
        missing += sum(word not in names for word in unsaid)
    return REWORDED if missing or _is_turned(memory, sentence, holder, skipped) else None


def _is_turned(memory: str, sentence: str, holder: Understood, skipped: frozenset[str]) -> bool:
    told, joining = plain_words(memory), _tables().joining
    if any(word in _tables().turning and word not in holder.words for word in told):
        return True
    if all(clause.is_attribute and _checked_values(clause) for clause in clauses(memory)):
        # "Northwind's account is 7777-13" has no order of its own; whose value it is was proved already.
        return False
    ordered = [word for word in told if word == NOT or word in joining or word not in skipped]
    return is_rearranged(ordered, plain_words(sentence), joining)


def _checked_values(clause: Clause) -> list[Salient]:
    return [value for value in clause.values if value.kind not in _UNCHECKED]


def _is_weighty(word: str) -> bool:
    return word in _tables().weighty or lexeme(word) in _weighty_lexemes()


@cache
def _weighty_lexemes() -> frozenset[str]:
    return frozenset(lexeme(word) for word in _tables().weighty)


def _mentions(part: Understood, word: str) -> bool:
    return word in part.words or any(is_same_word(word, own) for own in part.words)
