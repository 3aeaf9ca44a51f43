"""The rule pack as the tests see it: the loaded rules, one engine for all of them, the files of texts."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml

from truekeep.rules import Engine, Rule, load
from truekeep.rules.loader import BUILTIN

HERE = Path(__file__).resolve().parent
FILES = sorted(BUILTIN.rglob("*.yaml"))


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Every rule of the pack, loaded with its patterns checked."""
    return load([BUILTIN]).rules


@functools.cache
def engine() -> Engine:
    """All rules at once, on the prefilter that needs no compiling."""
    return Engine(rules(), prefilter="portable")


def document(file: Path) -> dict[str, Any]:
    """One rule file as plain data."""
    loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def patterns(file: Path) -> list[str]:
    """The patterns of one rule file, whichever way its conditions are written."""
    conditions = document(file)["detection"]["conditions"]
    blocks = conditions.values() if isinstance(conditions, dict) else conditions
    return [str(block["value"]) for block in blocks]


def texts(name: str, *path: str) -> list[str]:
    """All texts of a YAML file of grouped texts, or of one part of it."""
    part: Any = yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
    for step in path:
        part = part[step]
    return [text for group in part.values() for text in group]
