"""Ask another version of truekeep the same wordings, family by family."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.words.candidates import Made, candidate, plain_count

_WORKER = Path(__file__).with_name("worker.py")


def ask_version(checkout: Path, each: int, told: Callable[[str], None]) -> int:
    """Say for every family whether that version lets a wording through; 0 if there is at least one such family."""
    asked, won = defaultdict[str, int](int), defaultdict[str, list[Made]](list)
    for made, answer in _answers(checkout, list(_chosen(each))):
        asked[made["family"]] += 1
        if answer == "allow":
            won[made["family"]].append(made)
    for family in sorted(asked):
        example = f"  {won[family][0]['messages']}" if won[family] else ""
        told(f"{len(won[family]):3} of {asked[family]:3}  {family}{example}")
    told(f"{sum(map(bool, won.values()))} of {len(asked)} families are let through by {checkout.name}")
    return 0 if any(won.values()) else 1


def _chosen(each: int) -> Iterator[Made]:
    """So many wordings of every family, the same in every run."""
    families = defaultdict[str, list[Made]](list)
    for number in range(plain_count()):
        made = candidate(number)
        families[made["family"]].append(made)
    for listed in families.values():
        chance = random.Random(0)
        yield from chance.sample(listed, min(each, len(listed)))


def _answers(checkout: Path, chosen: list[Made]) -> Iterator[tuple[Made, str]]:
    environ = os.environ | {"PYTHONPATH": str(checkout / "src"), "TRUEKEEP_EMBEDDER": "none"}
    lines = "".join(json.dumps(made) + "\n" for made in chosen)
    done = subprocess.run(
        [sys.executable, str(_WORKER)], input=lines, capture_output=True, text=True, check=True, env=environ
    )
    for made, line in zip(chosen, done.stdout.splitlines(), strict=True):
        yield made, json.loads(line)["answer"]
