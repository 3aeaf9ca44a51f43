"""Which anchors a keep has: what the setting ``anchor`` names, as objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from truekeep.errors import ConfigError
from truekeep.stores.anchor import Anchor, Anchors, FileAnchor
from truekeep.stores.anchor_log import AppendAnchor

Make = Callable[[Path, bytes, str], Anchor]
"""Makes an anchor from the place of its file, the keep's anchor key and its name in the settings."""

KINDS: Mapping[str, Make] = {"file": FileAnchor, "append": AppendAnchor}
"""What can stand before the colon. A further kind is one more class with the methods of ``Anchor``."""


def anchors_of(setting: str, keys: Path, keep: str, key: bytes) -> Anchors:
    """The anchors that the setting names: ``keys``, ``file:DIRECTORY``, ``append:DIRECTORY``, separated by commas."""
    named = list(dict.fromkeys(name.strip() for name in setting.split(",") if name.strip()))
    if not named:
        raise ConfigError("The setting anchor names no anchor.", hint="The default is 'keys'.")
    return Anchors([_anchor(name, keys, keep, key) for name in named])


def _anchor(name: str, keys: Path, keep: str, key: bytes) -> Anchor:
    if name == "keys":
        return FileAnchor(keys / "keeps" / f"{keep}.anchor", key)
    kind, _, place = name.partition(":")
    directory = Path(place).expanduser()
    if kind not in KINDS or not place or not directory.is_absolute():
        raise ConfigError(
            "The setting anchor is not understood.", hint="Use keys, file:/directory or append:/directory."
        )
    return KINDS[kind](directory / f"{keep}.anchor", key, name)
