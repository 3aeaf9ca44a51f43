"""An embedder that is loaded at first need, whose every answer is checked, and whose failure takes nothing down."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from truekeep.embed.base import Embedder, EmbedderError, Kind
from truekeep.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REST_SECONDS = 30.0
"""How long an embedder that failed is left alone: an endpoint that does not answer must not slow down every recall."""
_PORTION = 64
"""Texts embedded at a time: enough for batches of like length, few enough to begin with the rest early."""
_LONGEST_NAME = 500
"""Bytes of a model's name: it is part of every index card."""
_LARGEST_DIM = 65_536
"""Members of a vector; an embedder that says more would fill the memory with one text."""
_log = logging.getLogger("truekeep.embed")


class GuardedEmbedder:
    """Any embedder, of this house or a host's own. Thread-safe as far as the embedder is."""

    def __init__(self, load: Callable[[], Embedder | None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._loaded = False
        self._embedder: Embedder | None = None
        self._rests_until = -1.0
        self.degraded = ""
        """Why there are no vectors now, if there should be; empty as soon as there are again."""

    @property
    def is_loaded(self) -> bool:
        """Whether somebody has needed it already."""
        return self._embedder is not None

    def ready(self) -> Embedder | None:
        """The embedder, loaded; none where keywords are to do, or while it cannot be loaded."""
        with self._lock:
            if not self._loaded and not self._is_resting():
                try:
                    self._embedder = _sound(self._load())
                    self._loaded = True
                except InputError:
                    raise  # the setting names no embedder: whoever wrote it is told
                except Exception as error:
                    self._degrade(error, "The embedder could not be loaded")
        return self._embedder

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32] | None:
        """Unit vectors of the texts, or none if there is no embedder or it fails; ``degraded`` says why."""
        embedder = self.ready()
        if embedder is None or not texts or self._is_resting():
            return None
        from truekeep.embed.base import unit_rows  # noqa: PLC0415 - numpy loads only when needed

        try:
            rows = unit_rows(embedder.embed(texts, kind), count=len(texts), dim=embedder.dim)
        except Exception as error:
            self._degrade(error, "The embedder failed")
            return None
        self.degraded = ""
        return rows

    def stream(self, texts: Sequence[str], kind: Kind) -> Iterator[tuple[int, NDArray[np.float32] | None]]:
        """The vector of each text with its place, in portions, so that the first can be worked on early.

        Texts of like length come together, since a model works through the padding of a mixed batch, too. No thread of
        its own works ahead: the encoder takes twice as long in it as it would save.
        """
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), _PORTION):
            portion = order[start : start + _PORTION]
            yield from self._placed(portion, self.embed([texts[place] for place in portion], kind))

    def _placed(
        self, places: Sequence[int], rows: NDArray[np.float32] | None
    ) -> Iterator[tuple[int, NDArray[np.float32] | None]]:
        return zip(places, [None] * len(places) if rows is None else rows, strict=True)

    def _is_resting(self) -> bool:
        return self._clock() < self._rests_until

    def _degrade(self, error: Exception, what: str) -> None:
        # A foreign error's words may hold anything, its kind only what a programmer wrote.
        self.degraded = str(error) if isinstance(error, EmbedderError) else f"{what}: {type(error).__name__}."
        self._rests_until = self._clock() + REST_SECONDS
        _log.warning("no vectors, recall goes by keywords", extra={"reason": self.degraded})


def _sound(embedder: Embedder | None) -> Embedder | None:
    if embedder is None:
        return None
    name, dim = embedder.model_id, embedder.dim
    if not isinstance(name, str) or not 0 < len(name.encode("utf-8", "replace")) <= _LONGEST_NAME:
        raise EmbedderError("The embedder has no usable model_id.")
    if isinstance(dim, bool) or not isinstance(dim, int) or not 1 <= dim <= _LARGEST_DIM:
        raise EmbedderError("The embedder has no usable dimension.")
    return embedder
