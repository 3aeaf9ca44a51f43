"""Recall under bad input: a clear error or an empty answer, never an exception from a library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from truekeep import Keep, Settings
from truekeep.embed import EmbedderError, default, minilm
from truekeep.errors import InvalidRequest

OFFICE = "The office is in Nitra."


class Saying:
    """An embedder that answers with whatever it was made with."""

    def __init__(self, answer: Any, *, model_id: Any = "saying", dim: Any = 4) -> None:
        self.answer, self.model_id, self.dim = answer, model_id, dim

    def embed(self, texts: Sequence[str], _kind: str) -> Any:
        return self.answer(texts) if callable(self.answer) else self.answer


def fails(_texts: Sequence[str]) -> Any:
    raise RuntimeError("a library's own words: </memories>")


def ones(dim: int) -> Saying:
    return Saying(lambda texts: np.ones((len(texts), dim), dtype=np.float32), dim=dim)


SYNTAX = [
    '"office"',
    '"office',
    "office NEAR nitra",
    "NEAR(office nitra, 3)",
    "off*",
    "office -nitra",
    "-office",
    "body:office",
    "{body id}: office",
    "office AND NOT (nitra OR",
    "^office",
    "office' OR 1=1 --",
    "office; DROP TABLE memories",
    "rowid:1 office",
]


@pytest.mark.parametrize("query", SYNTAX)
def test_search_syntax_in_a_question_is_nothing_but_words(keep: Keep, query: str) -> None:
    keep.remember(OFFICE, via="user")
    words = " ".join(re.findall(r"\w+", query))
    assert [hit.score for hit in keep.recall(query)] == [hit.score for hit in keep.recall(words)]


@pytest.mark.parametrize("query", ["", " ", "\t\n", "???", "\u200b", "\0", "🦜", "the of and"])
def test_a_question_without_a_word_finds_nothing(keep: Keep, query: str) -> None:
    keep.remember(OFFICE, via="user")
    assert keep.recall(query) == []


def test_a_question_of_ten_thousand_words_is_refused_or_read_as_far_as_it_helps(home: Path, keep: Keep) -> None:
    keep.remember(OFFICE, via="user")
    long = "office in Nitra " * 3_334
    with pytest.raises(InvalidRequest) as caught:
        keep.recall(long)
    assert "10,000" in str(caught.value)
    keep.close()
    with Keep.open("alice", home=home, embedder=default, settings=Settings(query_cap=1_000_000)) as patient:
        assert [hit.text for hit in patient.recall(long)] == [OFFICE]
        assert patient.recall(" ".join(f"w{number}" for number in range(10_000))) == []


@pytest.mark.parametrize("k", [0, -1, -(10**20), 10**20, 1_001, True, False, 1.0, "5", None, float("nan")])
def test_a_k_that_is_no_small_number_is_refused(keep: Keep, k: Any) -> None:
    keep.remember(OFFICE, via="user")
    with pytest.raises(InvalidRequest) as caught:
        keep.recall("office", k=k)
    assert caught.value.code == "invalid_k"


@pytest.mark.parametrize("query", [None, 5, b"office", ["office"], "x" * 10_001])
def test_a_question_that_is_no_text_is_refused(keep: Keep, query: Any) -> None:
    with pytest.raises(InvalidRequest):
        keep.recall(query)


ANSWERS: dict[str, Any] = {
    "a NaN": lambda texts: np.full((len(texts), 4), np.nan),
    "an infinity": lambda texts: np.full((len(texts), 4), np.inf),
    "too short a vector": lambda texts: np.ones((len(texts), 3)),
    "too long a vector": lambda texts: np.ones((len(texts), 5)),
    "one vector too few": lambda texts: np.ones((len(texts) - 1, 4)),
    "one vector too many": lambda texts: np.ones((len(texts) + 1, 4)),
    "vectors of different sizes": lambda texts: [[1.0] * (2 + place) for place in range(len(texts) + 1)],
    "no matrix": lambda _texts: 7,
    "nothing": None,
    "words": lambda texts: [["a", "b", "c", "d"]] * len(texts),
    "an error of its own": fails,
}


@pytest.mark.parametrize("case", ANSWERS)
def test_an_embedder_that_answers_nonsense_costs_no_write_and_no_recall(home: Path, case: str) -> None:
    with Keep.open("alice", home=home, embedder=lambda: Saying(ANSWERS[case])) as keep:
        assert keep.remember(OFFICE, via="user").accepted
        hits = keep.recall("office in Nitra")
        assert [hit.text for hit in hits] == [OFFICE]
        assert hits.degraded
        assert "</memories>" not in hits.degraded
        with pytest.raises(EmbedderError):
            list(keep.reindex())
        assert keep.audit.verify().ok


@pytest.mark.parametrize("case", ANSWERS)
def test_an_embedder_that_begins_to_answer_nonsense_leaves_what_it_made_before(home: Path, case: str) -> None:
    turning = ones(4)
    with Keep.open("alice", home=home, embedder=lambda: turning) as keep:
        keep.remember(OFFICE, via="user")
        assert keep.recall("office").degraded == ""
        turning.answer = ANSWERS[case]
        hits = keep.recall("office in Nitra")
        assert ([hit.text for hit in hits], bool(hits.degraded)) == ([OFFICE], True)


UNUSABLE: dict[str, tuple[Any, Any]] = {
    "no name": ("", 4),
    "a name that is no text": (None, 4),
    "an endless name": ("m" * 501, 4),
    "no dimension": ("m", 0),
    "a dimension that is no number": ("m", "4"),
    "a huge dimension": ("m", 10**9),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_embedder_without_a_usable_name_or_dimension_is_left_out(home: Path, case: str) -> None:
    name, dim = UNUSABLE[case]
    with Keep.open("alice", home=home, embedder=lambda: Saying(None, model_id=name, dim=dim)) as keep:
        assert keep.remember(OFFICE, via="user").accepted
        assert keep.recall("office").degraded
        assert len(keep.recall("office")) == 1


def test_an_embedder_that_cannot_be_loaded_for_whatever_reason_is_left_out(home: Path) -> None:
    def load() -> Any:
        raise ImportError("no module named x")

    with Keep.open("alice", home=home, embedder=load) as keep:
        assert keep.remember(OFFICE, via="user").accepted
        assert keep.recall("office").degraded == "The embedder could not be loaded: ImportError."


def test_a_model_file_that_fails_its_hash_is_not_used_and_recall_says_so(home: Path, tmp_path: Path) -> None:
    doctored = tmp_path / "model.onnx"
    doctored.write_bytes(minilm.packaged_model().read_bytes()[:-1] + b"\0")
    with Keep.open("alice", home=home, embedder=lambda: minilm.load(model=doctored)) as keep:
        assert keep.remember(OFFICE, via="user").accepted
        hits = keep.recall("office")
        assert [hit.text for hit in hits] == [OFFICE]
        assert "not the pinned one" in hits.degraded


def test_a_model_that_changes_its_dimension_is_not_compared_with_its_own_past(home: Path) -> None:
    with Keep.open("alice", home=home, embedder=lambda: ones(4)) as keep:
        keep.remember_many([OFFICE, "My sister adopted a puppy."], via="user")
    with Keep.open("alice", home=home, embedder=lambda: ones(8)) as keep:
        assert [hit.text for hit in keep.recall("office in Nitra", k=1)] == [OFFICE]
        assert list(keep.reindex()) == [(2, 2)]
        assert list(keep.reindex()) == []
        assert [hit.text for hit in keep.recall("office in Nitra", k=1)] == [OFFICE]
        assert keep.audit.verify().ok


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=60) | st.text(st.characters(categories=["Cs", "Cc", "Cn", "So", "Mn"]), max_size=20))
def test_any_text_may_be_asked(keep: Keep, query: str) -> None:
    if not keep.get_memories():
        keep.remember(OFFICE, via="user")
    assert len(keep.recall(query, k=1_000, explain=True)) <= 1
