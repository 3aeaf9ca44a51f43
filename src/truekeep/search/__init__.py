"""Finds the memories that answer a question: by words, by meaning, by who spoke, when and next to what."""

from __future__ import annotations

from truekeep.search.card import Card, describe, passage, spoken_by
from truekeep.search.index import Entry, Index
from truekeep.search.matrix import pack
from truekeep.search.query import Query
from truekeep.search.ranking import Hit

__all__ = ["Card", "Entry", "Hit", "Index", "Query", "describe", "pack", "passage", "spoken_by"]
