"""Turn the tokens of a clause into terms: content words, values, and marks for what function words do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from truekeep.text.language import Language
from truekeep.text.lexemes import lexeme, lexemes
from truekeep.text.salient import Kind, Salient, Scan
from truekeep.text.salient.tokens import Token

SELF = "@self"
"""Stands for the speaker, whoever that is."""

_ENDS = frozenset(".!?;\n")
_ABBREVIATIONS = frozenset(
    {"inc", "ltd", "co", "corp", "mr", "mrs", "ms", "dr", "no", "nr", "st", "s", "r", "o", "č", "tel", "e", "g", "i"}
)
_SKIPPED_KINDS = frozenset({Kind.NAME, Kind.QUOTED, Kind.NEGATION})
_ELISION = re.compile(r"(l|d|j|n|qu|c|s|m|t|dell|all|un|nell|sull)'(.+)")
_CONTRACTION = re.compile(r"(.+?)(n't|'s|'m|'re|'ll|'ve|'d)")
_PRONOUN_HEADS = frozenset({"it", "he", "she", "that", "what", "there", "here", "who", "how", "where", "this"})


_IN_PHRASES = frozenset({"word", "for", "by", "of"})


class Term(NamedTuple):
    """``role`` is ``word``, ``value``, or what a function word does; ``text`` is its canonical form."""

    role: str
    text: str
    salient: Salient | None = None


def sentences(scan: Scan) -> Iterator[tuple[int, int]]:
    """Ranges of tokens between full stops; a dot inside a value or after an abbreviation does not count."""
    start = 0
    inside = {at for value in scan.values for at in range(*value.span)} if scan.values else set()
    for place, token in enumerate(scan.tokens):
        if token.text in _ENDS and token.start not in inside and _really_ends(scan, place):
            if place > start:
                yield start, place
            start = place + 1
    if start < len(scan.tokens):
        yield start, len(scan.tokens)


def _really_ends(scan: Scan, place: int) -> bool:
    if scan.tokens[place].text != ".":
        return True
    if place and scan.lower[place - 1] in _ABBREVIATIONS and place + 1 < len(scan.tokens):
        return False
    after = scan.view.text[scan.tokens[place].end : scan.tokens[place].end + 1]
    return after in ("", " ", "\n", '"', "'", ")")


def terms(scan: Scan, start: int, end: int, values: dict[int, Salient]) -> list[Term]:
    """The terms of the tokens in that range; ``values`` maps a start position to the value there."""
    found: list[Term] = []
    covered = -1
    for place in range(start, end):
        token = scan.tokens[place]
        if token.start < covered:
            continue
        value = values.get(token.start)
        if value is not None:
            covered = value.span[1]
            found.append(Term("value", value.key, value))
        else:
            found.extend(_token_terms(token, scan.lower[place], scan.language))
    return _merge_phrases(found)


def values_by_start(scan: Scan) -> dict[int, Salient]:
    """The values that stand for themselves in a clause, by where they begin."""
    return {v.span[0]: v for v in scan.values if v.kind not in _SKIPPED_KINDS}


def _token_terms(token: Token, low: str, language: Language) -> Iterator[Term]:
    if token.kind == "mark":
        if low in (":", "=", ","):
            yield Term("comma" if low == "," else "present", low)
    elif token.kind == "word":
        yield from _word_terms(low, language, token.text[0].isupper())
    else:
        yield Term("word", low)


def _word_terms(low: str, language: Language, capital: bool) -> Iterator[Term]:
    role = language.roles.get(low)
    if role is not None:
        yield from _function_word(role, low, language)
        return
    if "'" in low:
        yield from _apostrophe(low, language, capital)
        return
    yield Term("word", name_or_lexeme(low, capital))


def name_or_lexeme(low: str, capital: bool) -> str:
    """A capital may begin a name, and names are not inflected: Marks is not Mark."""
    return lexemes().words.get(low, low) if capital else lexeme(low)


def _function_word(role: str, low: str, language: Language) -> Iterator[Term]:
    if role == "self":
        yield Term("word", SELF)
    elif role == "own":
        yield Term("word", SELF)
        yield Term("poss", low)
    elif role == "articles":
        if low in language.indefinite:
            yield Term("indefinite", low)
    elif role in ("pronouns", "other"):
        yield Term("pronoun" if role == "pronouns" else "word", low)
    elif role != "fillers":
        yield Term(role, low)


def _apostrophe(low: str, language: Language, capital: bool) -> Iterator[Term]:
    elided = _ELISION.fullmatch(low) if language.name in ("fr", "it") else None
    if elided:
        yield from _word_terms(elided[1], language, capital=False)
        yield from _word_terms(elided[2], language, capital=True)
        return
    match = _CONTRACTION.fullmatch(low)
    if match is None:
        yield Term("word", lexemes().words.get(low.rstrip("'"), low.rstrip("'")))
        if low.endswith("'"):
            yield Term("poss", "'")
        return
    head, tail = match[1], match[2]
    if tail == "n't":
        head = {"wo": "will", "ca": "can", "sha": "shall"}.get(head, head)
        yield from _word_terms(head, language, capital)
        yield Term("negations", tail)
        return
    yield from _word_terms(head, language, capital=True)
    if tail in ("'m", "'re") or (tail == "'s" and head in _PRONOUN_HEADS):
        yield Term("present", tail)
    elif tail == "'ll":
        yield Term("future", tail)
    elif tail == "'s":
        yield Term("poss", tail)


def _merge_phrases(found: list[Term]) -> list[Term]:
    """Two or three words in a row that stand for one, as "account number" does."""
    phrases, ends = lexemes().phrases, lexemes().phrase_ends
    merged: list[Term] = []
    for term in found:
        merged.append(term)
        if term.text not in ends:
            continue
        for length in (3, 2):
            tail = merged[-length:]
            if len(tail) == length and all(part.role in _IN_PHRASES for part in tail):
                one = phrases.get(tuple(part.text for part in tail))
                if one is not None:
                    merged[-length:] = [Term("word", one)]
                    break
    return merged
