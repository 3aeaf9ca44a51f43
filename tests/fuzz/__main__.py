"""The long profile: ``python -m tests.fuzz texts 1000000`` or ``python -m tests.fuzz sequences 200000``.

A run is kept in a file and goes on where it stopped; ``--seconds`` says how much CPU time it may take this time.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.fuzz.runs import KINDS, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("until", type=int, help="how many cases there are to be in the end")
    parser.add_argument("--seconds", type=float, default=1e9, help="of CPU time, at most")
    parser.add_argument("--state", type=Path, help="where the run is kept")
    given = parser.parse_args()
    os.environ["TRUEKEEP_EMBEDDER"] = "none"
    state = given.state or Path(f"fuzz-{given.kind}.json")
    progress = run(given.kind, given.until, given.seconds, state, lambda line: print(line, flush=True))
    rate = progress.next / progress.cpu if progress.cpu else 0
    print(f"{progress.next:,} {given.kind} in {progress.cpu:,.0f} s of CPU ({rate:,.0f} a second)")
    print(f"{len(progress.findings)} findings, kept in {state}")
    return 1 if progress.findings else 0


if __name__ == "__main__":
    sys.exit(main())
