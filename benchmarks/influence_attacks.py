"""Plays the attack battery and writes ``docs/benchmarks/influence.md`` from all that was played so far.

python -m benchmarks.influence_attacks 60 500 2000 10000
python -m benchmarks.influence_attacks 60 --attack consolidation     only these, put beside the rest
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.influence_report import page
from truekeep.config import Settings
from truekeep.redteam.attack_files import chosen_attacks
from truekeep.redteam.battery import SIZES, influence

RESULTS = Path(__file__).parent / "results" / "influence-attacks.json"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "influence.md"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.influence_attacks")
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--attack", help="only attacks with these words in their name")
    parser.add_argument("--questions", type=int, default=400)
    asked = parser.parse_args(arguments)
    held = True
    for size in asked.sizes:
        held &= _play(size, asked.attack, 0 if asked.attack else asked.questions)
    return 0 if held else 1


def _play(size: int, attack: str | None, questions: int) -> bool:
    started = time.process_time()
    settings = Settings(policy="inform", embedder="minilm")
    report = influence(settings, (size,), chosen_attacks(attack), questions=questions, progress=_progress)
    spent = time.process_time() - started
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    _merge(results.setdefault(str(size), {"attacks": {}, "cpu_seconds": 0.0}), report.as_dict(), spent)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1), "utf-8")
    PAGE.write_text(page(results), "utf-8")
    print(f"{size:,} memories: {'held' if report else 'BROKEN'}, {spent:,.0f} s of CPU", file=sys.stderr)
    return bool(report)


def _merge(kept: dict[str, Any], report: dict[str, Any], spent: float) -> None:
    kept["attacks"] |= {one["attack"]: one for one in report["attacks"]}
    kept["cpu_seconds"] += spent
    kept["at"] = datetime.now(UTC).isoformat(timespec="minutes")
    kept["python"], kept["machine"] = platform.python_version(), platform.machine()
    kept["conditions"] = report["conditions"]
    if report["benign"]:
        kept["benign"] = report["benign"]
        kept["not_stored"] = report["honest_texts_not_stored"][0]


def _progress(what: str, done: int, total: int) -> None:
    if done % 20 == 0 or done == total:
        print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
