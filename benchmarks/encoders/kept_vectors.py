"""Vectors kept on disk, one file per model, so that a run can be repeated or resumed without embedding again."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from truekeep.embed import Embedder, Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_AT_ONCE = 500
_PORTION = 512
"""Texts embedded between two writes: a run that is stopped loses no more than these."""
_FORMAT = 1


class KeptVectors:
    """An embedder that gives the same vectors as the one behind it, embedded now or in an earlier run."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        name = hashlib.sha256(embedder.model_id.encode()).hexdigest()[:24]
        self._file = folder / f"{name}-{_FORMAT}.sqlite"
        with self._opened() as file:
            file.execute("create table if not exists vectors (key blob primary key, vector blob) without rowid")

    @property
    def model_id(self) -> str:
        """The model behind it."""
        return self._embedder.model_id

    @property
    def dim(self) -> int:
        """The length of its vectors."""
        return self._embedder.dim

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """A vector for each text; what is not known yet is embedded and kept."""
        import numpy as np

        keys = [_key(text, kind) for text in texts]
        with self._opened() as file:
            found = self._known(file, list(dict.fromkeys(keys)))
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
            for portion in _portions(list(missing), _PORTION):
                rows = self._embedder.embed([missing[key] for key in portion], kind)
                made = {key: row.astype("<f4").tobytes() for key, row in zip(portion, rows, strict=True)}
                file.executemany("insert or replace into vectors values (?, ?)", made.items())
                file.commit()
                found |= made
        joined = b"".join(found[key] for key in keys)
        return np.frombuffer(joined, dtype="<f4").astype(np.float32).reshape(len(keys), self.dim)

    def _known(self, file: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """What the file has; a vector of another length is taken for missing."""
        found: dict[bytes, bytes] = {}
        for portion in _portions(keys, _AT_ONCE):
            marks = ",".join("?" * len(portion))
            found.update(file.execute(f"select key, vector from vectors where key in ({marks})", portion))  # noqa: S608
        return {key: vector for key, vector in found.items() if len(vector) == 4 * self.dim}

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        file = sqlite3.connect(self._file, timeout=60)
        try:
            with file:
                yield file
        finally:
            file.close()


def _key(text: str, kind: Kind) -> bytes:
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _portions(keys: Sequence[bytes], most: int) -> Iterator[Sequence[bytes]]:
    for first in range(0, len(keys), most):
        yield keys[first : first + most]
