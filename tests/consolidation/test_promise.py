"""Whatever was said by whomever, consolidating changes nothing about what may act, for anybody, and can be undone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Clock
from tests.consolidation.conftest import WHO, acting, by_id
from truekeep import Keep
from truekeep.records.rows import MERGED
from truekeep.trust.influence import claim_key

CONFIG = """
enrolled_shelf_days = 30
hearsay_shelf_days = 60
[channels.crm]
standing = "enrolled"
[channels.billing]
standing = "enrolled"
"""
CLAIMS = (
    "Northwind's account is 1180-22",
    "The account of Northwind is 1180-22",
    "Northwind's account is 1180-23",
    "Northwind's account is not 1180-22",
    "Southwind's account is 1180-22",
    "Eva lives in Nitra",
    "Eva lives in Nitra!",
    "Eva lives in Brno",
    "The audit of Northwind is tomorrow",
)
CALLS = [{"payee": "Northwind", "amount": 300, "account": account} for account in ("1180-22", "1180-23")]
SOURCES: tuple[dict[str, Any], ...] = (
    {"via": "user"},
    {"via": "crm"},
    {"via": "billing"},
    {"via": "agent", "session": "clean"},
    {"via": "web", "principal": "evil.example"},
    {"via": "web", "principal": "news.example"},
)

MANY = 400 if os.environ.get("TRUEKEEP_LONG") else 15

writes = st.tuples(
    st.sampled_from(CLAIMS),
    st.sampled_from(SOURCES),
    st.sampled_from((None, None, None, 5)),  # days until it expires
    st.sampled_from((0, 0, 1, 10, 40)),  # days until the next
    st.sampled_from((False, False, False, True)),  # whether it names the last one as its parent
)


@contextmanager
def world(clock: Clock, steps: list[Any]) -> Iterator[Keep]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.toml").write_text(CONFIG)
        with Keep.open("world", home=folder, clock=clock, policy="inform", background=False) as keep:
            session = keep.session("clean", mediated=True)
            session.observe("user", "Please look after my notes.")
            last: str | None = None
            for text, source, expires, pause, is_derived in steps:
                clock.advance(minutes=1)
                fields = dict(source)
                if expires:
                    fields["expires_at"] = clock() + timedelta(days=expires)
                if is_derived and last:
                    fields["parents"] = [last]
                last = keep.remember(text, **fields).memory_id or last
                clock.advance(days=pause)
            yield keep


def decisions(keep: Keep, name: str) -> list[str]:
    session = keep.session(name, mediated=True)
    session.observe("user", "Please pay Northwind 300 euros.")
    return [session.check_action("pay", call).decision for call in CALLS]


def recalled(keep: Keep) -> set[str]:
    hits = [
        hit
        for query in ("Northwind account", "Eva lives", "audit")
        for hit in keep.recall(query, k=50, influence_only=True)
    ]
    return {claim_key(hit.text) for hit in hits}


@pytest.mark.slow
@given(st.lists(writes, min_size=2, max_size=12))
@settings(max_examples=MANY)
def test_what_may_act_is_the_same_before_and_after_and_after_an_undo(steps: list[Any]) -> None:
    clock = Clock()
    with world(clock, steps) as keep:
        before, act, said = by_id(keep), acting(keep), recalled(keep)
        wordings = {memory["content"] for memory in before.values() if memory["may_act"]}
        report = keep.consolidate(**WHO)
        after = by_id(keep)
        assert (acting(keep), recalled(keep)) == (act, said)
        assert {memory["content"] for memory in after.values() if memory["may_act"]} <= wordings
        for group in report["groups"]:
            assert len({before[one["id"]]["standing"] for one in group["originals"]} | {group["standing"]}) == 1
            assert len({claim_key(one["content"]) for one in group["originals"]} | {claim_key(group["content"])}) == 1
        assert keep.audit.verify().ok
        if report["incident"]:
            keep.undo(report["incident"], **WHO)
        assert by_id(keep) == before


@pytest.mark.slow
@given(st.lists(writes, min_size=2, max_size=10), st.lists(writes, min_size=1, max_size=4))
@settings(max_examples=MANY)
def test_what_is_said_afterwards_finds_the_same_world(steps: list[Any], later: list[Any]) -> None:
    """Two keeps hear the same; only one of them is consolidated on the way."""
    answers = []
    for is_consolidated in (True, False):
        clock = Clock()
        with world(clock, steps) as keep:
            if is_consolidated:
                keep.consolidate(**WHO)
            for text, source, _, pause, _ in later:
                clock.advance(minutes=1)
                keep.remember(text, **source)
                clock.advance(days=pause)
            answers.append((acting(keep), recalled(keep), decisions(keep, "s-9")))
    assert answers[0] == answers[1]


def test_the_worlds_of_these_tests_are_merged_in() -> None:
    """A property about merging that never merges would prove nothing."""
    steps = [(text, SOURCES[0], None, 0, False) for text in CLAIMS[:2]]
    with world(Clock(), steps) as keep:
        keep.consolidate(**WHO)
        assert [
            one["retired"] for name in keep.get_memories() for one in keep.history(name["origin"]["parents"][0])
        ] == [MERGED]
