"""The long profile and other versions.

python -m tests.words search 100000 [--seconds CPU] [--state FILE] [--silent]    goes on where it stopped
python -m tests.words swap FIRST LAST                                 replaces foreign texts; in slices
python -m tests.words version CHECKOUT [--each N]                     what another version lets through, by family

CHECKOUT is a folder with another version's ``src``; the packages of this environment are used for it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.words.searching import by_family, search
from tests.words.swapping import interferences
from tests.words.versions import ask_version


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.words", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    searching = commands.add_parser("search")
    searching.add_argument("until", type=int, help="how many candidates there are to be in the end")
    searching.add_argument("--seconds", type=float, default=1e9, help="of CPU time, at most")
    searching.add_argument("--state", type=Path, default=Path("words.json"), help="where the search is kept")
    searching.add_argument("--silent", action="store_true", help="the foreign text gives no value")
    version = commands.add_parser("version")
    version.add_argument("checkout", type=Path)
    version.add_argument("--each", type=int, default=12, help="wordings asked of each family")
    swapping = commands.add_parser("swap")
    swapping.add_argument("first", type=int)
    swapping.add_argument("last", type=int)
    given = parser.parse_args()
    if given.command == "swap":
        return _swap(given.first, given.last)
    if given.command == "version":
        return ask_version(given.checkout, given.each, lambda line: print(line, flush=True))
    progress = search(given.until, given.seconds, given.state, print, is_silent=given.silent)
    print(f"{progress.next:,} candidates in {progress.cpu:,.0f} s of CPU: {dict(progress.answers)}")
    for family, count in by_family(progress.wins):
        print(f"{count:7,} {family}")
    return 1 if progress.wins else 0


def _swap(first: int, last: int) -> int:
    found = list(interferences(first, last))
    for one in found:
        print(f"{one.made['messages']} {one.made['call']}: {one.silent} becomes {one.found} by {one.text!r}")
    print(f"{last - first:,} sessions, {len(found)} answers changed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
