"""Clauses: the subject, attribute and values of each sentence of a text, in canonical words, without a model.

Where the words do not show the roles, the order of the words is kept. That makes two claims different that a person
might call the same, never the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from truekeep.text.language import Language, lexeme, lexemes, stem
from truekeep.text.salient import ValueScan
from truekeep.text.tokens import Kind, Salient, ValueToken


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause in canonical words.

    In an *attribute* clause ("Northwind's IBAN is …") ``about`` holds the owner first and the attribute last,
    whichever way round it was written, and ``value`` what is said of it. In a *statement* ("Eva moved to
    Berlin") ``about`` is the subject and ``value`` everything in its order.
    """

    is_attribute: bool
    about: tuple[str, ...]
    attribute: tuple[str, ...]
    value: tuple[str, ...]
    values: tuple[Salient, ...]
    words: frozenset[str]
    tense: str = "present"
    negations: int = 0
    since: str = ""
    until: str = ""
    is_one_of_several: bool = False
    has_pronoun: bool = False
    places: tuple[str, ...] = ()
    """Words like "in" and "at", which are left out of ``value``."""
    span: tuple[int, int] = (0, 0)

    @property
    def subject(self) -> tuple[str, ...]:
        """Whom or what the clause is about, without the attribute."""
        return self.about[: len(self.about) - len(self.attribute)] if self.is_attribute else self.about


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


def sentences(scan: ValueScan) -> Iterator[tuple[int, int]]:
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


def _really_ends(scan: ValueScan, place: int) -> bool:
    if scan.tokens[place].text != ".":
        return True
    if place and scan.lower[place - 1] in _ABBREVIATIONS and place + 1 < len(scan.tokens):
        return False
    after = scan.view.text[scan.tokens[place].end : scan.tokens[place].end + 1]
    return after in ("", " ", "\n", '"', "'", ")")


def terms(scan: ValueScan, start: int, end: int, values: dict[int, Salient]) -> list[Term]:
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


def values_by_start(scan: ValueScan) -> dict[int, Salient]:
    """The values that stand for themselves in a clause, by where they begin."""
    return {v.span[0]: v for v in scan.values if v.kind not in _SKIPPED_KINDS}


def _token_terms(token: ValueToken, low: str, language: Language) -> Iterator[Term]:
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


_COPULAS = frozenset({"present", "past", "future"})
_MOST_CLAUSES = 400  # a text of commas only stays linear in work


@lru_cache(maxsize=16)
def clauses(scanned: ValueScan) -> tuple[Clause, ...]:
    """The clauses of a text, in order."""
    values = values_by_start(scanned)
    found: list[Clause] = []
    for start, end in sentences(scanned):
        span = (scanned.tokens[start].start, scanned.tokens[end - 1].end)
        parts = _Parts.of(terms(scanned, start, end, values), span)
        if parts.rest:
            found.append(_clause(parts))
        if len(found) >= _MOST_CLAUSES:
            break
    return tuple(found)


@dataclass(slots=True)
class _Parts:
    """A clause's terms with the circumstances taken out."""

    span: tuple[int, int]
    rest: list[Term] = field(default_factory=list)
    negations: int = 0
    since: str = ""
    until: str = ""
    has_pronoun: bool = False
    places: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, found: list[Term], span: tuple[int, int]) -> _Parts:
        parts = cls(span)
        waiting = ""
        for term in found:
            if term.role == "place":
                parts.places.append(term.text)
                continue
            is_date = term.salient is not None and term.salient.kind is Kind.DATE
            if waiting and is_date:
                setattr(parts, waiting, term.text)
                parts.rest.pop()
                waiting = ""
                continue
            waiting = term.role if term.role in ("since", "until") else ""
            if term.role == "negations":
                parts.negations += 1
                continue
            parts.has_pronoun |= term.role == "pronoun"
            parts.rest.append(term)
        return parts

    @property
    def salients(self) -> tuple[Salient, ...]:
        return tuple(term.salient for term in self.rest if term.salient is not None)


def _clause(parts: _Parts) -> Clause:
    rest = parts.rest
    place = next((i for i, term in enumerate(rest) if term.role in _COPULAS and 0 < i < len(rest) - 1), None)
    if place is not None:
        left, right = rest[:place], rest[place + 1 :]
        if turned := _passive(left, rest[place], right):
            return _statement(parts, turned, rest[place].role)
        if right[0].text in lexemes().verbs:
            return _statement(parts, left + right, rest[place].role)
        return _attribute_clause(parts, left, right, rest[place].role)
    has = next((i for i, term in enumerate(rest) if term.role == "has" and 0 < i < len(rest) - 1), None)
    if has is not None and _names_attribute_and_value(rest[has + 1 :]):
        return _attribute_clause(parts, rest[:has], rest[has + 1 :], "present")
    return _statement(parts, rest, "present")


def _passive(left: list[Term], copula: Term, right: list[Term]) -> list[Term] | None:
    """ "Bob is managed by Alice" in the order of "Alice manages Bob"."""
    if len(right) < 3 or right[0].role != "word" or right[1].role != "by":
        return None
    verb = right[0].text
    if not verb.endswith("ed") or copula.role == "future":
        return None
    if copula.role == "present":
        verb = _active(verb)
    return [*right[2:], Term("word", verb), *left]


