"""A plain vector store: no gate and no guard, so everything may act. What the other workers are held against."""

from __future__ import annotations

from guarded_shelf import GuardedShelf  # type: ignore[import-not-found]
from worker_loop import serve  # type: ignore[import-not-found]

if __name__ == "__main__":
    serve(lambda vectors, _home, _options: GuardedShelf(vectors))
