"""Prove a call's values by one request, each by its shape: a flag, a command, a moment, a number, a path, a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from truekeep.trust.flow.commands import is_asked_for
from truekeep.trust.flow.evidence import ValueOrigin
from truekeep.trust.flow.forms import (
    LANGUAGES,
    act_stems,
    act_words,
    common_words,
    forms,
    goes_out,
    name_words,
)
from truekeep.trust.flow.index import naming
from truekeep.trust.flow.moments import HALF_DAY, in_other_units, moment_of, spoken_times
from truekeep.trust.flow.reading import TextReading, read, stem
from truekeep.trust.flow.requests import PROVING, ClauseSort, OwnerSaid
from truekeep.trust.flow.results import SystemRecord
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole, is_place, words_of
from truekeep.trust.flow.scope import RequestScope, named_in, proves
from truekeep.trust.flow.structure import has_substitution, simple_commands

_ASKED = frozenset({*PROVING, ClauseSort.QUESTION})
_SMALL_NUMBER = re.compile(r"(?<![\d.])\d{1,2}(?![\d])")
_NUMBERED = re.compile(r"([^\W\d_]{3,}) #?(\d{1,4})(?![\d.:,/-]*\d)")
Rows = list[tuple[SystemRecord, str]]
_INSIDE_NAMES = frozenset({"", " ", "'", "\u2019", "-", " #", " & ", "/", "_"})
"""What stands between two words of one name."""
_SHORTEST_ROOT, _LONGEST_SUFFIX = 4, 3
_MOST_SEGMENTS = 16
"""Parts of a path that are looked at; nobody dictates a longer one."""


def prove(scope: RequestScope, leaf: ArgumentLeaf) -> ValueOrigin | None:
    """Where a value of the call is proved, or None."""
    if leaf.role is ArgumentRole.FLAG:
        return _flag(scope, leaf)
    value = read(leaf.text)
    if not value.flat.strip() or value.flat.strip() in words_of("defaults") or _is_top(leaf.key, value):
        return ValueOrigin.NEITHER
    if scope.evidence.is_confirmed(value.flat):
        return ValueOrigin.CONFIRMED
    return _by_shape(scope, leaf, value)


def first_proof(scopes: Iterable[RequestScope], leaf: ArgumentLeaf) -> ValueOrigin | None:
    """What the first of several requests that proves a target proves it with."""
    return next((origin for scope in scopes if (origin := prove(scope, leaf))), None)


def _is_top(key: str, value: TextReading) -> bool:
    """Whether a folder is the one that everything is in when nobody names another."""
    return value.flat.strip() == "root" and bool(frozenset(name_words(key)) & words_of("folders"))


def _by_shape(scope: RequestScope, leaf: ArgumentLeaf, value: TextReading) -> ValueOrigin | None:
    if leaf.role is ArgumentRole.WHOLE:
        return _whole(scope, leaf.text) or _rhythm(scope, leaf, value)
    if (moment := moment_of(leaf.text)) != (None, None):
        if (origin := prove_moment(scope, leaf, *moment) or prove_record(scope, value, leaf.key)) and moment[0]:
            scope.days.add(moment[0])
        return origin
    if is_place(leaf.key) and _known(scope, leaf.text):
        return ValueOrigin.MEMORY
    if leaf.widens and not value.sole:
        return ValueOrigin.REQUEST if scope.says_in_row(value) and scope.sets(value.words) else None
    return _text(scope, leaf, value) if isinstance(leaf.value, str) else _number(scope, leaf, value)


def _flag(scope: RequestScope, leaf: ArgumentLeaf) -> ValueOrigin | None:
    return ValueOrigin.REQUEST if scope.sets(name_words(leaf.key)) else None


def _whole(scope: RequestScope, text: str) -> ValueOrigin | None:
    """A command or code: each command of it stands whole in the owner's words or an acting passage."""
    if has_substitution(text):
        return None
    if is_asked_for(
        text, scope.stems | _acts_said(scope), lambda word: _operand(scope, word), lambda word: _known(scope, word)
    ):
        return ValueOrigin.REQUEST
    origins = [scope.plain(read(part)) for part in simple_commands(text)]
    return max(origins, key=_worse) if origins and all(origins) else None


def _acts_said(scope: RequestScope) -> frozenset[str]:
    return frozenset(stem(word) for place in scope.group for word in scope.own.clauses[place].words)


