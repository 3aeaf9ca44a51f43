"""What the owner required and a call leaves out: values of the request, dictated words, standing wishes, silence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise, takewhile

from truekeep.trust.flow.evidence import SessionEvidence
from truekeep.trust.flow.forms import LANGUAGES, act_stems, forms, name_words
from truekeep.trust.flow.index import RARE, naming
from truekeep.trust.flow.moments import HALF_DAY, in_other_units, is_moment
from truekeep.trust.flow.reading import WORD, TextReading, TypedValue, read, read_table, stem
from truekeep.trust.flow.requests import ClauseSort, passage
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole, words_of
from truekeep.trust.flow.scope import RequestScope

_SENTENCE_WORDS = 3
"""Words of the shortest text that is taken for dictated."""


def omits(scope: RequestScope, leaves: Iterable[ArgumentLeaf]) -> bool:
    """Whether the call leaves out a typed value that the request names, or a word by which it guards the act."""
    leaves = tuple(leaves)
    given = [read(leaf.text) for leaf in leaves]
    given += [read(text) for leaf in leaves for text in _of_record(scope, leaf)]
    keys = {key for reading in given for key in reading.keys}
    named = _outermost(scope.own.values_in(scope.clause))
    for value in named:
        if value.kind in ("mail", "code", "path") and value.key not in keys:
            # One of several suits a call that goes to one of them.
            others = {other.key for other in named if other.kind == value.kind}
            if not _is_spelt(value, given) and not others & keys:
                return True
    for value in named:
        alike = {other.key for other in named if other.kind == "num" and other.start == value.start}
        is_left = value.kind == "num" and not alike & keys
        if is_left and not _is_computed(value.form, leaves, given):
            return True
    return _drops_guard(scope, leaves)


def _outermost(values: Sequence[TypedValue]) -> list[TypedValue]:
    """Values that are no part of a longer one: the number in a file's name is not asked for by itself."""
    spans = {(value.start, value.end) for value in values}
    return [
        value
        for value in values
        if not any(a <= value.start and value.end <= b and (a, b) != (value.start, value.end) for a, b in spans)
    ]


def _drops_guard(scope: RequestScope, leaves: Iterable[ArgumentLeaf]) -> bool:
    """Whether the request says a word that limits the act ("as a dry run") and nothing of the call does."""
    later = range(scope.group.stop, len(scope.own.clauses))
    joined = takewhile(lambda place: scope.own.clauses[place].goes_on, later)
    places = (*range(scope.request.clause, scope.group.stop), *joined)
    said = {word for place in places for word in _joined(_words_of(scope, place))}
    given = {word for leaf in leaves for name in (leaf.key, leaf.text) for word in _joined(name_words(name))}
    given |= set(_joined(name_words(scope.tool)))
    return any(limit in said and given.isdisjoint(words) for limit, words in _limits().items())


def _words_of(scope: RequestScope, place: int) -> tuple[str, ...]:
    clause = scope.own.clauses[place]
    return tuple(word for word, _, _ in scope.own.unquoted.between(clause.start, clause.end))


@cache
def _limits() -> dict[str, frozenset[str]]:
    return {name: frozenset(words.split()) for name, words in read_table("act", "roles.toml")["limits"].items()}


def _joined(words: tuple[str, ...]) -> Iterator[str]:
    yield from words
    yield from (first + second for first, second in pairwise(words))


def _of_record(scope: RequestScope, leaf: ArgumentLeaf) -> Iterator[str]:
    """What the record of an id is called: "draft 2" is not left out where its id is given."""
    form = leaf.text.strip().lower()
    for record in scope.evidence.records.records if form else ():
        if form in record.ids.values():
            yield from record.fields.values()


def _is_spelt(value: TypedValue, given: Iterable[TextReading]) -> bool:
    return any(value.form in reading.flat or reading.flat in value.form for reading in given if reading.flat)


def _is_computed(form: str, leaves: Iterable[ArgumentLeaf], given: Iterable[TextReading]) -> bool:
    """Whether a number of the request is in the call in another unit, or as an hour or a day."""
    if not form.replace(".", "").isdigit() or any(form in in_other_units(leaf) for leaf in leaves):
        return True
    given = tuple(given)
    digits = {number for reading in given for number in re.findall(r"\d+", reading.flat)}
    number = float(form)
    spelt = {f"{number * factor:g}" for factor in (1, 60, 100, 3600)}
    hours = {f"{int(number):02d}", f"{int(number) + HALF_DAY:02d}"} if number < 32 else set()
    return bool((spelt | hours) & digits) or any(is_moment(reading.flat.upper()) for reading in given)


