"""Match subjects: whether what a text says is about the same thing as the call."""

from __future__ import annotations

from dataclasses import dataclass

from truekeep.action.segments import Segment
from truekeep.text.clause import SELF
from truekeep.text.language import function_words
from truekeep.text.lexemes import lexemes

_ME = frozenset(
    {"me", "myself", "mine", "mich", "mir", "moi", "yo", "mí", "io", "mim", "mij", "mne", "mňa", "mi", "mnie"}
)
_MY = frozenset({"my", "our", "mein", "meine", "meinen", "meinem", "mon", "ma", "mes", "mis", "mio", "mia", "meu"}) | {
    "minha", "mijn", "môj", "moja", "moje", "moju", "môjho", "mojej", "můj", "mého", "mój", "mojego",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Context:
    """What the call is about: the words of the owner's request, and the parties its arguments name."""

    words: frozenset[str]
    parties: tuple[frozenset[str], ...] = ()


def is_about(segment: Segment, context: Context, value_words: tuple[str, ...] = ()) -> bool:
    """Whether a remembered statement is about what the call is about.

    Its subject has to occur in the owner's words and, where the call names parties, be one of them.
    """
    subject = _named(segment.subject)
    if not subject or set(subject) <= set(value_words):
        # A sentence about the value itself says nothing about why it should be in this call.
        return False
    if subject == (SELF,):
        # The owner's own account or address is not that of the party the call names.
        return (bool(value_words) or not context.parties) and _is_about_owner(segment, context)
    in_words = subject[0] in context.words or set(subject) <= context.words
    return in_words and (not context.parties or any(_same_party(frozenset(subject), p) for p in context.parties))


def _named(subject: tuple[str, ...]) -> tuple[str, ...]:
    """The subject without the speaker in front of it: "my landlord" is the landlord."""
    known = lexemes().identifying
    words = tuple(word for word in subject if word != SELF and word not in known)
    return words or tuple(word for word in subject if word == SELF)


def _same_party(subject: frozenset[str], party: frozenset[str]) -> bool:
    return subject <= party or party <= subject


def _is_about_owner(segment: Segment, context: Context) -> bool:
    """ "My account" is meant by "me", or by "my" and the same attribute, not by "my landlord".

    A habit ("I prefer a window seat on flights") is meant where the request speaks of the same thing.
    """
    if context.words & _ME:
        return True
    if not context.words & _MY and SELF not in context.words:
        return False
    spoken_of = set(segment.attribute) or segment.words - function_words()
    return bool(spoken_of & context.words)


def conflicts(segment: Segment, context: Context) -> bool:
    """Whether one of the owner's own sentences is plainly about somebody else than the call."""
    subject = tuple(word for word in _named(segment.subject) if word != SELF)
    if not subject or not context.parties:
        return False
    if not segment.attribute:
        return False
    return not any(_same_party(frozenset(subject), party) for party in context.parties)
