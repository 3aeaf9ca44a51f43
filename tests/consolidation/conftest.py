"""A shop with two enrolled systems, and what may act in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from truekeep import Keep
from truekeep.trust.influence import claim_key

CONFIG = """
[channels.crm]
standing = "enrolled"
[channels.billing]
standing = "enrolled"
"""
FACT = "Northwind's account is 1180-22."
AGAIN = "The account of Northwind is 1180-22."
WHO: dict[str, Any] = {"by": "eva", "reason": "tidying up"}

Put = Callable[..., str]


@pytest.fixture
def shop(home: Path, clock: Clock) -> Iterator[Keep]:
    home.mkdir()
    (home / "config.toml").write_text(CONFIG)
    with Keep.open("shop", home=home, clock=clock, policy="inform", background=False) as keep:
        yield keep


@pytest.fixture
def put(shop: Keep, clock: Clock) -> Put:
    """Remember a text, a minute after the last one; gives its id."""

    def remember(text: str, via: str = "user", **fields: Any) -> str:
        clock.advance(minutes=1)
        verdict = shop.remember(text, via=via, **fields)
        assert verdict.memory_id, verdict
        return verdict.memory_id

    return remember


def texts(keep: Keep) -> list[str]:
    return sorted(memory["content"] for memory in keep.get_memories())


def by_id(keep: Keep) -> dict[str, dict[str, Any]]:
    """All that a reader sees of every memory."""
    return {memory["id"]: memory for memory in keep.get_memories()}


def acting(keep: Keep) -> set[tuple[str, str]]:
    """What may act: by the claim and on whose word."""
    listed = (memory for memory in keep.get_memories() if memory["may_act"])
    return {(claim_key(memory["content"]), memory["standing"]) for memory in listed}


def recalled(keep: Keep, query: str = "Northwind account") -> set[str]:
    """The claims that a recall for an action gives."""
    return {claim_key(hit.text) for hit in keep.recall(query, k=50, influence_only=True)}


def kinds(keep: Keep) -> Counter[str]:
    return Counter(event.kind for event in keep.audit.events())
