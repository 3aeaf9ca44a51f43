"""``bash scripts/test --quick`` leaves out what is marked slow, and still runs something of every room."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
HOUSE = TESTS.parent / "src" / "truekeep"
SLOW = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)
QUICK = {file: text for file in TESTS.rglob("test_*.py") if not SLOW.search(text := file.read_text("utf-8"))}
PACKAGES = sorted(file.parent.relative_to(HOUSE) for file in HOUSE.rglob("*/__init__.py") if "data" not in file.parts)
ROOMS = [one for one in PACKAGES if one.parent == Path() or (TESTS / one).is_dir()]


@pytest.mark.parametrize("room", ROOMS, ids=str)
def test_a_room_has_quick_tests_of_its_own_or_ones_that_import_from_it(room: Path) -> None:
    own = [file for file in QUICK if file.is_relative_to(TESTS / room)]
    imported = re.compile(rf"^ *(?:from|import) truekeep\.{'.'.join(room.parts)}\b", re.MULTILINE)
    assert own or [file for file, text in QUICK.items() if imported.search(text)]