def _active(participle: str) -> str:
    root = participle[:-2]
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "ls":
        root = root[:-1]
    return stem(root)


def _names_attribute_and_value(side: list[Term]) -> bool:
    """Whether a side is "IBAN DE89…": a known attribute followed by nothing but values."""
    words = [term for term in side if term.role not in ("indefinite", "comma", "present")]
    cut = next((i for i, term in enumerate(words) if term.role == "value"), len(words))
    known = lexemes().attributes
    return (
        0 < cut < len(words)
        and all(term.text in known for term in words[:cut])
        and all(term.role == "value" for term in words[cut:])
    )


def _attribute_clause(parts: _Parts, left: list[Term], right: list[Term], tense: str) -> Clause:
    if _names_attribute_and_value(right) and not _is_marked(right):
        cut = next(i for i, term in enumerate(right) if term.role == "value")
        left, right = left + right[:cut], right[cut:]
    elif _answers(left, right):
        left, right = right, left
    about = _owner_first(left)
    attribute = _attribute_of(about)
    return Clause(
        is_attribute=True,
        about=about,
        attribute=attribute,
        value=_as_identifiers(_owner_first(right)) if _identifies(attribute) else _owner_first(right),
        values=parts.salients,
        words=_words(parts.rest),
        tense=tense,
        negations=parts.negations,
        since=parts.since,
        until=parts.until,
        is_one_of_several=any(term.role == "indefinite" for term in left),
        has_pronoun=parts.has_pronoun,
        places=tuple(parts.places),
        span=parts.span,
    )


def _answers(left: list[Term], right: list[Term]) -> bool:
    """Whether the left side is the answer and the right one the question: "X is the IBAN of Northwind"."""
    if _owns(right) and not _owns(left):
        return True
    return all(term.role == "value" for term in left) and any(term.role != "value" for term in right)


def _identifies(attribute: tuple[str, ...]) -> bool:
    return any(word in lexemes().identifying for word in attribute)


def _as_identifiers(words: tuple[str, ...]) -> tuple[str, ...]:
    """A bare number that answers "which account?" is a code, with or without the dashes."""
    return tuple(
        f"{Kind.CODE}:{word[7:]}" if word.startswith("number:") and word[7:].isdigit() else word for word in words
    )


def _is_marked(side: list[Term]) -> bool:
    return any(term.role in ("poss", "of") for term in side)


def _owns(side: list[Term]) -> bool:
    """Whether a side names an attribute by its owner: "Northwind's IBAN", "the IBAN of (or for) Northwind"."""
    if not _is_marked(side) and not _for_after_attribute(side):
        return False
    return sum(term.role == "word" for term in side) > 1


def _for_after_attribute(side: list[Term]) -> bool:
    known = lexemes().attributes
    return any(b.role == "for" and a.text in known for a, b in pairwise(side))


def _owner_first(side: list[Term]) -> tuple[str, ...]:
    """The words of a noun phrase with every owner before what it owns: "B of A" becomes A, B."""
    known = lexemes().attributes
    segments: list[list[str]] = [[]]
    previous = ""
    for term in side:
        if term.role == "of" or (term.role == "for" and previous in known):
            segments.append([])
        elif term.role not in ("poss", "indefinite", "comma", "present"):
            segments[-1].append(term.text)
        previous = term.text
    words = [word for segment in reversed(segments) for word in segment]
    if len(segments) == 1 and len(words) > 1 and words[0] in known and words[-1] not in known:
        # "IBAN Northwind: …" puts the attribute first without any mark.
        lead = next(i for i, word in enumerate(words) if word not in known)
        words = words[lead:] + words[:lead]
    return tuple(words)


def _attribute_of(about: tuple[str, ...]) -> tuple[str, ...]:
    if len(about) < 2:
        return about if about and about[0] in lexemes().attributes else ()
    known = lexemes().attributes
    cut = len(about) - 1
    while cut > 1 and about[cut - 1] in known:
        cut -= 1
    return about[cut:]


def _statement(parts: _Parts, rest: list[Term], tense: str) -> Clause:
    sequence = tuple(term.text for term in rest if term.role not in ("poss", "indefinite", "comma") and term.text)
    return Clause(
        is_attribute=False,
        about=_statement_subject(rest),
        attribute=(),
        value=sequence,
        values=parts.salients,
        words=_words(parts.rest),
        tense=tense,
        negations=parts.negations,
        since=parts.since,
        until=parts.until,
        has_pronoun=parts.has_pronoun,
        places=tuple(parts.places),
        span=parts.span,
    )


def _statement_subject(rest: list[Term]) -> tuple[str, ...]:
    words = [term for term in rest if term.role in ("word", "pronoun")]
    if not words:
        return ()
    if words[0].text == SELF and len(rest) > 1 and rest[1].role == "poss":
        return tuple(term.text for term in words[:2])
    return (words[0].text,)


def _words(rest: list[Term]) -> frozenset[str]:
    return frozenset(term.text for term in rest if term.role == "word")
