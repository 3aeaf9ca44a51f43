"""Which anchors a keep has: what the setting ``anchor`` names, as objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from truekeep.errors import ConfigError, MissingExtra
from truekeep.stores.anchor import Anchor, Anchors, AppendAnchor, FileAnchor

Make = Callable[[Path, bytes, str], Anchor]
"""Makes an anchor from the place of its file, the keep's anchor key and its name in the settings."""

KINDS: Mapping[str, Make] = {"file": FileAnchor, "append": AppendAnchor}
"""What can stand before the colon. A further kind is one more class with the methods of ``Anchor``."""


def anchors_of(setting: str, keys: Path, keep: str, key: bytes) -> Anchors:
    """The anchors that the setting names, separated by commas.

    ``keys``, ``file:DIRECTORY``, ``append:DIRECTORY`` and ``postgres:VARIABLE``, the environment variable in which the
    connection string is: it may hold a password, and the names of anchors are logged.
    """
    named = list(dict.fromkeys(name.strip() for name in setting.split(",") if name.strip()))
    if not named:
        raise ConfigError("The setting anchor names no anchor.", hint="The default is 'keys'.")
    return Anchors([_anchor(name, keys, keep, key) for name in named])


def _anchor(name: str, keys: Path, keep: str, key: bytes) -> Anchor:
    if name == "keys":
        return FileAnchor(keys / "keeps" / f"{keep}.anchor", key)
    kind, _, place = name.partition(":")
    if kind == "postgres" and place:
        return _in_postgres(place, key, name, keep)
    directory = Path(place).expanduser()
    if kind not in KINDS or not place or not directory.is_absolute():
        raise ConfigError(
            "The setting anchor is not understood.",
            hint="Use keys, file:/directory, append:/directory or postgres:VARIABLE.",
        )
    return KINDS[kind](directory / f"{keep}.anchor", key, name)


def _in_postgres(variable: str, key: bytes, name: str, keep: str) -> Anchor:
    dsn = os.environ.get(variable)
    if not dsn:
        raise ConfigError(
            "The variable that the setting anchor names is not set.", hint="It has to hold the connection string."
        )
    try:
        from truekeep.stores.anchor_postgres import PostgresAnchor  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra("postgres") from error
    return PostgresAnchor(dsn, key, name, keep)
