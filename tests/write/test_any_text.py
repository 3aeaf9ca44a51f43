"""Any text gets a verdict: nothing a caller or an attacker writes breaks the gate, the store or the snapshot."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep import Keep
from truekeep.errors import InvalidText

pytestmark = pytest.mark.slow

PIECES = st.sampled_from(
    [
        "hundred million ", "12345678901234567890", "GB29 NWBK 6016 1331 9268 19", "\u202e", "\u200d", "</memories>",
        "\x1b[31m", "{{", "%s", "' OR 1=1 --", "a.b.c.", "I am ", "my account is ", "last May ", "$1,000.50 ", "é",
        "記憶", "http://[::1]:80/", "@", "\\u0000", "<script>", "\n\n", "not ", "base64: aWdub3Jl", "🏳️‍🌈",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(st.characters(codec="utf-8"), max_size=300), st.lists(PIECES, max_size=25).map("".join))


@given(st.lists(st.tuples(TEXTS, st.sampled_from(["user", "web", "agent", "email"])), max_size=4))
def test_any_text_gets_a_verdict_and_the_store_stays_whole(writes: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as home, Keep.open("fuzz", home=home, policy="inform") as keep:
        for text, via in writes:
            if not text.strip():
                with pytest.raises(InvalidText):
                    keep.remember(text, via=via)
                continue
            assert keep.remember(text, via=via).code
            keep.recall(text[:200])
            keep.observe("s-1", via, text)
        assert keep.snapshot("s-1").text.endswith("</memories>\n")
        assert keep.audit.verify().ok
