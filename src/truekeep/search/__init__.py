"""Finds the memories that answer a question: by words, by meaning, by who spoke, when and next to what."""

from __future__ import annotations

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
from truekeep.search.index import Index
from truekeep.search.loading import Entry, without_vector
from truekeep.search.matrix import pack
from truekeep.search.places import NOWHERE, changed, holds
from truekeep.search.query import Query
from truekeep.search.ranking import Hit
from truekeep.search.terms import KINDS, STANDING_WISHES, WISH

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
