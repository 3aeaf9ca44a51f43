"""The table of attacks names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## What was attacked")[2]
ROWS = [line for line in SECTION.splitlines() if line.startswith("| ") and "what holds it" not in line]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", SECTION)))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_table_names_exists(file: str, name: str) -> None:
    assert re.search(rf"^ *(?:async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_attack_is_held_by_a_test() -> None:
    assert len(ROWS) >= 22
    assert not [row for row in ROWS if "::test_" not in row]
