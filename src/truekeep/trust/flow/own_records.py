"""Prove an id by a record of one of the owner's own systems: the only one that bears the owner's name for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from truekeep.trust.flow.evidence import ValueOrigin
from truekeep.trust.flow.index import naming
from truekeep.trust.flow.reading import TextReading, read, stem
from truekeep.trust.flow.requests import PROVING, ClauseSort
from truekeep.trust.flow.results import SystemRecord
from truekeep.trust.flow.roles import ArgumentLeaf, words_of
from truekeep.trust.flow.scope import RequestScope, named_in
from truekeep.trust.flow.tools import name_words

_ASKED = frozenset({*PROVING, ClauseSort.QUESTION})
_NUMBERED = re.compile(r"([^\W\d_]{3,}) #?(\d{1,4})(?![\d.:,/-]*\d)")
Rows = list[tuple[SystemRecord, str]]


def prove_record(scope: RequestScope, value: TextReading, key: str) -> ValueOrigin | None:
    """An id of exactly one own-system record that bears the owner's name for it."""
    form = value.flat.strip()
    rows = _rows(scope, form, key)
    if not rows:
        return None
    ids = {found for _, found in rows}
    if _is_number_of(scope, form, ids):
        return ValueOrigin.RECORD
    matching = _matching(scope, rows)
    if not matching and ids == {form}:
        # The only record of its kind, and the request names the kind: "throw the draft away".
        named = scope.stems if scope.looks_back else scope.clause_stems
        return ValueOrigin.RECORD if naming(name_words(key), frozenset()) & named else None
    return ValueOrigin.RECORD if matching == {form} else None


def of_proved_party(scope: RequestScope, leaf: ArgumentLeaf, proved: Iterable[ArgumentLeaf]) -> bool:
    """Whether a value is the id of a record that bears an address which this very call is proved to go to."""
    form = read(leaf.text).flat.strip()
    keys = {key for other in proved for key in read(other.text).sole if key.startswith("mail:")}
    bearing = [record for record in scope.evidence.records.records if form in record.ids.values()]
    return bool(keys) and any(record.values & keys for record in bearing)


def _rows(scope: RequestScope, form: str, key: str) -> Rows:
    """The records among which a value is somebody's id, each with its own id in that field."""
    records = scope.evidence.records.records
    fields = {(record.tool, name) for record in records for name in record.names_of(form, key)}
    fields = {(tool, name) for tool, name in fields if name == key} or fields
    return [(r, r.fields[n]) for r in records for tool, n in fields if r.tool == tool and n in r.fields]


def _matching(scope: RequestScope, rows: Rows) -> set[str]:
    """The ids of records that bear the party's address, else a name of the clause, else one it points back at."""
    before = range(scope.group.stop) if scope.looks_back else scope.group
    bearing: tuple[Callable[[SystemRecord], object], ...] = (
        lambda record: record.values & scope.party_values,
        lambda record: record.stems & scope.clause_stems,
        lambda record: record.stems & named_in(scope.own, PROVING, scope.group),
        lambda record: record.stems & named_in(scope.own, PROVING, before),
        lambda record: record.stems & scope.stems,
        lambda record: record.stems & named_in(scope.own, _ASKED, range(scope.group.start)),
        lambda record: record.stems & _named_by_memories(scope),
    )
    rows = _numbered_alike(scope, rows)
    for bears in bearing:
        if matching := {found for record, found in rows if bears(record)}:
            return matching
    return set()


def _named_by_memories(scope: RequestScope) -> frozenset[str]:
    """What acting passages call whom the request names: "my wife is Ruth"."""
    words = (word for held in scope.linked for word in held.reading.words)
    return naming(words, words_of("shared_words"))


def _numbered_alike(scope: RequestScope, rows: Rows) -> Rows:
    """The records with the number that the owner gave, or else those without another: "draft 2" is not "draft 4"."""
    said = _numbered(scope.own.reading.flat)
    bearing = [(row, _numbered(" \n ".join(row[0].fields.values()))) for row in rows]
    alike = [row for row, own in bearing if any(own.get(word) == number for word, number in said.items())]
    return alike or [row for row, own in bearing if not said.keys() & own.keys()]


def _numbered(text: str) -> dict[str, str]:
    """Words with the number right after them."""
    return {stem(word): number for word, number in _NUMBERED.findall(text)}


def _is_number_of(scope: RequestScope, form: str, ids: set[str]) -> bool:
    """Whether the owner named a record by the number at the end of its id, and only one has that number."""
    number = re.search(r"\d{2,}$", form)
    if not number or not scope.says(read(number[0])):
        return False
    return sum(1 for other in ids if re.search(rf"(?<!\d){number[0]}$", other)) == 1
