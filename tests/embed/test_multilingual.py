"""The multilingual encoder, with small made-up weights in place of the real ones."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from truekeep import embed
from truekeep.embed import multilingual
from truekeep.embed.base import EmbedderError
from truekeep.embed.multilingual import index_of

WORDS = ("<unk>", "<s>", "</s>", "\u2581", "\u2581tea", "\u2581with", "\u2581milk", "\u2581noch", "\u2581ein")
SHAPES = {"d0": (512, 320), "d1": (320, 320), "p1": (512, 320), "d2": (320, 512), "p3": (320, 512), "d3": (512, 512)}


def _field(number: int, value: bytes) -> bytes:
    length, size = len(value), b""
    while length > 127:
        size += bytes([length & 127 | 128])
        length >>= 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + value


def _words() -> bytes:
    """A SentencePiece model with a few words and no rules of normalising."""
    pieces = [_field(1, word.encode()) + b"\x15" + struct.pack("<f", -float(place)) for place, word in enumerate(WORDS)]
    no_rules = struct.pack("<I", 1024) + bytes(1024) + b"\0"
    return b"".join(_field(1, piece) for piece in pieces) + _field(2, b"\x18\x01") + _field(3, _field(2, no_rules))


def _weights() -> bytes:
    drawn = np.random.default_rng(7)
    held: dict[str, Any] = {f"q{block + 1}": drawn.integers(0, 64, (1, 512)).astype(np.uint8) for block in range(17)}
    held |= {"scale": np.full(17, 0.05, np.float32), "lo": np.full(17, -1.5, np.float32), "eps": np.array(1e-6)}
    shapes = dict(SHAPES) | {"cnn_W": (1280, 512), "cnn_b": (512,), "ln_g": (1280,), "ln_b": (1280,)}
    for run in (2, 3, 5):
        shapes |= {f"proj{run}": (512, 256), f"proj_b{run}": (256,), f"ln_g{run}": (256,), f"ln_b{run}": (256,)}
        shapes |= {f"{name}_{run}": (run * 256, 256) for name in ("w1", "w2")}
        shapes |= {f"{name}_{run}": (256,) for name in ("b1", "b2")}
    held |= {name: drawn.normal(0, 0.05, shape).astype(np.float32) for name, shape in shapes.items()}
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **held)
    return packed.getvalue()


@pytest.fixture(scope="module")
def encoder() -> multilingual.SentenceEncoder:
    return multilingual.SentenceEncoder(_weights(), _words(), index_of(_words()))


def test_a_text_has_the_same_vector_whichever_texts_share_the_call(encoder: multilingual.SentenceEncoder) -> None:
    texts = ["tea with milk", "noch ein tea", "", "tea " * 400, "\u732b"]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.allclose(together, alone, atol=1e-5)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_the_order_of_words_counts(encoder: multilingual.SentenceEncoder) -> None:
    one, other = encoder.encode(["tea with milk", "milk with tea"])
    assert not np.allclose(one, other, atol=1e-4)


def test_files_that_are_not_the_pinned_ones_are_refused(tmp_path: Path) -> None:
    forged = tmp_path / "weights.npz"
    forged.write_bytes(_weights())
    with pytest.raises(EmbedderError) as refused:
        multilingual.load_encoder(weights=forged, words=forged)
    assert refused.value.code == "embedder_hash_mismatch"
    assert multilingual.REQUIREMENT in refused.value.hint


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("Where do I live?", 0.4),
        ("Wo wohne ich denn jetzt?", 0.8),
        ("\u6211\u4f4f\u5728\u54ea\u91cc", 0.8),
        ("Kde teraz b\u00fdvam?", 0.4),
    ],
)
def test_the_half_that_reads_the_question_counts_for_more(question: str, share: float) -> None:
    assert float(multilingual.share_of_others(question)) == pytest.approx(share)


def test_encoding_holds_numpy_to_one_thread_and_gives_the_others_back() -> None:
    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    class Watched(multilingual.SentenceEncoder):
        def _run(self, ids: Sequence[Sequence[int]]) -> multilingual.Floats:
            seen.append(threads())
            return super()._run(ids)

    seen: list[list[int]] = []
    watched, before = Watched(_weights(), _words(), index_of(_words())), threads()
    watched.encode(["tea with milk"])
    assert seen == [[1] * len(before)]
    assert threads() == before


def test_a_question_unpacks_only_what_its_words_need_and_finds_the_rows_of_the_whole_table() -> None:
    encoder = multilingual.load_encoder()
    with np.load(multilingual._packaged("weights.npz"), allow_pickle=False) as stored:
        blocks = [stored[f"q{block + 1}"] for block in range(multilingual._BLOCKS)]
    assert encoder._words._blocks == {}
    encoder.encode(["Where is my tea?"])
    unpacked = sum(map(len, encoder._words._blocks.values()))
    assert 0 < unpacked < sum(map(len, blocks)) / 4
    whole = np.stack(blocks, axis=1).reshape(-1, multilingual._WIDE)
    for ids in (np.arange(0, 40_000, 997), np.arange(0, 128_010, 997), np.array([0, 17, 0])):
        assert np.array_equal(encoder._words.rows(ids), whole[ids])


def test_an_embedder_that_is_loaded_ahead_is_the_one_that_is_used() -> None:
    before = set(threading.enumerate())
    embed.load_ahead("minilm")
    wanted = embed.by_name("minilm")
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert embed.by_name("minilm") is wanted


def test_loading_ahead_of_what_cannot_be_loaded_says_nothing() -> None:
    embed.load_ahead("e5:/nowhere")
    embed.load_ahead("none")


def test_a_program_of_one_question_gets_the_vectors_of_one_that_goes_on() -> None:
    texts = ["Where is my desk?", "Wo steht mein Schreibtisch?", "one two three " * 200]
    for kind in ("query", "passage"):
        brief = multilingual.MultilingualEmbedder(brief=True).embed(texts, kind)
        assert np.allclose(brief, embed.default().embed(texts, kind), atol=1e-4)


def test_a_process_that_expects_few_texts_loads_for_few() -> None:
    code = (
        "from truekeep import embed; embed.expect_few_texts(); session = embed.by_name('minilm')._session\n"
        "print(session.get_session_options().graph_optimization_level.name)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "ORT_DISABLE_ALL"
