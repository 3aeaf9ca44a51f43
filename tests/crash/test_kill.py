"""Killed with SIGKILL at random moments: what was acknowledged is there, nothing is half done, and it goes on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

import pytest

from tests.crash.nursery import NAME, settings_of
from tests.crash.rounds import Rounds
from truekeep import Keep

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("TRUEKEEP_KILLS", "0")) or (500 if os.environ.get("TRUEKEEP_LONG") else 10)
PER_KEEP = 25
"""After so many rounds a new keep is begun, so that a long profile does not only check one that is long."""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("writers", [1, 2])
def test_nothing_acknowledged_is_lost_and_nothing_is_half_done(tmp_path: Path, writers: int) -> None:
    play(tmp_path, writers, ROUNDS)


def play(tmp_path: Path, writers: int, count: int, store: str = "") -> None:
    """Play so many rounds, in files or in a database."""
    seed = int(os.environ.get("TRUEKEEP_SEED", "0")) or Random().randrange(10**6)
    print(f"again with TRUEKEEP_SEED={seed}")
    random, done, cut_off = Random(seed), 0, 0
    for first in range(0, count, PER_KEEP):
        home = tmp_path / str(first)
        if store:
            home.with_name(f"{home.name}.store").write_text(store)
        rounds = Rounds(home, random)
        for _ in range(min(PER_KEEP, count - first)):
            rounds.play(writers)
        done += rounds.acknowledged
        cut_off += rounds.cut_off
        with Keep.open(NAME, home=home, settings=settings_of(home)) as keep:
            assert keep.remember("The work goes on.", via="user").accepted
            assert keep.audit.verify().ok
    print(f"{count} rounds, {done} operations acknowledged, {cut_off} cut off")
    assert done > count, "the processes got something done before they died"