def says_as_dictated(scope: RequestScope, leaves: Iterable[ArgumentLeaf]) -> bool:
    """Whether everything that the request puts in quotation marks for somebody stands whole in the call.

    What the call takes over word by word must not end where the owner's sentence goes on: "we accept, under protest".
    """
    given = [read(leaf.text).flat for leaf in leaves]
    is_said = any("say" in clause.acts for clause in scope.own.clauses)
    if is_said and any(_is_cut_short(scope.own.reading.flat, text.strip(" .!,;:"), given) for text in given):
        return False
    if "say" not in scope.clause.acts:
        return True
    quotes = scope.own.quotes_in(scope.own.clauses[place] for place in scope.group)
    return all(any(quote in text for text in given) for quote in quotes)


def _is_cut_short(said: str, text: str, given: Iterable[str]) -> bool:
    place = said.find(text) if text.count(" ") >= _SENTENCE_WORDS - 1 else -1
    after = WORD.search(said, place + len(text)) if place >= 0 else None
    between = said[place + len(text) : after.start()] if after else "."
    return between == " " and after is not None and not any(f"{text} {after[0]}" in other for other in given)


def mentions_what_it_must_not(scope: RequestScope, text: TextReading) -> bool:
    """Whether content speaks of what the owner's message says not to mention."""
    for clause in scope.own.clauses:
        if clause.sort is ClauseSort.STOPPED and _silence() & clause.stems:
            words = clause.stems - _silence() - scope.clause_stems - act_stems()
            if words & text.stems:
                return True
    return False


def tells_whom_it_must_not(evidence: SessionEvidence, leaves: Iterable[ArgumentLeaf]) -> bool:
    """Whether a call goes to somebody of whom a passage says not to tell what its content speaks of."""
    if not any(map(evidence.memories.counts, _silence())):
        return False
    leaves = tuple(leaves)
    content = frozenset(
        word for leaf in leaves if leaf.role is ArgumentRole.CONTENT for word in read(leaf.text).stems - act_stems()
    )
    parties = [read(leaf.text) for leaf in leaves if leaf.role is ArgumentRole.TARGET and content]
    return any(
        clause.denies and _silence() & clause.stems and (clause.stems - _silence()) & content
        for party in parties
        if party.sole
        for held in evidence.memories.holding(party)
        for clause in passage(held.raw, held.at).clauses
    )


def leaves_out_party(scope: RequestScope, leaves: Iterable[ArgumentLeaf]) -> bool:
    """Whether the clause names somebody whose address or account is known, and nothing of the call is about them."""
    given = [read(leaf.text) for leaf in leaves]
    keys = {key for reading in given for key in reading.keys}
    words = {word for reading in given for word in reading.stems}
    named = scope.clause_stems - act_stems() - frozenset(map(stem, name_words(scope.tool)))
    known = [
        held
        for held in scope.linked
        if held.reading.stems & named and any(value.kind in ("mail", "code") for value in held.reading.values)
    ]
    return bool(known) and not any(
        held.reading.keys & keys or naming(held.reading.words, words_of("shared_words")) & words for held in known
    )


@cache
def _silence() -> frozenset[str]:
    return frozenset(map(stem, words_of("silence")))


def breaks_standing_wish(scope: RequestScope, name: str, leaves: Iterable[ArgumentLeaf]) -> bool:
    """Whether a passage about what the call does or goes to says "always" and has a value the call leaves out."""
    given = [read(leaf.text) for leaf in leaves if leaf.role is not ArgumentRole.CONTENT]
    keys = {key for reading in given for key in reading.keys}
    words = naming((*name_words(name), *(word for one in given for word in one.words)), words_of("shared_words"))
    rare = [word for word in words if scope.evidence.memories.counts(word) <= RARE]
    for held in scope.evidence.memories.sharing(rare):
        if any(forms(language).has("standing", held.reading.words) for language in LANGUAGES):
            values = [value for value in held.reading.values if value.kind in ("mail", "code", "id")]
            if values and not any(value.key in keys for value in values):
                return True
    return False
