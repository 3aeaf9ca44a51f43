"""Finds the memories that answer a question: by words, by meaning, by who spoke, when and next to what.

What computes with arrays is loaded when it is first asked for: a process that judges one call searches for nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truekeep.search.card import (
    ESSENTIAL,
    HAS_GIST,
    OF_PASSAGES,
    PINNED,
    VERSION,
    Card,
    describe,
    is_outdated,
    marks_in,
    passage,
    renewed,
    spoken_by,
    values_in,
    windows,
)
from truekeep.search.query import Query
from truekeep.search.terms import KINDS, STANDING_WISHES, WISH

if TYPE_CHECKING:
    from truekeep.search.index import Index
    from truekeep.search.loading import Entry, without_vector
    from truekeep.search.matrix import pack
    from truekeep.search.places import NOWHERE, changed, holds
    from truekeep.search.ranking import Hit

_HOMES = {
    "Entry": "loading",
    "Hit": "ranking",
    "Index": "index",
    "NOWHERE": "places",
    "changed": "places",
    "holds": "places",
    "pack": "matrix",
    "without_vector": "loading",
}

__all__ = [
    "ESSENTIAL",
    "HAS_GIST",
    "KINDS",
    "NOWHERE",
    "OF_PASSAGES",
    "PINNED",
    "STANDING_WISHES",
    "VERSION",
    "WISH",
    "Card",
    "Entry",
    "Hit",
    "Index",
    "Query",
    "changed",
    "describe",
    "holds",
    "is_outdated",
    "marks_in",
    "pack",
    "passage",
    "renewed",
    "spoken_by",
    "values_in",
    "windows",
    "without_vector",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'truekeep.search' has no attribute {name!r}")
    value = getattr(import_module(f"truekeep.search.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
