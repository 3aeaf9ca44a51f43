"""The server's constant words: instructions, the titles, descriptions and hints of its tools and resources, and the
lists of both as the library gives them, which are written down so that they can be told before it is loaded.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import yaml

_FOLDER = resources.files("truekeep") / "data" / "mcp"


@cache
def words(profile: str) -> dict[str, Any]:
    """The words of a profile."""
    loaded: dict[str, Any] = yaml.safe_load((_FOLDER / "words.yaml").read_text("utf-8"))
    if profile == "reference":
        loaded |= yaml.safe_load((_FOLDER / "reference.yaml").read_text("utf-8"))
    return loaded


@cache
def lists(profile: str) -> dict[str, Any]:
    """The answers to ``tools/list`` and ``resources/list``; ``scripts/mcp-lists`` writes them down anew."""
    found: dict[str, dict[str, Any]] = json.loads((_FOLDER / "lists.json").read_text("utf-8"))
    return found[profile]
