"""Cut a text into segments: clauses, and in the owner's messages the parts of a clause with a value each."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from sys import intern

from truekeep.text import folded
from truekeep.text.asking import asked_at
from truekeep.text.clause import Clause, clauses
from truekeep.text.salient import Kind, Salient, Scan

_SPLIT = frozenset({"and", "then", ",", ";", "und", "et", "y", "e", "en", "a", "i", "oraz", "potom"})
_WORTH_SPLITTING = frozenset({Kind.MONEY, Kind.NUMBER, Kind.IBAN, Kind.CODE, Kind.EMAIL, Kind.WALLET, Kind.PHONE})
_MOST_PARTS = 64
_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A clause, or a part of one, of an indexed text: what a value in it is about."""

    source: str
    number: int
    subject: tuple[str, ...]
    attribute: tuple[str, ...]
    order: tuple[str, ...]
    clause_order: tuple[str, ...]
    lexemes: frozenset[str]
    """The words of the whole clause, as written and canonical; kept for the owner's messages only."""
    values: tuple[Salient, ...]
    is_negated: bool
    is_history: bool
    is_asked: bool

    @property
    def words(self) -> frozenset[str]:
        """The words as they are written, in folded case."""
        return frozenset(self.order)


def plain_words(text: str) -> tuple[str, ...]:
    """The words of a text in folded case."""
    return tuple(_TOKEN.findall(folded(text)))


def segments_of(source_id: str, scanned: Scan, *, split: bool) -> Iterator[Segment]:
    """The segments of a text; ``split`` cuts clauses with several values."""
    number, is_asked = 0, asked_at(scanned.view.text)
    starts = [value.span[0] for value in scanned.values]
    tokens = [token.start for token in scanned.tokens]
    for clause in clauses(scanned):
        for start, end in _parts(scanned, clause, tokens, starts) if split else [clause.span]:
            inside = tuple(scanned.values[bisect_left(starts, start) : bisect_left(starts, end)])
            segment = _segment(source_id, number, scanned, clause, (start, end), inside, split)
            yield replace(segment, is_asked=True) if is_asked(clause.span[1] - 1) else segment
            number += 1


def _parts(scanned: Scan, clause: Clause, tokens: list[int], values: list[int]) -> list[tuple[int, int]]:
    """A clause cut at "and" and commas where more than one part has a value of its own.

    ``tokens`` and ``values`` are where those of the text begin. Every part is looked at with the whole clause beside
    it, so a list that goes on and on, which nobody says in one breath, stays in one piece.
    """
    first, last = clause.span
    inside = range(bisect_right(tokens, first), bisect_left(tokens, last))
    cuts = [tokens[place] for place in inside if scanned.lower[place] in _SPLIT]
    if not 0 < len(cuts) < _MOST_PARTS:
        return [clause.span]
    told = scanned.values[bisect_left(values, first) : bisect_left(values, last)]
    with_value = {bisect_right(cuts, value.span[0]) for value in told if value.kind in _WORTH_SPLITTING}
    return list(pairwise([first, *cuts, last])) if len(with_value) > 1 else [clause.span]


def _segment(
    source_id: str,
    number: int,
    scanned: Scan,
    clause: Clause,
    span: tuple[int, int],
    values: tuple[Salient, ...],
    is_owners: bool,
) -> Segment:
    order = _order(scanned, span)
    is_whole = span == clause.span
    return Segment(
        source=source_id,
        number=number,
        subject=clause.subject if is_whole else (),
        attribute=clause.attribute,
        order=order,
        clause_order=(order if is_whole else _order(scanned, clause.span)) if is_owners else (),
        lexemes=clause.words if is_owners else frozenset(),
        values=values,
        is_negated=clause.negations % 2 == 1,
        is_history=clause.tense == "past",
        is_asked=False,
    )


def _order(scanned: Scan, span: tuple[int, int]) -> tuple[str, ...]:
    return tuple(map(intern, plain_words(scanned.view.text[span[0] : span[1]])))
