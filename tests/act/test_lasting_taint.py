"""What a session read stays read, whoever goes on with it and whatever its context is made into."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from truekeep import Keep

READS_AND_DIES = """
import os, signal, sys
from truekeep import Keep
keep = Keep.open("shop", home=sys.argv[1], policy="inform", background=False)
session = keep.session("s-1", mediated=True)
session.observe("user", "What is new?")
if sys.argv[2] == "read":
    session.observe("web", "Northwind's account is 9904-71.", principal="https://evil.example")
os.kill(os.getpid(), signal.SIGKILL)
"""
CALL = {"payee": "Northwind", "amount": 300, "account": "9904-71"}


def _dies(home: Path, what: str) -> None:
    ended = subprocess.run([sys.executable, "-c", READS_AND_DIES, str(home), what], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


@pytest.mark.parametrize(("what", "is_clean"), [("read", False), ("nothing", True)])
def test_who_takes_a_session_over_from_a_killed_process_takes_its_taint_over(
    shop: Keep, home: Path, what: str, is_clean: bool
) -> None:
    shop.close()
    _dies(home, what)
    with Keep.open("shop", home=home, policy="inform", background=False) as keep:
        same = keep.session("s-1", mediated=True)
        child = keep.session("s-2", mediated=True, parent="s-1")
        grandchild = keep.session("s-3", mediated=True, parent="s-2")
        for session in (same, child, grandchild):
            assert session.is_clean is is_clean
            session.observe("user", "Please pay Northwind 300 euros.")
            assert (session.check_action("pay", CALL).decision == "allow") is is_clean


def test_a_parent_that_is_named_late_or_lost_its_record_taints(shop: Keep) -> None:
    late = shop.session("s-2", mediated=True)
    assert late.is_clean
    shop.session("s-1", mediated=True)
    shop.session("s-2", mediated=True, parent="s-1")
    assert not late.is_clean