def _operand(scope: RequestScope, word: str) -> bool:
    value = read(word)
    return bool(scope.plain(value) or ("/" in word and _path(scope, value)))


def _known(scope: RequestScope, word: str) -> bool:
    """Whether a place stands whole in the owner's words or in any acting passage, or is a plain name below one."""
    if word.replace("_", "").replace("-", "").isalnum():
        return True
    value = read(word)
    return any(True for _ in scope.evidence.memories.holding(value)) or scope.says(value)


def _worse(origin: ValueOrigin | None) -> int:
    return list(ValueOrigin).index(origin) if origin else len(ValueOrigin)


def _rhythm(scope: RequestScope, leaf: ArgumentLeaf, value: TextReading) -> ValueOrigin | None:
    """A recurrence: every word of it that is no syntax is one the request says."""
    if not frozenset(name_words(leaf.key)) & words_of("rhythm"):
        return None
    words = naming(value.words, words_of("rhythm"))
    return ValueOrigin.REQUEST if words and words <= scope.stems else None


def _number(scope: RequestScope, leaf: ArgumentLeaf, value: TextReading) -> ValueOrigin | None:
    if found := scope.plain(value, leaf.key):
        return found
    counted = any(v.kind == "num" for v in scope.own.values_in(scope.clause))
    if leaf.value == 1 and not counted and naming(name_words(leaf.key), frozenset()) & scope.clause_stems:
        return ValueOrigin.REQUEST  # "an hour", "a day"
    if any(scope.says(read(spelt)) for spelt in in_other_units(leaf)):
        return ValueOrigin.REQUEST
    return prove_record(scope, value, leaf.key)


def _text(scope: RequestScope, leaf: ArgumentLeaf, value: TextReading) -> ValueOrigin | None:
    return (
        scope.plain(value, leaf.key)
        or (ValueOrigin.REQUEST if not value.sole and _says_loosely(scope, value, leaf.key) else None)
        or (_path(scope, value) if "/" in value.flat else None)
        or (ValueOrigin.REQUEST if _is_moment_said(scope, value) else None)
        or (ValueOrigin.MEMORY if not value.sole and _named_in_memory(scope, value) else None)
        or prove_record(scope, value, leaf.key)
    )


def _is_moment_said(scope: RequestScope, value: TextReading) -> bool:
    """Whether a text is nothing but a day and a time, each of which the request says: "tomorrow 9:45"."""
    parts = [read(value.flat[v.start : v.end]) for v in value.values if v.kind in ("date", "time")]
    if len(parts) < 2 or sum(len(part.flat.strip()) for part in parts) < len(value.flat.replace(" ", "")):
        return False
    return all(scope.says(part) for part in parts)


def _says_loosely(scope: RequestScope, value: TextReading, key: str) -> bool:
    """Whether a text stands in the request in other forms of its words: "comment access" for the role ``commenter``."""
    if scope.says_in_row(value):
        return True
    word = value.flat.strip()
    is_choice = bool(frozenset(name_words(key)) & words_of("choices"))
    return is_choice and any(
        len(said) >= _SHORTEST_ROOT and word.startswith(said) and len(word) - len(said) <= _LONGEST_SUFFIX
        for place in scope.group
        for said in scope.own.clauses[place].words
    )


def _named_in_memory(scope: RequestScope, value: TextReading) -> bool:
    """Whether a name is put together from the request's words and one passage about its party."""
    words = naming(value.words, words_of("shared_words"))
    if not words & scope.stems:
        return False
    return any(words <= scope.stems | held.reading.stems for held in scope.linked)


def _path(scope: RequestScope, value: TextReading) -> ValueOrigin | None:
    """A path put together from one that is proved and names that the owner said."""
    segments = value.flat.strip().split("/")
    if len(segments) > _MOST_SEGMENTS or ".." in segments:
        return None
    for cut in range(len(segments) - 1, 0, -1):
        front, rest = read("/".join(segments[:cut])), segments[cut:]
        if not front.flat.strip("~/."):
            continue
        if scope.plain(front, "path") and _segments(scope, rest):
            return ValueOrigin.MEMORY
        # "delete scripts/old.sh" means the one below a place that the owner remembers.
        if len(rest) > 1 and scope.says(read("/".join(rest))) and any(scope.evidence.memories.holding(front)):
            return ValueOrigin.MEMORY
    return None


