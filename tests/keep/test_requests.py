"""Named batches: a name is its channel's own, and goes with what it was given for."""

from __future__ import annotations

from pathlib import Path

from truekeep import Keep
from truekeep.config import Settings


def test_an_agents_batch_never_pre_empts_the_owners(home: Path) -> None:
    with Keep.open("alice", home=home, settings=Settings(embedder="none", policy="inform")) as keep:
        batch = ["I live in Brno"]
        (planted,) = keep.remember_many(batch, via="web", principal="https://a.example", request="r-1")
        (own,) = keep.remember_many(batch, via="user", request="r-1")
        assert own.memory_id not in (None, planted.memory_id)
        (again,) = keep.remember_many(batch, via="user", request="r-1")
        assert again.memory_id == own.memory_id
        (other,) = keep.remember_many(["I live in Graz"], via="user", request="r-1")
        assert other.memory_id not in (None, own.memory_id)
