"""Tables that come with the package: TOML and YAML files under ``data/``, parsed."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def read_table(*path: str) -> dict[str, Any]:
    """One table by its path under ``data/``; the name's ending says in which form it is written."""
    source = files("truekeep").joinpath("data", *path).read_text(encoding="utf-8")
    return tomllib.loads(source) if path[-1].endswith(".toml") else _parsed_yaml(source)


def folders_with(name: str, *path: str) -> tuple[str, ...]:
    """The folders under a folder of ``data/`` that hold a file of that name, in alphabetical order."""
    parent = files("truekeep").joinpath("data", *path)
    return tuple(sorted(entry.name for entry in parent.iterdir() if entry.is_dir() and entry.joinpath(name).is_file()))


def _parsed_yaml(source: str) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - most tables are TOML

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    table: dict[str, Any] = yaml.load(source, Loader=loader)  # noqa: S506 - both loaders are the safe ones
    return table