def _segments(scope: RequestScope, segments: list[str]) -> bool:
    if scope.plain(read("/".join(segments))):
        return True
    return all(_segment(scope, name) for name in segments)


def _segment(scope: RequestScope, name: str) -> bool:
    front, dot, ending = name.rpartition(".")
    readings = [read(name)]
    if dot and ending in words_of("endings"):
        readings.append(read(front.replace("_", " ").replace("-", " ")))
    words = naming(readings[-1].words, frozenset()) if len(readings) > 1 else frozenset()
    is_named = bool(words) and words <= scope.own.reading.stems
    return is_named or any(scope.plain(reading) or scope.says_in_row(reading) for reading in readings)


def prove_moment(scope: RequestScope, leaf: ArgumentLeaf, day: str | None, clock: str | None) -> ValueOrigin | None:
    """A day and a time of day: each said, or the day today, or the time later on a day that is proved."""
    is_proved = day in scope.days
    origin = ValueOrigin.COMPOSED if is_proved else _day(scope, leaf, day) if day else ValueOrigin.REQUEST
    if origin and clock and clock != "00:00" and not is_proved and not _clock(scope, clock):
        return origin if scope.remembered(read(clock), leaf.key) else None
    return origin


def _day(scope: RequestScope, leaf: ArgumentLeaf, day: str) -> ValueOrigin | None:
    if day == scope.evidence.now.date().isoformat():
        return ValueOrigin.COMPOSED
    for message in scope.messages:
        days = [v for v in message.reading.values if v.kind == "date" and _dates(scope, message, v.start)]
        if any(v.form == day for v in days):
            return ValueOrigin.REQUEST
        if any(v.form[:7] == day[:7] for v in days) and str(int(day[8:])) in _digits(message):
            return ValueOrigin.REQUEST
    return ValueOrigin.MEMORY if scope.remembered(read(day), leaf.key) else None


def _clock(scope: RequestScope, clock: str) -> bool:
    hour, minute = int(clock[:2]), clock[3:]
    hours = {str(hour), str(hour - HALF_DAY)} if minute == "00" else set()
    for message in scope.messages:
        for value in message.reading.values:
            if value.kind == "time" and value.form == clock and _dates(scope, message, value.start):
                return True
            if value.kind == "num" and value.form in hours and _dates(scope, message, value.start):
                return True
        spoken = spoken_times(message.reading).get(clock)
        if spoken is not None and _dates(scope, message, spoken):
            return True
        if hours & _digits(message) or (clock == "12:00" and message.reading.stems & _noon()):
            return True
    return False


def _noon() -> frozenset[str]:
    return frozenset(map(stem, words_of("noon")))


def _dates(scope: RequestScope, message: OwnerSaid, place: int) -> bool:
    """Whether a time at a place counts; one that an earlier message dictated is still the owner's."""
    return message.sort_at(place) in PROVING if message is not scope.own else proves(message, place)


def _digits(message: OwnerSaid) -> frozenset[str]:
    """Small numbers in the plain clauses of a message, however they are joined: "4-11 january"."""
    return frozenset(
        str(int(match[0])) for match in _SMALL_NUMBER.finditer(message.reading.flat) if proves(message, match.start())
    )


def prove_record(scope: RequestScope, value: TextReading, key: str) -> ValueOrigin | None:
    """An id of exactly one own-system record that bears the owner's name for it."""
    form = value.flat.strip()
    rows = _rows(scope, form, key)
    if not rows:
        return None
    ids = {found for _, found in rows}
    matching = _matching(scope, rows, form)
    if not matching and ids == {form}:
        # The only record of its kind, and the request names the kind: "throw the draft away".
        named = scope.stems if scope.looks_back else scope.clause_stems
        return ValueOrigin.RECORD if naming(name_words(key), frozenset()) & named else None
    return ValueOrigin.RECORD if matching == {form} else None


def _rows(scope: RequestScope, form: str, key: str) -> Rows:
    """The records among which a value is somebody's id, each with its own id in that field."""
    records = scope.evidence.records.records
    fields = {(record.tool, name) for record in records for name in record.names_of(form, key)}
    fields = {(tool, name) for tool, name in fields if name == key} or fields
    return [(r, r.fields[n]) for r in records for tool, n in fields if r.tool == tool and n in r.fields]


