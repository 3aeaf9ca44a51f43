"""Decide which clauses of an elder a newcomer outdates, and under which questions the two find each other.

This is stricter than ``contradicts``. A fact that is outdated by one that may act goes out of use, so only answers
that cannot stand side by side count: the same present question about somebody named, of a kind that has one answer
at a time (``data/claims``), and another answer of the same kind. In doubt both stay. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from truekeep.text.clause import SELF, Clause
from truekeep.text.language import lexemes
from truekeep.text.tokens import Kind

if TYPE_CHECKING:
    from truekeep.trust.influence.claims import Claim

_FIELD = "\x1f"
_VALUE_KINDS = tuple(f"{kind}:" for kind in Kind)
_MOST_QUESTIONS = 8
"""Questions that one claim answers; each costs a lookup at every write."""
_MOST_WORDS = 2
"""Longer answers to a question are descriptions, which may both hold."""
_LEAST_SAID = 3
_AT_AN_EMPLOYER = frozenset({"at"})

Words = tuple[str, ...]


def questions(claim: Claim) -> tuple[str, ...]:
    """The questions a claim answers, in canonical form; who answers none outdates nothing and is never outdated.

    Two clauses can outdate each other only if they answer the same question, so these find all candidates.
    """
    if not claim.bound:
        return ()
    found = (_question(clause, claim.names) for clause in claim.clauses if _asserts(clause))
    return tuple(dict.fromkeys(found))[:_MOST_QUESTIONS]


def outdated(elder: Claim, newcomer: Claim) -> frozenset[int]:
    """Which clauses of the elder, by their number, cannot hold any more if the newcomer is right."""
    if not (elder.bound and newcomer.bound):
        return frozenset()
    names = elder.names | newcomer.names
    told = [clause for clause in newcomer.clauses if _asserts(clause)]
    return frozenset(
        place
        for place, old in enumerate(elder.clauses)
        if _asserts(old) and any(_outdates(old, new, names) for new in told)
    )


def state_of(clause: Clause, names: frozenset[str]) -> Words:
    """The state a clause reports, up to its verb: "Eva moved to Brno" and "Eva lives in Brno" report the same."""
    single, words = lexemes().single, _said(clause)
    verb = next((place for place, word in enumerate(words) if place and _is_state_verb(word)), 0)
    if not verb or not any(word == SELF or word in names for word in words[:verb]):
        return ()
    is_one = _is_typed(words[verb + 1 :]) if words[verb] in single["amounts"] else _place(clause, words, verb, names)
    state = lexemes().changes.get(words[verb], words[verb])
    return (*(word for word in words[:verb] if word not in single["auxiliary"]), state) if is_one else ()


def _asserts(clause: Clause) -> bool:
    """Whether it says how something is now, about somebody who is named, and is more than a greeting."""
    said = len(clause.value) >= (1 if clause.is_attribute else _LEAST_SAID)
    return said and clause.tense == "present" and not clause.has_pronoun and bool(clause.about)


def _question(clause: Clause, names: frozenset[str]) -> str:
    if clause.is_attribute:
        asked = _about(clause) if _is_single(clause) else (*_about(clause), "=", *_said(clause))
    else:
        asked = state_of(clause, names) or _said(clause)
    return _FIELD.join(("is" if clause.is_attribute else "does", *asked))


def _outdates(old: Clause, new: Clause, names: frozenset[str]) -> bool:
    if old.is_attribute != new.is_attribute or (old.is_attribute and _about(old) != _about(new)):
        return False
    if (old.negations - new.negations) % 2:
        return _said(old) == _said(new)
    if old.negations or new.negations or _bare(old.value) == _bare(new.value):
        return False
    return _other_answer(old, new, names) if old.is_attribute else _other_state(old, new, names)


def _said(clause: Clause) -> Words:
    """The words; a denial without those that say it used to be so, as in "no longer"."""
    ended = lexemes().single["ended"] if clause.negations % 2 else frozenset()
    return tuple(word for word in clause.value if word not in ended)


def _about(clause: Clause) -> Words:
    """Whose and which; "my new phone" asks for the same as "my phone"."""
    cut = len(clause.about) - len(clause.attribute)
    is_current = cut > 1 and clause.about[cut - 1] in lexemes().single["current"]
    return clause.about[: cut - is_current] + clause.about[cut:]


def _is_single(clause: Clause) -> bool:
    """Whether the clause asks for something that a subject has one of."""
    single = lexemes().single
    heads = set(clause.attribute)
    if not heads or clause.attribute[-1] == "favourite" or heads & lexemes().several:
        return False
    if not clause.subject and not heads & single["own"]:
        return False
    return any(heads & single[kind] for kind in ("typed", "worded", "named", "mixed"))


def _other_answer(old: Clause, new: Clause, names: frozenset[str]) -> bool:
    if not _is_single(old) or old.is_one_of_several or new.is_one_of_several:
        return False
    single, heads = lexemes().single, set(old.attribute)
    before, after = _bare(old.value), _bare(new.value)
    if heads & single["mixed"]:
        return all(_tells_a_place(words, names) for words in (before, after))
    if _is_typed(before) or _is_typed(after):
        return bool(heads & single["typed"]) and _is_typed(before) and _same_types(before, after)
    is_name = [_are_names(words, names) for words in (before, after)]
    if heads & single["named"]:
        return all(is_name) and not set(before) & set(after)
    return bool(heads & single["worded"]) and is_name[0] == is_name[1] and max(map(len, (before, after))) <= _MOST_WORDS


def _other_state(old: Clause, new: Clause, names: frozenset[str]) -> bool:
    state = state_of(old, names)
    if not state or state != state_of(new, names):
        return False
    before, after = _after_verb(old), _after_verb(new)
    if state[-1] in lexemes().single["amounts"]:
        return _same_types(before, after)
    return not {word for word in before if word in names} & {word for word in after if word in names}


def _is_state_verb(word: str) -> bool:
    single = lexemes().single
    return any(word in single[kind] for kind in ("places", "employers", "amounts", "moves"))


def _after_verb(clause: Clause) -> Words:
    words = _said(clause)
    verb = next(place for place, word in enumerate(words) if place and _is_state_verb(word))
    return words[verb + 1 :]


def _place(clause: Clause, words: Words, verb: int, names: frozenset[str]) -> bool:
    """Whether all that follows the verb are names, apart from dates; one moves "to", one is employed "at"."""
    single, rest = lexemes().single, [word for word in words[verb + 1 :] if not word.startswith("date:")]
    if words[verb] in single["moves"]:
        if rest[:1] != ["to"]:
            return False
        rest = rest[1:]
    if words[verb] in single["employers"] and not _AT_AN_EMPLOYER.issuperset(clause.places):
        return False
    return _are_names(tuple(rest), names)


def _are_names(words: Words, names: frozenset[str]) -> bool:
    return bool(words) and all(word in names for word in words)


def _tells_a_place(words: Words, names: frozenset[str]) -> bool:
    return any(word in names or word.startswith(_VALUE_KINDS) for word in words)


def _is_typed(words: Words) -> bool:
    return any(word.startswith(_VALUE_KINDS) for word in words)


def _same_types(before: Words, after: Words) -> bool:
    """Values of the same types in the same words: another amount, not another thing."""
    return [_type(word) for word in before] == [_type(word) for word in after]


def _type(word: str) -> str:
    return word.partition(":")[0] + ":" if word.startswith(_VALUE_KINDS) else word


def _bare(words: Words) -> Words:
    """The answer without whose it is."""
    return tuple(word for word in words if word != SELF) if SELF in words else words
