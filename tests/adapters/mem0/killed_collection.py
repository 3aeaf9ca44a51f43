"""A process that writes to a wrapped collection and is killed at one of its steps: ``python -m … HOME FOLDER STEP``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.protect.fuse import Fuse
from truekeep import Keep
from truekeep.stores.ledger import Ledger

WRITES = (("a", "I prefer dark mode"), ("b", "I prefer tea"), ("a", "I prefer light mode"), ("b", ""), ("c", "I ski"))
"""Two entries, a change, a deletion and one more."""


def opened(folder: Path) -> Any:
    """The collection in a folder."""
    chromadb: Any = import_module("chromadb")  # in the environment of this framework only
    client = chromadb.PersistentClient(str(folder), chromadb.config.Settings(anonymized_telemetry=False))
    return client.get_or_create_collection("notes", embedding_function=None)


def main() -> None:
    """Write, say what was acknowledged, and die at the step."""
    from truekeep.protect.wrap.chroma import protect_collection

    home, folder, fuse = sys.argv[1], Path(sys.argv[2]), Fuse(int(sys.argv[3]))
    plain = opened(folder)
    with Keep.open("alice", home=home, background=False) as keep:
        notes = protect_collection(plain, keep, channel="user", mode="enforce")
        fuse.before(Ledger, "writing")
        for name in ("upsert", "delete"):
            fuse.around(plain, name)
        for number, (key, text) in enumerate(WRITES):
            if text:
                notes.upsert(ids=[key], documents=[text], embeddings=[[1.0, 0.0]])
            else:
                notes.delete(ids=[key])
            print(number, flush=True)
            fuse.step()


if __name__ == "__main__":
    main()
