"""Embedders with a memory: what a run embeds once is not embedded again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from truekeep.embed import Embedder, Kind, by_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NONE = "none"
_MOST = 50_000  # vectors kept in memory: about 75 MB


class CachedEmbedder:
    """Gives the same vectors as the embedder behind it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[Kind, str], NDArray[np.float32]] = {}

    @property
    def model_id(self) -> str:
        """The model behind it."""
        return self._embedder.model_id

    @property
    def dim(self) -> int:
        """The length of its vectors."""
        return self._embedder.dim

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """A vector for each text, embedded now or before."""
        import numpy as np  # noqa: PLC0415 - only where there is an embedder

        found = {text: self._known[kind, text] for text in texts if (kind, text) in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            found |= dict(zip(missing, self._embedder.embed(missing, kind), strict=True))
            if len(self._known) < _MOST:
                self._known |= {(kind, text): found[text] for text in missing}
        return np.stack([found[text] for text in texts])


@lru_cache(maxsize=2)
def cached(spec: str) -> CachedEmbedder | None:
    """The embedder that a setting names, with a memory; none for keywords alone."""
    embedder = by_name(spec)
    return CachedEmbedder(embedder) if embedder is not None else None


@dataclass(frozen=True, slots=True)
class NamedEmbedder:
    """An embedder and its name; without one recall is by keywords alone."""

    name: str
    embedder: Embedder | None

    def warm(self, queries: Iterable[str] = (), passages: Iterable[str] = ()) -> None:
        """Embed these together now, which costs less than one by one later."""
        if self.embedder is None:
            return
        if asked := list(queries):
            self.embedder.embed(asked, "query")
        if said := list(passages):
            self.embedder.embed(said, "passage")


def encoder(spec: str) -> NamedEmbedder:
    """The encoder that the setting ``embedder`` names in this way; what it embeds is kept for the whole run."""
    return NamedEmbedder(spec, cached(spec))
