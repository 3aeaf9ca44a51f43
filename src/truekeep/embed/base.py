"""What an embedder is, what it may raise, and what texts it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from truekeep.errors import InputError, TruekeepError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["query", "passage"]

MAX_EMBEDDED_CHARACTERS = 16_000
"""Longer texts are cut before they reach a tokenizer; every model here reads far fewer."""


class EmbedderError(TruekeepError):
    """An embedder that cannot be used or gave an unusable answer; recall goes on with keywords alone."""

    code = "embedder_failed"
    default_hint = "Recall still works by keywords; 'truekeep doctor' says what is wrong with the embedder."


class UnknownEmbedder(InputError):
    """A specification that names no embedder."""

    code = "unknown_embedder"
    default_hint = (
        "Use minilm, none, e5:/dir, fastembed:/dir, sentence-transformers:/dir or openai:https://host/v1#model."
    )


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. Vectors of different ``model_id`` are never compared."""

    @property
    def model_id(self) -> str:
        """Names the model and its version; stored beside every vector."""
        ...

    @property
    def dim(self) -> int:
        """The length of every vector."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One L2-normalised float32 row per text; raises ``EmbedderError`` and nothing else."""
        ...


def embeddable(texts: Sequence[str]) -> list[str]:
    """The texts as any tokenizer can take them: cut to a cap, lone surrogates replaced, nothing empty."""
    return [_clean(text) for text in texts]


def _clean(text: str) -> str:
    cut = text[:MAX_EMBEDDED_CHARACTERS].replace("\x00", " ")
    return cut.encode("utf-8", "replace").decode("utf-8") or " "