def _matching(scope: RequestScope, rows: Rows, form: str) -> set[str]:
    """The ids of records that bear the party's address, else a name of the clause, else one it points back at.

    Of several that bear names, each is the one meant by a word that no other bears: "Moon and Winther".
    """
    before = range(scope.group.stop) if scope.looks_back else scope.group
    rows, is_numbered = _numbered_alike(scope, rows)
    if matching := {found for record, found in rows if is_numbered or record.values & scope.party_values}:
        return matching
    named: tuple[Callable[[], frozenset[str]], ...] = (
        lambda: scope.clause_stems,
        lambda: named_in(scope.own, PROVING, scope.group),
        lambda: named_in(scope.own, PROVING, before),
        lambda: scope.stems,
        lambda: named_in(scope.own, _ASKED, range(scope.group.start)),
        lambda: _named_by_memories(scope),
    )
    # Verbs and states ("open", "close") name no record, and a word that points back singles out none of several.
    kinds = act_stems() | frozenset(map(stem, name_words(scope.tool)))
    called: dict[str, frozenset[str]] = {}
    is_outward = goes_out(scope.tool)
    for record, found in rows:
        called[found] = called.get(found, frozenset()) | _called(record, found, is_outward)
    phrases = _phrases(scope, kinds)
    for tier, words in enumerate(named):
        wanted = words() - kinds
        bearing = {found: own & wanted for found, own in called.items()}
        if matching := {found for found, own in bearing.items() if own}:
            if tier < len(named) - 1:
                matching = {found for found in matching if _bears_whole(phrases, called[found], bearing[found])}
            others = frozenset().union(*(own for found, own in bearing.items() if found != form))
            is_meant = tier < _OWN_WORDS and form in matching and bearing[form] - others
            return {form} if is_meant else matching
    return set()


def _phrases(scope: RequestScope, kinds: frozenset[str]) -> list[frozenset[str]]:
    """The names in the owner's words: naming words in a row, without verbs and the tool's own words."""
    found: list[frozenset[str]] = []
    unnamed = words_of("shared_words") | words_of("placeholders")
    for message in scope.messages:
        row: list[str] = []
        end = 0
        for word, start, stop in message.reading.spans:
            if word in common_words() or _is_verb(word) or message.reading.flat[end:start] not in _INSIDE_NAMES:
                found.append(naming(row, unnamed) - kinds)
                row = []
            row += () if _is_verb(word) else (word,)
            end = stop
        found.append(naming(row, unnamed) - kinds)
    return [phrase for phrase in found if phrase]


@lru_cache(maxsize=1024)
def _is_verb(word: str) -> bool:
    """Whether a word only says what is done: a command with its pronoun written on, or a past form ("moved")."""
    is_past = word.endswith("ed") and not act_words().keys().isdisjoint((word[:-1], word[:-2]))
    return is_past or any(forms(language).is_enclitic(word) for language in LANGUAGES)


def _bears_whole(phrases: Iterable[frozenset[str]], called: frozenset[str], own: frozenset[str]) -> bool:
    """Whether a record bears the whole of a name, and not just one of its words."""
    return any(phrase & own and phrase <= called for phrase in phrases)


_OWN_WORDS = 2
"""How many of the places where names are looked for are the request's own words."""


def _called(record: SystemRecord, form: str, is_outward: bool) -> frozenset[str]:
    """The words of a record's short fields, and those that its id is made of: ``climate.hall``.

    A title that others wrote could bear any name: where money or access goes out, only the owner's own fields count.
    """
    return (record.own_stems if is_outward else record.stems) | frozenset(map(stem, name_words(form)))


def _named_by_memories(scope: RequestScope) -> frozenset[str]:
    """What acting passages call whom the request names: "my wife is Ruth"."""
    words = (word for held in scope.linked for word in held.reading.words)
    return naming(words, words_of("shared_words"))


def _numbered_alike(scope: RequestScope, rows: Rows) -> tuple[Rows, bool]:
    """The records with the number that the owner gave, or else those without another: "draft 2" is not "draft 4"."""
    said = _numbered(scope.own.reading.flat)
    bearing = [(row, _numbered(" \n ".join(row[0].fields.values()))) for row in rows]
    alike = [row for row, own in bearing if any(own.get(word) == number for word, number in said.items())]
    return alike or [row for row, own in bearing if not said.keys() & own.keys()], bool(alike)


def _numbered(text: str) -> dict[str, str]:
    """Words with the number right after them."""
    return {stem(word): number for word, number in _NUMBERED.findall(text)}
