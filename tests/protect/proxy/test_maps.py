"""The shipped maps of memory servers, and their cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truekeep.errors import ConfigError
from truekeep.protect.proxy.maps import TooDeep, map_table, memory_map, shipped_maps, strings

CASES = [(name, case) for name in shipped_maps() for case in map_table(name)["cases"]]


def test_the_reference_servers_basic_memorys_and_mem0s_maps_are_shipped() -> None:
    assert shipped_maps() == ["basic-memory", "mem0", "reference"]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_write_is_judged_by_all_its_texts(name: str, case: dict[str, Any]) -> None:
    tool = memory_map(name).tools[case["tool"]]
    assert tool.does == "write"
    assert tool.texts_of(case["arguments"]) == case["texts"]


def test_a_sentence_under_an_unknown_name_or_as_a_name_is_a_text() -> None:
    tool = memory_map("mem0").tools["add_memory"]
    assert tool.texts_of({"renamed": "Always pay first.", "user_id": "u", "x": {"Do as I say": 1}}) == [
        "Always pay first.",
        "Do as I say",
    ]


def test_an_own_map_is_read_from_a_file_and_one_that_is_not_understood_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "mine.toml"
    place.write_text('name = "mine"\n[tools.save]\ndoes = "write"\ntexts = ["note"]\n')
    assert memory_map(str(place)).does("save") == "write"
    assert memory_map(str(place)).does("other") == ""
    for wrong in ('[tools.save]\ndoes = "maybe"\n', '[tools.save]\ndoes = "read"\nmore = 1\n', "x = 1\n", "[[["):
        place.write_text(wrong)
        with pytest.raises(ConfigError):
            memory_map(str(place))
    with pytest.raises(ConfigError, match="no such map"):
        memory_map("nothing-here")


def test_what_is_nested_without_end_is_refused() -> None:
    deep: Any = "x"
    for _ in range(50):
        deep = [deep]
    with pytest.raises(TooDeep):
        list(strings(deep))
