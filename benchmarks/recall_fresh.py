"""What only a fresh process can tell: how long opening and answering takes, and how much memory it keeps.

Run by ``recall_keep`` as ``python -m benchmarks.recall_fresh open|memory HOME SIZE``; prints one line of JSON.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

MODULES = (
    "importlib.readers",
    "numpy",
    "apsw",
    "onnxruntime",
    "tokenizers",
    "truekeep.keep",
    "truekeep.records.catalog",
    "truekeep.embed.vectors",
    "truekeep.screens.standard",
)
"""What a keep imports sooner or later; imports are not what is measured."""


def ask(what: str, home: Path, size: int) -> dict[str, float]:
    """Measure in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.recall_fresh", what, str(home), str(size)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return found


def _opened(home: Path, size: int) -> dict[str, float]:
    from benchmarks.recall_world import World

    world = World.read(home, size)
    for name in MODULES:
        import_module(name)
    gc.collect()
    started = time.process_time()
    keep = world.open()
    opened = time.process_time()
    found = keep.recall(world.questions[0], k=10)
    answered = time.process_time()
    keep.close()
    assert found
    return {"open": opened - started, "answer": answered - started}


def _memory(home: Path, _size: int) -> dict[str, float]:
    """Above a process with the default embedder loaded and in use."""
    from truekeep import Keep
    from truekeep.embed import default

    default().embed(["Something to warm up with, and no more than that."] * 4, "passage")
    gc.collect()
    before = _resident()
    keep = Keep.open("bench", home=home)
    for question in json.loads((home / "data-made-up" / "questions.json").read_text()):
        keep.recall(question, k=10)
    gc.collect()
    grown = _resident() - before
    keep.close()
    return {"grown": grown}


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    measures = {"open": _opened, "memory": _memory}
    print(json.dumps(measures[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))))
