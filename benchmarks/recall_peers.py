"""Holds the contest of ``benchmarks/peers`` and writes its table and plot to ``docs/benchmarks/``.

    python -m benchmarks.recall_peers [--sizes 1000 10000] [--only chroma truekeep] [--home DIR] [--seconds 900]

Every peer is installed by name into an environment of its own under ``--home`` (a temporary directory unless
given) and gets the same made-up texts and vectors. One peer runs at a time, on one thread. Figures of peers that
are not run this time are kept from the last time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Noise
from benchmarks.peers.environments import interpreter
from benchmarks.recall_report import write

PEERS = Path(__file__).parent / "peers"
PACKAGES = {
    "truekeep": (),
    "product": (),
    "inspeximus": ("inspeximus==3.23.1", "numpy"),
    "mnemo": ("agora-mnemo==0.4.0", "numpy"),
    "chroma": ("chromadb",),
    "mem0": ("mem0ai", "numpy"),
    "langgraph": ("langgraph-checkpoint-sqlite", "sqlite-vec", "pysqlite3-binary", "numpy"),
}
RESULTS = Path(__file__).parent / "results" / "recall-peers.json"
DIM = 384
EXTRA = 40


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--only", nargs="+", choices=sorted(PACKAGES), default=list(PACKAGES))
    parser.add_argument("--home", type=Path)
    parser.add_argument("--seconds", type=float, default=900.0, help="CPU budget for filling one peer once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = options.home or Path(temporary)
        data = made_up(home / "data", max(options.sizes))
        noise, figures = Noise(), []
        for peer in options.only:
            for size in sorted(options.sizes):
                noise.sample()
                figures.append(contest(peer, environment(peer, home), data, size, options.seconds))
        noise.sample()
    write(merged([figure | {"noise": str(noise)} for figure in figures if figure is not None]))
    return 0


def merged(figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These figures and, from earlier runs, those of peers and sizes that were not run this time."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    latest = {(figure["name"], figure["size"]): figure for figure in [*kept, *figures]}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(list(latest.values()), indent=1))
    return list(latest.values())


def made_up(directory: Path, size: int) -> Path:
    """Texts of words drawn by Zipf's law, and vectors in clusters, as sentence embeddings are."""
    directory.mkdir(parents=True, exist_ok=True)
    chance, numbers = random.Random(7), np.random.default_rng(7)  # noqa: S311
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    words = [head + tail for head in syllables for tail in syllables]
    weights = [1 / (place + 1) for place in range(len(words))]
    texts = [" ".join(chance.choices(words, weights, k=14)) + f" {number}" for number in range(size + EXTRA)]
    topics = _unit(numbers.standard_normal((200, DIM)))
    vectors = _unit(
        topics[numbers.integers(0, 200, len(texts))] + 0.8 * _unit(numbers.standard_normal((len(texts), DIM)))
    )
    chosen = [chance.randrange(size) for _ in range(30)]
    questions = [" ".join(chance.sample(texts[place].split()[:-1], 6)) for place in chosen]
    (directory / "texts.json").write_text(json.dumps(texts))
    (directory / "questions.json").write_text(json.dumps(questions))
    np.save(directory / "vectors.npy", vectors)
    np.save(
        directory / "question_vectors.npy", _unit(vectors[chosen] + 0.5 * _unit(numbers.standard_normal((30, DIM))))
    )
    return directory


def environment(peer: str, home: Path) -> Path:
    """The interpreter of a peer's own environment, made at the first need."""
    packages = PACKAGES[peer]
    if not packages:
        return Path(sys.executable)
    return interpreter(peer, packages, home)


def contest(peer: str, interpreter: Path, data: Path, size: int, seconds: float) -> dict[str, Any] | None:
    """One peer at one size; a peer that breaks is reported and left out."""
    print(f"{peer} at {size:,} …", file=sys.stderr)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    script = PEERS / f"{peer}_peer.py"
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as home:
        for half in ("fill", "open"):
            command = [str(interpreter), str(script), str(data), home, half, str(size), str(seconds)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | threads)
            lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
            if ended.returncode or not lines:
                print(f"{peer} broke:\n{ended.stderr[-2000:]}", file=sys.stderr)
                return None
            figures |= json.loads(lines[-1])
            if "failed" in figures:
                break
    print(json.dumps(figures), file=sys.stderr)
    return figures


def _unit(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


if __name__ == "__main__":
    sys.exit(main())
