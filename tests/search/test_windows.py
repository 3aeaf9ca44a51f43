"""Windows: a long message is found by the part of it that answers."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from truekeep import embed
from truekeep.search import Index, describe, windows
from truekeep.search.card import MOST_WINDOWS

RAMBLE = (
    "morning! so the plumber came, the sink is fine now. also the cat is called Biscuit and hates the rain, "
    "my sister lands on Friday (terminal two), and remind me that the rent is due on the third"
)


def test_a_short_fact_is_one_window() -> None:
    assert windows("I am allergic to penicillin") == [(0, 27)]


def test_a_rambling_message_has_its_whole_and_its_parts() -> None:
    parts = [RAMBLE[start:end] for start, end in windows(RAMBLE)]
    assert parts[0] == RAMBLE
    assert "also the cat is called Biscuit and hates the rain," in parts


def test_a_script_without_spaces_is_cut_at_its_own_marks() -> None:
    text = "我叫林小雨，住在苏州市工业园区，女儿今年七岁。她对花生过敏，也不能吃芝麻，平时喜欢画画。"
    assert len(windows(text)) > 3


@given(st.text(alphabet="ab ,.!?\n()-。，", max_size=600))
def test_windows_are_spans_of_the_text_in_order_and_not_too_many(text: str) -> None:
    whole, *parts = windows(text)
    assert whole == (0, len(text))
    assert len(parts) < MOST_WINDOWS
    assert all(0 <= start < end <= len(text) for start, end in parts)
    assert parts == sorted(parts)


def test_the_window_that_answers_speaks_for_the_whole_message() -> None:
    model = embed.default()
    index = Index(model_id=model.model_id, dim=model.dim)
    texts = [
        RAMBLE,
        "The rain in April was heavy",
        "Our neighbour keeps two dogs",
        "The landlord of the pub pays in cash",
    ]
    for seq, text in enumerate(texts):
        rows = model.embed([text[start:end] for start, end in windows(text)], "passage")
        index.add(seq, describe(text, day=date(2026, 1, 1)), rows)
    query = index.understand("When do I have to pay my landlord?", today=date(2026, 2, 1))
    vector = model.embed([query.meaning], "query")[0]
    assert 0 in [hit.seq for hit in index.search(query, 2, vector=vector)]
