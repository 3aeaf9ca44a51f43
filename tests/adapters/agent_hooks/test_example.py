"""The example runs, and nothing is carried out in it."""

from __future__ import annotations

from pathlib import Path

from tests.adapters import test_examples as examples


def test_the_example_ends_with_nothing_carried_out(tmp_path: Path) -> None:
    examples.test_an_example_ends_with_nothing_carried_out("agent_hooks_host.py", tmp_path)
