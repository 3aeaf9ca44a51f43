"""What lies beside a keep's database and may hold what is erased in it: set-aside copies, drafts, settings.

Copies that a restore set aside and drafts that a killed process left go as a whole, whatever is in them. What is not
the keep's to change, such as the settings and backups elsewhere, is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truekeep import disk
from truekeep.stores.files import database_path, keyring, known_heads, set_aside_files

if TYPE_CHECKING:
    from pathlib import Path

    from truekeep.config import Paths, Settings

_MOST_FILES = 2_000
"""Files that are looked at: a home has a few dozen, and somebody may have put a whole tree there."""
_LARGEST_TEXT = 2_000_000
"""Bytes of a file that is read as text; settings, tokens and rules are far below."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The files around one keep."""

    paths: Paths
    keep: str
    settings: Settings

    def copies(self) -> list[Path]:
        """What a restore set aside, and drafts in the data directory."""
        if not self.paths.data.is_dir():
            return []  # keeps in a database have no files beside them
        found = [*set_aside_files(self.paths, self.keep), *disk.drafts(self.paths.data)]
        return sorted(path for path in found if path.is_file() and not path.is_symlink())

    def clear(self) -> tuple[list[str], list[str]]:
        """Remove the copies; says what went, and what could not because somebody is working on it."""
        doomed = self.copies()
        if not self.paths.data.is_dir():
            return [], []
        disk.tidy(self.paths.data, is_own=True)
        for path in doomed:
            if ".replaced-" in path.name:
                with suppress(OSError):
                    path.unlink()
        disk.sync_directory(self.paths.data)
        left = [f"{path.name} is in use" for path in doomed if path.exists()]
        return [path.name for path in doomed if not path.exists()], left

    def named_in(self, names: Callable[[str], bool]) -> Iterator[str]:
        """Where else the subject is named, and that backups were made."""
        keys = keyring(self.paths, self.settings).open(self.keep)
        if known := len(known_heads(self.paths, self.keep, keys).all()):
            yield f"{known} backups that were made before, wherever they are"
        if sealed := sum(1 for _ in (self.paths.data / "protect" / "passages").glob("pq_*.sealed")):
            # They are sealed under another key, and belong to files of the user's that nobody may change unasked.
            yield f"{sealed} passages that were taken out of instruction files (truekeep protect undo --list)"
        if names(self.keep):
            yield "the keep's own name, which is in the names of its files"
        for path in self._files():
            with suppress(OSError, UnicodeDecodeError):
                if names(disk.read(path, _LARGEST_TEXT).decode()):
                    yield f"the file {path.name}"

    def _files(self) -> Iterator[Path]:
        seen: set[Path] = set()
        own = database_path(self.paths, self.keep).suffix
        for folder in (self.paths.config, self.paths.data, self.paths.keys):
            for path in folder.rglob("*") if folder.is_dir() else ():
                if path in seen or path.is_symlink() or not path.is_file() or own in path.suffixes:
                    continue
                seen.add(path)
                if len(seen) > _MOST_FILES:
                    return
                yield path
