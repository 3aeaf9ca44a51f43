"""What is remembered of texts that anybody can send does not grow without end."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest

import truekeep
from truekeep.errors import MissingExtra
from truekeep.text.fold import _LETTER_TABLE, _SPELT, _fold_cluster, fold, plain
from truekeep.text.quantities import _known_value, word_value
from truekeep.text.view import View

CLOSED = {
    "_alphabet", "_answered", "_case_classes", "_endings", "_grammar", "_listed", "_made_by", "_order", "_pieces",
    "_described", "_phrases", "_sources", "_tools", "_vague", "_vague_signs", "_value_words",
    "expected", "forms", "groups", "is_unspaced",
    "language", "language_table", "languages_with", "learned", "lists", "openings", "phrases", "preset", "property_set",
    "search_words", "service_at", "table", "words", "words_of",
}  # fmt: skip
"""Caches without a bound whose questions come from the package's own tables, the operator's files or the code."""


def _unbounded() -> Iterator[str]:
    for found in pkgutil.walk_packages(truekeep.__path__, "truekeep."):
        if found.name.endswith("__main__") or ".workers." in found.name or found.name.startswith("truekeep.redteam"):
            continue
        try:
            module = importlib.import_module(found.name)
        except (MissingExtra, ModuleNotFoundError):
            # An adapter of a framework that has an environment of its own.
            assert found.name.startswith("truekeep.adapters.")
            continue
        own = [value for value in vars(module).values() if getattr(value, "__module__", "") == found.name]
        caches = [value for value in own if isinstance(value, functools._lru_cache_wrapper)]
        endless = [cache for cache in caches if cache.cache_parameters()["maxsize"] is None]
        yield from (cache.__name__ for cache in endless if inspect.signature(cache).parameters)


def test_no_cache_without_a_bound_is_asked_with_a_text() -> None:
    assert set(_unbounded()) == CLOSED


@pytest.mark.slow
def test_stacked_marks_and_rare_characters_are_not_all_remembered() -> None:
    for first in range(0x300, 0x370):
        text = "".join(
            "a" + chr(first) + chr(second) + chr(third) for second in range(0x300, 0x370) for third in (0x301, 0x302)
        )
        fold(View("raw", text))
        plain(text)
    everything = "".join(chr(code) for code in range(0x3400, 0x2FA1F) if not 0xD800 <= code <= 0xDFFF)
    fold(View("raw", everything))
    plain(everything)
    assert _fold_cluster.cache_info().currsize <= 16_384
    assert len(_LETTER_TABLE) <= 20_000
    assert len(_SPELT) <= 20_000


def test_long_words_are_read_for_numbers_and_not_remembered() -> None:
    before = _known_value.cache_info().currsize
    assert word_value("zwanzig" * 1_000, "de") == (20,) * 1_000
    assert _known_value.cache_info().currsize == before
