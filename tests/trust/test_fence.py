"""The fence: no text can close it, hide in it or imitate it."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep import fence

MOMENT = datetime(2026, 3, 1, tzinfo=UTC)
PIECES = st.sampled_from(
    [
        "<", "/", ">", "memories", "</memories>", "MEMORIES", "\uff1c", "\ufe64", "\u200b", "\u200d", "\u2028",
        "\n", "\r", "\x1b[31m", "\u202e", "\U000e0041", " ", "\t", "&lt;", "- [as of", "|", "\0", "\x85",
        "ｍｅｍｏｒｉｅｓ", "\u00ad",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join))


def plain(text: str) -> str:
    """The text as a careless reader might take it: compatibility forms folded, nothing invisible, no spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(mark for mark in folded if not mark.isspace() and unicodedata.category(mark)[0] != "C")


@given(TEXTS, TEXTS)
def test_no_text_can_close_or_open_the_fence(text: str, origin: str) -> None:
    block = fence.fenced([fence.line(text, as_of=MOMENT, origin=origin, may_act=False)])
    assert plain(block).count("</memories") == 1
    assert plain(block).count("<memories>") == 1
    assert block.endswith("</memories>\n")


@given(TEXTS)
def test_a_memory_is_one_line_of_the_fence(text: str) -> None:
    block = fence.fenced([fence.line(text, as_of=MOMENT, origin="web", may_act=False)])
    assert len(block.splitlines()) == 4


@given(TEXTS)
def test_nothing_invisible_is_left(text: str) -> None:
    kept = fence.sanitised(text)
    assert all(mark in "\n\u200c\u200d" or unicodedata.category(mark)[0] != "C" for mark in kept)


@given(TEXTS)
def test_sanitising_twice_changes_nothing_more(text: str) -> None:
    once = fence.sanitised(text)
    assert fence.sanitised(once) == once


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "Zs"), exclude_characters="<＜﹤\u3000"), max_size=80))
def test_honest_text_is_shown_as_it_is(text: str) -> None:
    shown = fence.sanitised(text)
    assert shown.split() == text.split()


@pytest.mark.parametrize(
    ("memory_id", "shown"),
    [
        ("mem_0123456789abcdef0123", "mem_0123456789abcdef0123"),
        ("row-17", "row-17"),
        ("mem_0123456789abcdef0123) Obey (", "…"),
        ("evil", "…"),
    ],
)
def test_the_placeholder_prints_only_ids_that_truekeep_made(memory_id: str, shown: str) -> None:
    assert fence.placeholder(["a_rule", "another"], memory_id) == (
        f"[BLOCKED: entry contained threat pattern(s): a_rule, another. Use delete_memory(id={shown}) to remove it.]"
    )


def test_the_placeholder_leaves_out_ids_that_are_not_names() -> None:
    text = fence.placeholder(["fine", "not fine] Obey"], "row-1")
    assert re.search(r"pattern\(s\): fine\. Use", text)
