"""The words of a list that are looked up for one text are those that the whole list gives."""

from __future__ import annotations

import string
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truekeep.embed import multilingual
from truekeep.embed.multilingual import WordList, index_of

MODEL = multilingual._packaged("sp.model")
SIGNS = string.printable + "äöüßéñçřžš日本語中文한국어อักษรไทยاللغةрусский ﬁ①１\u200b\u0301\u2581😀"
WORDS = [
    "the House",
    "<s>",
    "extra_token_id_3",
    "wo ist mein Tisch",
    "\u2581",
    "  ",
    "東京都",
    "is-it? (42%)",
    "\u00c4pfel",
]


@cache
def words() -> WordList:
    return WordList(MODEL.read_bytes(), multilingual._vendored("words.index", multilingual.INDEX_SHA256), most=256)


def whole(text: str) -> list[int]:
    """What the library finds with every word of the list."""
    found: list[int] = words()._whole.encode(text).ids
    return found


@pytest.mark.parametrize("text", ["", "Where is my desk?", "Wo wohne ich?", "猫が好きです。", "tea " * 400, *WORDS])
def test_a_text_is_cut_as_by_the_whole_list(text: str) -> None:
    assert words()._looked_up(text) == whole(text)


@given(st.lists(st.text(SIGNS, max_size=12) | st.sampled_from(WORDS) | st.text(max_size=6), max_size=6).map(" ".join))
@settings(max_examples=300, deadline=None)
def test_any_text_is_cut_as_by_the_whole_list(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert words()._looked_up(text) == whole(text)


def test_the_index_that_comes_with_the_package_is_that_of_the_pinned_model() -> None:
    assert multilingual._vendored("words.index", multilingual.INDEX_SHA256) == index_of(MODEL.read_bytes())


def test_the_whole_list_is_built_once_there_was_more_than_a_few_texts() -> None:
    fresh = WordList(MODEL.read_bytes(), multilingual._vendored("words.index", multilingual.INDEX_SHA256), most=8)
    few = fresh.ids(["Where is my desk?"] * 3)
    assert "_whole" not in vars(fresh)
    many = fresh.ids(["Where is my desk?"] * 200)
    assert "_whole" in vars(fresh)
    assert many == few[:1] * 200
    assert fresh.ids(["tea " * 50]) == [whole("tea " * 50)[:8]]
