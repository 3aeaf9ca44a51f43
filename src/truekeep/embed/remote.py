"""An embedder behind an OpenAI-compatible HTTP endpoint: batched, retried, timed out, capped."""

from __future__ import annotations

import http.client
import json
import os
import random
import ssl
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from time import sleep
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
from numpy.typing import NDArray

from truekeep.embed.base import EmbedderError, Kind, UnknownEmbedder, embeddable, unit_rows

_BATCH = 64
_TRIES = 4
_TIMEOUT_SECONDS = 20.0
"""A write waits for it, and then goes on by keywords alone."""
_LONGEST_WAIT_SECONDS = 8.0
"""Between two attempts; a write waits meanwhile."""
_MAX_ANSWER_BYTES = 64_000_000
"""A batch of vectors is far below; more is not read, whoever answers."""
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class _PassingFaultError(Exception):
    """A fault that may be gone at the next try."""


class OpenAIEmbedder:
    """Embeds over HTTP. Texts leave the machine: it is used only where a setting names it.

    Redirects are not followed, so the key goes to the named host and nowhere else.
    """

    def __init__(self, url: str, model: str, *, key: str | None = None, pause: Callable[[float], None] = sleep) -> None:
        self._url = _checked(url)
        self._model = model
        self._key = key if key is not None else os.environ.get("TRUEKEEP_EMBED_KEY", "")
        self._pause = pause
        self._lock = threading.Lock()

    @property
    def model_id(self) -> str:
        """Names the host and the model."""
        return f"openai:{self._url.netloc}:{self._model}"

    @cached_property
    def dim(self) -> int:
        """The length of every vector, learned from the endpoint at the first need."""
        with self._lock:
            return len(self._rows(["dimension"])[0])

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002  (one form for both)
        """One L2-normalised row per text."""
        dim = self.dim
        sent = embeddable(texts)
        rows = [row for start in range(0, len(sent), _BATCH) for row in self._rows(sent[start : start + _BATCH])]
        return unit_rows(rows if rows else np.zeros((0, dim)), count=len(texts), dim=dim)

    def _rows(self, texts: list[str]) -> list[list[float]]:
        body = json.dumps({"model": self._model, "input": texts, "encoding_format": "float"}).encode()
        for attempt in range(_TRIES):
            try:
                return _vectors(self._post(body), len(texts))
            except _PassingFaultError as fault:
                if attempt == _TRIES - 1:
                    raise EmbedderError(
                        "The embedding endpoint does not answer.", code="embedder_unreachable"
                    ) from fault
                # Jitter keeps many clients of one overloaded endpoint from coming back together.
                self._pause(min(2**attempt * (0.5 + random.random() / 2), _LONGEST_WAIT_SECONDS))  # noqa: S311
        raise AssertionError

    def _post(self, body: bytes) -> bytes:
        connection = _connection(self._url)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            connection.request("POST", self._url.path.rstrip("/") + "/embeddings", body, headers)
            answer = connection.getresponse()
            content = answer.read(_MAX_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as fault:
            raise _PassingFaultError from fault
        finally:
            connection.close()
        if answer.status in _PASSING:
            raise _PassingFaultError
        if answer.status != http.HTTPStatus.OK:
            raise EmbedderError(f"The embedding endpoint answered with status {answer.status}.")
        if len(content) > _MAX_ANSWER_BYTES:
            raise EmbedderError("The embedding endpoint's answer is too large.")
        return content


def from_spec(rest: str) -> OpenAIEmbedder:
    """The embedder of ``https://host/v1#model``."""
    url, _, model = rest.partition("#")
    if not model:
        raise UnknownEmbedder("The endpoint's model is missing.", hint="Write openai:https://host/v1#model.")
    return OpenAIEmbedder(url, model)


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.hostname is not None and parts.username is None and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)):
        raise UnknownEmbedder(
            "The endpoint's address cannot be used.", hint="Use https, or http on this machine; no user name in it."
        )
    return parts


def _connection(url: SplitResult) -> http.client.HTTPConnection:
    host = url.hostname or ""
    if url.scheme == "http":
        return http.client.HTTPConnection(host, url.port, timeout=_TIMEOUT_SECONDS)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(host, url.port, timeout=_TIMEOUT_SECONDS, context=context)


def _vectors(content: bytes, count: int) -> list[list[float]]:
    try:
        rows: list[Any] = json.loads(content)["data"]
        ordered = sorted(rows, key=lambda row: int(row["index"]))
        vectors = [row["embedding"] for row in ordered]
        places = [int(row["index"]) for row in ordered]
    except (ValueError, TypeError, KeyError, RecursionError) as fault:
        raise EmbedderError("The embedding endpoint's answer cannot be read.") from fault
    if places != list(range(count)) or not all(isinstance(vector, list) for vector in vectors):
        raise EmbedderError("The embedding endpoint did not answer for every text.")
    return vectors
