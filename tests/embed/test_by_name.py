"""Embedders chosen by a setting."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from truekeep import Keep, embed
from truekeep.embed import EmbedderError, UnknownEmbedder, minilm


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sentence-transformers folder with an ONNX file: the default model in another model's clothes."""
    (tmp_path / "onnx").mkdir()
    (tmp_path / "1_Pooling").mkdir()
    shutil.copy(minilm.packaged_model(), tmp_path / "onnx" / "model.onnx")
    shutil.copy(minilm.vendored_tokenizer(), tmp_path / "tokenizer.json")
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 256}))
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    return tmp_path


def test_none_is_no_embedder() -> None:
    assert embed.by_name("none") is None


@pytest.mark.parametrize("spec", ["", "word2vec", "minilm:x", "e5:", "openai:", "openai:https://host/v1", "none:x"])
def test_a_name_that_means_nothing_is_refused_with_what_to_write(spec: str) -> None:
    with pytest.raises(UnknownEmbedder) as refused:
        embed.by_name(spec)
    assert refused.value.hint


@pytest.mark.parametrize(
    "url", ["http://example.org/v1", "ftp://example.org", "https://", "https://me:pw@example.org/v1", "file:///x"]
)
def test_an_endpoint_that_would_leak_texts_is_refused(url: str) -> None:
    with pytest.raises(UnknownEmbedder):
        embed.by_name(f"openai:{url}#model")


@pytest.mark.parametrize("kind", ["e5", "sentence-transformers", "fastembed"])
def test_a_directory_that_is_not_there_is_refused_as_soon_as_a_keep_is_opened(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"{kind}:{tmp_path / 'missing'}"
    with pytest.raises(UnknownEmbedder) as refused:
        embed.by_name(spec)
    assert refused.value.code == "embedder_not_found"
    assert "'embedder'" in refused.value.hint
    monkeypatch.setenv("TRUEKEEP_EMBEDDER", spec)
    with pytest.raises(UnknownEmbedder):
        Keep.open("alice", home=tmp_path)
    assert not (tmp_path / "data").exists()


def test_a_name_that_is_none_is_refused_as_soon_as_a_keep_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEKEEP_EMBEDDER", "word2vec")
    with pytest.raises(UnknownEmbedder):
        Keep.open("alice", home=tmp_path)


def test_a_host_s_own_embedder_is_taken_whatever_the_settings_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEKEEP_EMBEDDER", "word2vec")
    with Keep.open("alice", home=tmp_path, embedder=lambda: None) as keep:
        assert keep.remember("The office is in Nitra.", via="user")


@pytest.mark.parametrize("kind", ["e5", "sentence-transformers"])
def test_a_directory_without_a_model_is_an_embedder_error(kind: str, tmp_path: Path) -> None:
    with pytest.raises(EmbedderError):
        embed.by_name(f"{kind}:{tmp_path}")


def test_a_sentence_transformers_folder_gives_the_vectors_of_its_model(folder: Path) -> None:
    loaded = embed.by_name(f"sentence-transformers:{folder}")
    minilm = embed.by_name("minilm")
    assert loaded is not None
    assert minilm is not None
    assert np.allclose(loaded.embed(["dark mode"], "query"), minilm.embed(["dark mode"], "query"), atol=1e-5)
    assert loaded.model_id != embed.default().model_id


def test_first_token_pooling_is_not_mean_pooling(folder: Path) -> None:
    settings = {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    loaded = embed.by_name(f"sentence-transformers:{folder}")
    assert loaded is not None
    assert not np.allclose(
        loaded.embed(["dark mode"], "query"), embed.default().embed(["dark mode"], "query"), atol=0.1
    )


def test_an_unknown_pooling_is_refused(folder: Path) -> None:
    settings = {"pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    with pytest.raises(EmbedderError):
        embed.by_name(f"sentence-transformers:{folder}")


def test_an_e5_folder_tells_queries_from_passages(folder: Path) -> None:
    loaded = embed.by_name(f"e5:{folder}")
    assert loaded is not None
    query, passage = loaded.embed(["dark mode"], "query"), loaded.embed(["dark mode"], "passage")
    assert loaded.dim == query.shape[1] == 384
    assert not np.allclose(query, passage, atol=1e-3)


def test_a_broken_model_file_is_an_embedder_error(folder: Path) -> None:
    (folder / "onnx" / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(EmbedderError):
        embed.by_name(f"sentence-transformers:{folder}")
