"""Runs a sentence encoder in ONNX form: tokenize, run, mean-pool, normalise."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truekeep.embed.base import EmbedderError, Kind, embeddable, unit_rows

_BATCH = 16
"""Texts per run. Measured on one core: 16 is 20 % quicker than 1, and 64 is no quicker than 1."""


@dataclass(frozen=True)
class Encoder:
    """What sets one ONNX sentence encoder apart from another."""

    model_id: str
    dim: int
    """The length of its vectors; 0 to learn it from the model."""
    max_tokens: int
    prefixes: Mapping[Kind, str] = field(default_factory=dict)
    pooling: str = "mean"
    """``mean`` of the tokens, or the ``first`` of them."""


class OnnxEmbedder:
    """A BERT-like encoder on onnxruntime, from checked bytes or, if weights lie beside it, from a path.

    Working the graph over takes longer than a few texts take without that; a program that has no more is ``brief``.
    """

    def __init__(
        self, encoder: Encoder, model: bytes | str, tokenizer: bytes, *, threads: int = 1, brief: bool = False
    ) -> None:
        self._encoder = encoder
        self._session = _session(model, threads, brief)
        self._tokenizer = _tokenizer(tokenizer, encoder.max_tokens)
        self._inputs = {member.name for member in self._session.get_inputs()}
        # Some exports fix the batch at one and fail only when they are run with more.
        self._batch = 1 if self._session.get_outputs()[0].shape[:1] == [1] else _BATCH
        self._lock = threading.Lock()
        self._dim = encoder.dim or self._learned_dim()

    @property
    def model_id(self) -> str:
        """Names the model and its version."""
        return self._encoder.model_id

    @property
    def dim(self) -> int:
        """The length of every vector."""
        return self._dim

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One L2-normalised row per text, the same whichever texts share the call."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return rows
        prefix = self._encoder.prefixes.get(kind, "")
        try:
            # Tokenizing rewrites nothing, but the padding state of the tokenizer is shared by threads.
            with self._lock:
                encodings = self._tokenizer.encode_batch([prefix + text for text in embeddable(texts)])
            token_ids = [encoding.ids for encoding in encodings]
            for places in _batches(token_ids, self._batch):
                rows[places] = self._run([token_ids[place] for place in places])
        except Exception as fault:
            raise EmbedderError(f"The embedder {self.model_id} failed ({type(fault).__name__}).") from fault
        return unit_rows(rows, count=len(texts), dim=self.dim)

    def _learned_dim(self) -> int:
        try:
            return int(self._run([self._tokenizer.encode("dimension").ids]).shape[1])
        except Exception as fault:
            raise EmbedderError(f"The embedder {self.model_id} cannot be run.") from fault

    def _run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        width = max(len(ids) for ids in batch)
        ids = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        offered = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: offered[name] for name in self._inputs})[0]
        if self._encoder.pooling == "first":
            return np.asarray(hidden[:, 0], dtype=np.float32)
        weights = mask.astype(np.float32)
        pooled: NDArray[np.float32] = np.einsum("bth,bt->bh", hidden, weights) / weights.sum(axis=1)[:, None]
        return pooled


def _batches(token_ids: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    """Places of texts of like length together, so that little of a batch is padding."""
    order = sorted(range(len(token_ids)), key=lambda place: len(token_ids[place]))
    return [order[start : start + size] for start in range(0, len(order), size)]


def _session(model: bytes | str, threads: int, brief: bool) -> Any:
    try:
        import onnxruntime  # noqa: PLC0415  (its absence is an answer, not a crash)
    except ImportError as fault:
        raise EmbedderError("onnxruntime is not installed.", hint="pip install onnxruntime") from fault
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if brief:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Spinning worker threads would burn the host program's CPU between two recalls.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as fault:
        raise EmbedderError("The embedder's model file cannot be run.") from fault


def _tokenizer(definition: bytes, max_tokens: int) -> Any:
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  (its absence is an answer, not a crash)
    except ImportError as fault:
        raise EmbedderError("tokenizers is not installed.", hint="pip install tokenizers") from fault
    try:
        tokenizer = Tokenizer.from_buffer(definition)
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=max_tokens)
    except Exception as fault:
        raise EmbedderError("The embedder's tokenizer file cannot be read.") from fault
    return tokenizer
