"""The words of a SentencePiece model, found without reading all 128,000 of them.

Reading the model and building what looks words up takes longer than everything else a short command does. A text is
cut into words that stand in it, so for a short one only those are looked up, by an index that comes with this package,
and the library cuts the text with just them: its answer is the same. After some pages the whole list is built once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

_PIECE, _ONE_BYTE = 0x0A, 0x80
"""How a word's entry begins in the list, and below what its length is one byte."""
_BEFORE_WORD = 4
"""An entry's bytes before its word: tag, the entry's length, tag, the word's length. Tag and score follow it."""
_UNKNOWN = 0
_FEW = 2_000
"""Characters that are looked up one text at a time; from there on the whole list costs less."""


class WordList:
    """Cuts texts into the words of a list, and gives their numbers."""

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
