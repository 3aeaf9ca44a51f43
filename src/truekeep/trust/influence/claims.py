"""Decide when two texts state the same claim, and when one contradicts or succeeds the other.

Equality is exact on canonical words and values: subject, attribute, every value, denial and time. Similarity
plays no part. In doubt two claims are different, because a false "same" would let one text vouch for another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from truekeep.text.analysis import analysed
from truekeep.text.clause import SELF, Clause, clauses
from truekeep.text.lexemes import lexemes
from truekeep.text.sentences import asks
from truekeep.text.tokens import Kind, Salient

if TYPE_CHECKING:
    from truekeep.text.salient import ValueScan

_FIELD, _CLAUSE = "\x1f", "\x1e"
_VALUE_KINDS = tuple(f"{kind}:" for kind in Kind)


class Relation(StrEnum):
    """How a newcomer stands to an elder."""

    UNRELATED = "unrelated"
    SAME = "same"
    CONTRADICTS = "contradicts"
    SUCCEEDS = "succeeds"
    """The newcomer says that things changed from some time on; the elder was true until then."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a text states, clause by clause, in canonical words."""

    clauses: tuple[Clause, ...]
    key: str
    bound: bool
    """Whether it says something, and of whom: "his account is …" by itself, or a question, corroborates nothing."""
    names: frozenset[str] = frozenset()
    """The words in it that are part of a proper name."""

    @property
    def subject(self) -> tuple[str, ...]:
        """Whom or what the first clause is about."""
        return self.clauses[0].subject if self.clauses else ()

    @property
    def attribute(self) -> tuple[str, ...]:
        """Which attribute the first clause gives, if it gives one."""
        return self.clauses[0].attribute if self.clauses else ()

    @property
    def values(self) -> tuple[Salient, ...]:
        """All typed values, in order; spans are in the plain spelling of the text."""
        return tuple(value for clause in self.clauses for value in clause.values)

    @property
    def is_affirmed(self) -> bool:
        """Whether the first clause affirms rather than denies."""
        return not self.clauses or self.clauses[0].negations % 2 == 0

    @property
    def valid_from(self) -> str:
        """The date since which it holds, in canonical form, where the text gives one."""
        return next((clause.since for clause in self.clauses if clause.since), "")

    @property
    def valid_until(self) -> str:
        """The date until which it holds, in canonical form, where the text gives one."""
        return next((clause.until for clause in self.clauses if clause.until), "")


def claim_of(text: str | ValueScan, *, speaker: str | None = None) -> Claim:
    """The claim a text states. ``speaker`` is who "I" is; without it, "I" only equals "I"."""
    scanned = analysed(text).scan if isinstance(text, str) else text
    parts = tuple(_spoken_by(clause, speaker) for clause in clauses(scanned))
    names = frozenset(word for value in scanned.values if value.kind is Kind.NAME for word in value.value.split())
    bound = bool(parts) and (bool(names) or not any(clause.has_pronoun for clause in parts))
    bound = bound and not asks(scanned.view.text)
    return Claim(parts, _CLAUSE.join(_clause_key(clause) for clause in parts), bound, names)


def claim_key(text: str, *, speaker: str | None = None) -> str:
    """A canonical string, equal for two texts exactly when they state the same claim."""
    return claim_of(text, speaker=speaker).key


def clause_keys(claim: Claim) -> tuple[str, ...]:
    """The key that each clause would have as a claim of its own; what is about "it" has none."""
    return tuple(_clause_key(clause) for clause in claim.clauses if not clause.has_pronoun)


def _spoken_by(clause: Clause, speaker: str | None) -> Clause:
    if speaker is None:
        return clause
    name = tuple(speaker.casefold().split())

    def named(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part for word in words for part in (name if word == SELF else (word,)))

    return replace(clause, about=named(clause.about), value=named(clause.value))


def _clause_key(clause: Clause) -> str:
    about = " ".join(clause.about) if clause.is_attribute else ""
    return _FIELD.join((about, " ".join(clause.value), clause.tense, str(clause.negations), clause.since, clause.until))


def same_claim(a: Claim | str, b: Claim | str) -> bool:
    """Whether both state the same claim about the same, named subject."""
    first, second = _as_claim(a), _as_claim(b)
    return bool(first.key) and first.bound and second.bound and first.key == second.key


def contradicts(a: Claim | str, b: Claim | str) -> bool:
    """Whether both speak of the same subject and attribute and cannot both hold at once."""
    return relation(_as_claim(a), _as_claim(b)) is Relation.CONTRADICTS


def relation(elder: Claim, newcomer: Claim) -> Relation:
    """How the newcomer stands to the elder; the strongest relation between any two of their clauses counts."""
    if same_claim(elder, newcomer):
        return Relation.SAME
    if not (elder.bound and newcomer.bound):
        return Relation.UNRELATED
    found = {_clause_relation(old, new) for old in _about_someone(elder) for new in _about_someone(newcomer)}
    return next((r for r in (Relation.CONTRADICTS, Relation.SUCCEEDS) if r in found), Relation.UNRELATED)


def _about_someone(claim: Claim) -> list[Clause]:
    """The clauses that say whom they are about; "it is" is about something else every time."""
    return [clause for clause in claim.clauses if not clause.has_pronoun]


def _clause_relation(old: Clause, new: Clause) -> Relation:
    if _is_change(old, new):
        return Relation.SUCCEEDS
    if old.is_attribute != new.is_attribute or old.tense != new.tense or not _conflict(old, new):
        return Relation.UNRELATED
    if (old.since, old.until) != (new.since, new.until):
        return Relation.SUCCEEDS if new.since and new.since != old.since else Relation.UNRELATED
    return Relation.CONTRADICTS


def _conflict(old: Clause, new: Clause) -> bool:
    """Whether the two give different answers to one question."""
    if old.is_attribute and (old.about != new.about or not old.about):
        return False
    if old.value == new.value:
        return (old.negations - new.negations) % 2 == 1
    if old.negations or new.negations:
        return False
    return _other_answer(old, new) if old.is_attribute else _other_object(old, new)


def _other_answer(old: Clause, new: Clause) -> bool:
    if old.is_one_of_several or new.is_one_of_several:
        return False
    if any(word in lexemes().several for word in old.attribute):
        return False
    kinds = _kinds(old.value), _kinds(new.value)
    if kinds[0] or kinds[1]:
        return kinds[0] == kinds[1] and _untyped(old.value) == _untyped(new.value)
    return bool(old.attribute)


def _other_object(old: Clause, new: Clause) -> bool:
    """Another object of a verb that takes one at a time: "Eva lives in Berlin", "Eva lives in Paris"."""
    functional = lexemes().functional
    verb = next((i for i, word in enumerate(old.value) if word in functional), None)
    if not verb or old.value[: verb + 1] != new.value[: verb + 1]:
        return False
    before, after = old.value[verb + 1 :], new.value[verb + 1 :]
    return bool(before and after) and _kinds(before) == _kinds(after)


def _is_change(old: Clause, new: Clause) -> bool:
    """ "I moved to Berlin" after "I live in Paris"."""
    changes = lexemes().changes
    place = next((i for i, word in enumerate(new.value) if word in changes), None)
    if not place or new.is_attribute or old.is_attribute or new.negations or old.negations:
        return False
    return old.value[: place + 1] == (*new.value[:place], changes[new.value[place]])


def _kinds(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.partition(":")[0] for word in words if word.startswith(_VALUE_KINDS))


def _untyped(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if not word.startswith(_VALUE_KINDS))


def _as_claim(given: Claim | str) -> Claim:
    return claim_of(given) if isinstance(given, str) else given
