"""One codec writes and reads every value: what 0.1.0 wrote is read and written again byte for byte."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.act import tickets
from truekeep.config import Paths
from truekeep.errors import StoreError
from truekeep.extract import job_rows, prompt_rows, working_rows
from truekeep.incident import records as incidents
from truekeep.read import exposures
from truekeep.sessions.transcripts import observations
from truekeep.stores import records
from truekeep.stores.codec import Malformed, Shape, others
from truekeep.stores.entry import encoded
from truekeep.stores.files import open_ledger
from truekeep.stores.ledger import Sealed
from truekeep.types import Approval, Decision, Memory, Origin, Standing

KEEPS = ("alice", "family")
Again = Callable[[Sealed], dict[str, Any] | None]


def again(read: Callable[[Any], Any], write: Callable[[Any], dict[str, Any]]) -> Again:
    return lambda sealed: write(read(sealed))


def job_again(sealed: Sealed) -> dict[str, Any] | None:
    job = job_rows._job(sealed)
    return job_rows._body(job) if job is not None else None


AGAIN: dict[str, Again] = {
    "memories": again(records.memory_from, records.memory_body),
    "queue": again(records.item_from, records.item_body),
    "tombstones": again(records.tombstone_from, records.tombstone_body),
    "snapshots": lambda sealed: records.snapshot_body(*records.snapshot_from(sealed)),
    "observations": lambda sealed: observations([sealed])[0].as_body(),
    "exposures": again(exposures.exposure_from, exposures._EXPOSURE.write),
    "tickets": again(tickets._record, tickets._TICKET.write),
    "incidents": again(incidents._incident, incidents._INCIDENT.write),
    "working": again(working_rows._memory, working_rows._WORKING.write),
    "prompts": again(prompt_rows._version, prompt_rows._PROMPT.write),
    "jobs": job_again,
}
REORDERED = {"queue", "tickets"}
"""Whose members are written in another order now: nothing is compared with their bytes."""


GONE = {"tickets": ("request", "grant", "relied_on")}
"""Members that nothing reads any more: a ticket is judged again when it is used."""


@pytest.mark.parametrize("name", KEEPS)
def test_every_row_that_0_1_0_wrote_is_written_again_as_it_was(old_home: Path, name: str) -> None:
    ledger = open_ledger(Paths.resolve(old_home), name, lambda: datetime(2026, 6, 1, tzinfo=UTC))
    seen = 0
    for table, written in AGAIN.items():
        for sealed in ledger.all(table):
            body = written(sealed)
            if body is not None:
                seen += 1
                before = json.loads(sealed.row.body)
                kept = {name: value for name, value in before.items() if name not in GONE.get(table, ())}
                assert body == kept
                assert table in REORDERED or kept != before or encoded(body) == sealed.row.body
    ledger.close()
    assert seen > (40 if name == "alice" else 5)


@dataclass(frozen=True, slots=True)
class Inner:
    word: str


@dataclass(frozen=True, slots=True)
class Outer:
    """One field of every sort."""

    id: str
    text: str
    number: int
    share: float
    flag: bool
    at: datetime
    standing: Standing
    decision: Decision
    inner: Inner
    pair: tuple[str, int]
    pairs: tuple[tuple[str, int], ...]
    words: tuple[str, ...] = ()
    inners: tuple[Inner, ...] = ()
    names: frozenset[str] = frozenset()
    counts: dict[str, int] = field(default_factory=dict)
    anything: dict[str, Any] = field(default_factory=dict)
    span: timedelta | None = None
    until: datetime | None = None


OUTER = Shape(Outer, given=("id",), sparse=("words", "until"), names={"flag": "is_set"}, version=1)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MEMBERS = {
    "v": 1,
    "text": "a",
    "number": 3,
    "share": 0.5,
    "is_set": True,
    "at": "2026-03-01T12:00:00.000000Z",
    "standing": "owner",
    "decision": "accept",
    "inner": {"word": "x"},
    "pair": ["a", 1],
    "pairs": [["b", 2]],
    "inners": [{"word": "y"}],
    "names": ["m", "n"],
    "counts": {"k": 1},
    "anything": {"free": [1, None]},
    "span": 90.0,
}
VALUE = Outer(
    "o-1", "a", 3, 0.5, True, NOW, Standing.OWNER, Decision.ACCEPT, Inner("x"), ("a", 1), (("b", 2),), (),
    (Inner("y"),), frozenset("nm"), {"k": 1}, {"free": [1, None]}, timedelta(seconds=90),
)  # fmt: skip


def test_every_sort_of_field_is_written_and_read() -> None:
    assert OUTER.write(VALUE) == MEMBERS
    assert next(iter(OUTER.write(VALUE))) == "v"
    assert OUTER.read(json.loads(json.dumps(MEMBERS)), id="o-1") == VALUE
    more = MEMBERS | {"words": ["w"], "until": "2026-03-01T12:00:00.000000Z", "unknown": "left where it is"}
    assert OUTER.read(more, id="o-1").words == ("w",)
    assert OUTER.read(more, id="o-1").until == NOW


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("v", 2),
        ("text", 1),
        ("text", None),
        ("number", True),
        ("number", 1.0),
        ("share", "0.5"),
        ("share", 1e300),
        ("share", float("nan")),
        ("share", False),
        ("is_set", 1),
        ("at", "2026-03-01T12:00:00"),
        ("at", "yesterday"),
        ("at", 5),
        ("standing", "king"),
        ("standing", ["owner"]),
        ("decision", "ACCEPT"),
        ("inner", {"word": 1}),
        ("inner", "x"),
        ("pair", ["a"]),
        ("pair", ["a", 1, 2]),
        ("pair", {"a": 1}),
        ("pairs", [["a", "1"]]),
        ("words", ["a", 1]),
        ("words", "ab"),
        ("inners", [1]),
        ("names", [["x"]]),
        ("counts", {"k": True}),
        ("counts", []),
        ("anything", []),
        ("span", "90"),
        ("until", ""),
    ],
)
def test_a_member_of_another_type_is_refused(name: str, value: object) -> None:
    with pytest.raises(Malformed):
        OUTER.read(MEMBERS | {name: value}, id="o-1")


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "span"])
def test_a_member_that_is_missing_is_refused(name: str) -> None:
    with pytest.raises(Malformed):
        OUTER.read({known: value for known, value in MEMBERS.items() if known != name}, id="o-1")


@pytest.mark.parametrize("held", [None, [], "x", 3, [MEMBERS]])
def test_what_are_no_members_is_refused(held: object) -> None:
    with pytest.raises(Malformed):
        OUTER.read(held, id="o-1")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(MEMBERS)), JSON)
def test_whatever_stands_in_a_member_it_is_a_value_or_refused(name: str, value: Any) -> None:
    with contextlib.suppress(Malformed):
        assert isinstance(OUTER.read(MEMBERS | {name: value}, id="o-1"), Outer)


MOMENTS = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))
WORDS = st.lists(st.text(max_size=8), max_size=3).map(tuple)
ORIGINS = st.builds(Origin, channel=st.text(min_size=1, max_size=8), parents=WORDS)
APPROVALS = st.builds(Approval, at=MOMENTS, until=st.none() | MOMENTS, rules=WORDS)
METADATA = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)
MEMORIES = st.builds(
    Memory,
    origin=ORIGINS,
    created_at=MOMENTS,
    as_of=MOMENTS,
    topics=WORDS,
    metadata=METADATA,
    keys=WORDS,
    approval=st.none() | APPROVALS,
    valid_from=st.none() | MOMENTS,
    verified=st.just(True),
)


@given(MEMORIES)
def test_a_memory_is_read_as_it_was_written(memory: Memory) -> None:
    body = json.loads(encoded(records.memory_body(memory)))
    assert records._MEMORY.read(body, id=memory.id, seq=memory.seq) == memory


def test_a_genuine_row_of_another_form_says_which_version_to_use(old_home: Path) -> None:
    ledger = open_ledger(Paths.resolve(old_home), "alice", lambda: datetime(2026, 6, 1, tzinfo=UTC))
    sealed = ledger.all("memories")[0]
    newer = sealed._replace(row=sealed.row._replace(body=json.dumps(json.loads(sealed.row.body) | {"v": 2})))
    ledger.close()
    with pytest.raises(StoreError) as refused:
        records.memory_from(newer)
    assert refused.value.code == "unknown_row_format"


def test_the_other_fields_of_a_class_are_named_in_their_order() -> None:
    assert others(Inner) == ("word",)
    assert others(Outer, "id", "text")[:2] == ("number", "share")
