"""Splits a sentence into the statements it makes, and leaves out what it asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from truekeep.text.words import masked

if TYPE_CHECKING:
    from truekeep.extract.offline.grammar import Grammar

LONGEST = 300  # characters of a clause that can be one fact
_MOST_SPLITS = 24  # a text of commas only stays linear in work
_TRAILING = re.compile(r"[\s.,;:!?…。\uff01\uff1f\uff0c\uff1b()\u2013\u2014-]+$")


@dataclass(frozen=True, slots=True)
class OfflineClause:
    """One statement: where it is in the sentence, what kind it is, and whether its subject is left out."""

    start: int
    end: int
    kind: str
    implied: bool = False


def statements(sentence: str, grammar: Grammar) -> Iterator[OfflineClause]:
    """The statements a sentence makes about its speaker, in order."""
    shown = masked(sentence).replace("\u2019", "'")
    asking = sentence.rstrip("\"'”\u2019)] ").endswith(("?", "\uff1f"))
    bounds = _bounds(shown, grammar)
    first_person = False
    for at, (start, end) in enumerate(bounds):
        is_last = at == len(bounds) - 1
        if asking and is_last:
            return
        clause = _clause(shown, sentence, start, end, grammar, first_person)
        if clause is not None:
            yield clause
            first_person = clause.implied or _speaks(shown[clause.start : clause.end], grammar)


def _bounds(shown: str, grammar: Grammar) -> list[tuple[int, int]]:
    """Where clauses start and end: at a separator after which another statement, or a question, begins."""
    cuts = [(0, 0)]
    for match in _separators(grammar).finditer(shown):
        if len(cuts) > _MOST_SPLITS:
            break
        rest = shown[match.end() : match.end() + LONGEST].lower()
        if _starts_something(rest, grammar):
            cuts.append(match.span())
    ends = [cut[0] for cut in cuts[1:]] + [len(shown)]
    return [(cut[1], end) for cut, end in zip(cuts, ends, strict=True)]


def _starts_something(rest: str, grammar: Grammar) -> bool:
    rest = rest[_led_in(rest, grammar) :]
    if grammar.asks.match(rest) or grammar.kind_of(rest) is not None:
        return True
    return _implied_kind(rest, grammar) is not None


def _clause(
    shown: str, sentence: str, start: int, end: int, grammar: Grammar, first_person: bool
) -> OfflineClause | None:
    start += _led_in(shown[start:end], grammar)
    end = start + len(_without_tail(shown[start:end], grammar))
    piece = shown[start:end].lower()
    if not 0 < len(piece) <= LONGEST:
        return None
    kind = grammar.kind_of(piece)
    if kind is not None:
        return OfflineClause(start, end, kind)
    if any(pattern.match(sentence[start:end].replace("\u2019", "'")) for pattern in grammar.exact):
        return OfflineClause(start, end, "fact")
    kind = _implied_kind(piece, grammar) if first_person or _opens_with_verb(piece, grammar) else None
    return None if kind is None else OfflineClause(start, end, kind, implied=True)


def _implied_kind(piece: str, grammar: Grammar) -> str | None:
    """The kind of a clause whose subject was said before: "I hate cilantro but love basil"."""
    if grammar.drops_subject:
        return None
    subject = next(iter(grammar.subject))
    glue = " " if grammar.spaced and not subject.endswith("'") else ""
    return grammar.kind_of(f"{subject}{glue}{piece}")


def _opens_with_verb(piece: str, grammar: Grammar) -> bool:
    """Whether a hasty writer left the pronoun out: "bin Veganerin"."""
    return grammar.may_drop_subject and piece.split(" ", 1)[0] in grammar.forms


def _speaks(piece: str, grammar: Grammar) -> bool:
    """Whether the speaker is this clause's subject, so that the next clause may leave it out."""
    if grammar.drops_subject:
        return True
    if not grammar.spaced:
        return any(subject in piece for subject in grammar.subject)
    words = re.findall(r"[^\W_]+(?:'[^\W_]+)*'?", piece.lower())
    return any(word in grammar.subject or word[:2] in grammar.subject for word in words[:8])


def _led_in(piece: str, grammar: Grammar) -> int:
    """How much of a clause is only a way of starting it."""
    at = len(piece) - len(piece.lstrip(" ,;:(!-"))
    for _ in range(4):
        match = grammar.lead_ins.match(piece, at)
        if match is None or match.end() == at or _is_order(piece[at:].lower(), grammar):
            return at
        at = match.end() + len(piece[match.end() :]) - len(piece[match.end() :].lstrip(" ,;:(!-"))
    return at


def _is_order(piece: str, grammar: Grammar) -> bool:
    return grammar.kind_of(piece) is not None


def _without_tail(piece: str, grammar: Grammar) -> str:
    piece = _TRAILING.sub("", piece)
    return _TRAILING.sub("", grammar.tails.sub("", piece))


@cache
def _separators(grammar: Grammar) -> re.Pattern[str]:
    """Punctuation, a joining word, or both."""
    joiners = "|".join(re.escape(word) for word in sorted(grammar.joiners, key=len, reverse=True))
    if not grammar.spaced:
        return re.compile(rf"[\uff0c\uff1b,;]\s*(?:{joiners})?")
    return re.compile(rf"\s*[,;:(]\s+(?:(?:{joiners})\s+)?|\s[\u2013\u2014-]\s|\s(?:{joiners})\s", re.IGNORECASE)
