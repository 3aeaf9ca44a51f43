"""Find who a clause is about and what it says, without a model: marks of possession, copulas and order.

Where the words do not show the roles, the order of the words is kept. That makes two claims different
that a person might call the same, never the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from truekeep.text.clause.model import Clause
from truekeep.text.clause.terms import SELF, Term, sentences, terms, values_by_start
from truekeep.text.lexemes import lexemes, stem
from truekeep.text.salient import Kind, Salient, Scan, scan

_COPULAS = frozenset({"present", "past", "future"})
_MOST_CLAUSES = 400


def clauses(text: str | Scan) -> tuple[Clause, ...]:
    """The clauses of a text, in order."""
    return _clauses(scan(text) if isinstance(text, str) else text)


@lru_cache(maxsize=16)
def _clauses(scanned: Scan) -> tuple[Clause, ...]:
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
