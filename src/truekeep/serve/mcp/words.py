"""The server's constant words: instructions, and the titles, descriptions and hints of its tools and resources."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml


@cache
def words(profile: str) -> dict[str, Any]:
    """The words of a profile."""
    folder = resources.files("truekeep") / "data" / "mcp"
    loaded: dict[str, Any] = yaml.safe_load((folder / "words.yaml").read_text("utf-8"))
    if profile == "reference":
        loaded |= yaml.safe_load((folder / "reference.yaml").read_text("utf-8"))
    return loaded
