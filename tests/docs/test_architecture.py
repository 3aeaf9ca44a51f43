"""The map of the house names only what is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "truekeep"
MAP = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMED = re.compile(r"`((?:[a-z_]+/)*[a-z_]+\.py)`\s+`([A-Za-z_.]+)`")
ROOMS = re.compile(r"`([a-z_]+)/`")


def defined(path: Path) -> set[str]:
    """Functions, classes and methods of a module, methods behind their class."""
    names: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            names |= {f"{node.name}.{one.name}" for one in inner}
    return names


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall(MAP))))
def test_what_the_map_names_is_there(file: str, name: str) -> None:
    assert name in defined(SOURCE / file)


def test_the_map_names_files_and_every_room() -> None:
    assert len(set(NAMED.findall(MAP))) >= 25
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert rooms <= set(ROOMS.findall(MAP)) | {"data"}
