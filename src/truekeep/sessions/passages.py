"""Passages: the owner's words as they were said, in pieces that fit a line of a prompt.

Nothing is ever cut out of a sentence: a sentence that somebody else's words stand in is left out as a whole, and
what is too long is divided between sentences, each piece taking the last sentence of the one before along.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from truekeep.text.words import Span, said_sentences
from truekeep.types import Candidate, Origin, Standing

if TYPE_CHECKING:
    from truekeep.sessions.transcripts import Observation

_BARE_ANSWER = 40
"""Characters up to which a message may be an answer that says nothing without its question."""
_LONGEST_QUESTION = 300
"""Enough to understand a bare answer by."""


def passages(text: str, own: str, longest: int) -> list[str]:
    """The owner's words in a message, verbatim; ``own`` is the message without what somebody else wrote."""
    return list(_passages(text, own, longest))


@lru_cache(maxsize=8)  # every quote of a reply is looked for in the same few messages
def _passages(text: str, own: str, longest: int) -> tuple[str, ...]:
    mine = {own[slice(*span)].strip() for span in said_sentences(own)}
    runs: list[list[Span]] = [[]]
    for span in said_sentences(text):
        if text[slice(*span)].strip() in mine:
            runs[-1].append(span)
        else:
            runs.append([])
    return tuple(piece for run in runs for piece in _pieces(text, run, longest))


def passage_of(seen: Observation, text: str, question: str = "") -> Candidate:
    """A passage of an owner's message on its way in: the owner's word, as of when it was said."""
    origin = Origin(seen.channel, principal=seen.principal, session=seen.session, message=seen.id)
    return Candidate(text, Standing.OWNER, origin, as_of=seen.at if seen.is_dated else None, question=question)


def around(quote: str, said: Iterable[str]) -> str | None:
    """The passage that a quote stands in, whatever its spaces and capitals."""
    wanted = _plain(quote)
    return next((passage for passage in said if wanted and wanted in _plain(passage)), None)


def quoted(quote: str, messages: Iterable[Observation], longest: int) -> tuple[Observation, str] | None:
    """The first of an owner's messages that a quote stands in, with the passage around it."""
    for seen in messages:
        passage = around(quote, passages(seen.text, seen.own, longest))
        if passage is not None:
            return seen, passage
    return None


def asked_before(answer: str, message: str) -> str:
    """The question behind a bare answer ("yes", "the 14th"); nothing where the answer speaks for itself."""
    if len(answer) > _BARE_ANSWER:
        return ""
    asked = [message[start:end].strip() for start, end in said_sentences(message)]
    questions = [sentence for sentence in asked if sentence.endswith(("?", "\uff1f"))]
    return questions[-1][-_LONGEST_QUESTION:] if questions else ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _pieces(text: str, run: Sequence[Span], longest: int) -> list[str]:
    parts = [piece for span in run for piece in _short_enough(text, span, longest)]
    pieces: list[list[Span]] = []
    for part in parts:
        if pieces and part[1] - pieces[-1][0][0] <= longest:
            pieces[-1].append(part)
        else:
            last = pieces[-1][-1:] if pieces else []
            fits = bool(last) and part[1] - last[0][0] <= longest
            pieces.append([*(last if fits else ()), part])
    return [text[piece[0][0] : piece[-1][1]].strip() for piece in pieces]


def _short_enough(text: str, span: Span, longest: int) -> list[Span]:
    """A sentence, or the parts of one that is longer than a passage may be, divided between words where it has any."""
    start, end = span
    parts = []
    while end - start > longest:
        space = text.rfind(" ", start + longest // 2, start + longest)
        cut = space + 1 if space > 0 else start + longest
        parts.append((start, cut))
        start = cut
    return [*parts, (start, end)]
