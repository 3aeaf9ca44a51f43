"""The whole programs among the examples are short, and do what their pages say, as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "examples" / "programs"
ENDINGS = {
    "personal_assistant": ["I could not pay.", "Northwind is paid.", "paid to: 1180-22"],
    "coding_agent": ["not run (confirm, hearsay_target)", "note quarantine: hearsay_held", "commands run: pytest -q"],
    "support_desk": [
        "eve@evil.example: reject",
        "rejected: I moved",
        "the same claim again: rejected_claim_rejected",
        "the owner is asked:",
        "audit log: verified",
        "refunds: [('A-17', 40)]",
    ],
    "tenants": [
        "acme: the agent's own claim is quarantine",
        "acme finds: ['Invoices of acme go to account 4180-22.']",
        "globex finds: ['Invoices of globex go to account 6180-22.']",
        "acme's token in globex's keep: ",
        "the agent speaking as the owner: channel_fixed",
    ],
}


def test_every_program_is_run_and_has_fewer_than_150_lines() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == set(ENDINGS)
    for path in PROGRAMS.glob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) < 150, path.name


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ENDINGS))
def test_a_program_does_what_is_asked_and_not_what_it_reads(name: str) -> None:
    ran = subprocess.run(
        [sys.executable, str(PROGRAMS / f"{name}.py")],
        env={**os.environ, "TRUEKEEP_EMBEDDER": "none"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stderr
    assert [words for words in ENDINGS[name] if words not in ran.stdout] == [], ran.stdout
