"""Which files agents read as instructions or memory: the table ``data/protect/instruction_files.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from truekeep.data import read_table


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """What one walk through a directory may cost; reaching a limit is reported, never passed over."""

    file_bytes: int
    files: int
    entries: int
    depth: int


@dataclass(frozen=True, slots=True)
class InstructionCatalog:
    """Patterns of instruction files, and what is walked through to find them."""

    in_repository: re.Pattern[str]
    in_home: re.Pattern[str]
    folders: re.Pattern[str]
    """Folders on the way to instruction files, such as ``.claude``; below them anything may be one."""
    home_folders: tuple[str, ...]
    """Folders below the home directory in which anything can match; only they are walked through."""
    skipped: frozenset[str]
    limits: WalkLimits

    def is_instruction_file(self, path: str, *, is_home: bool = False) -> bool:
        """Whether a path below a repository's root, or below the home directory, is one that agents read."""
        pattern = self.in_home if is_home else self.in_repository
        return pattern.fullmatch(path) is not None

    def may_hold_some(self, folder: str, *, is_home: bool = False) -> bool:
        """Whether instruction files lie in a folder for being there, or in one within it."""
        if any(self.is_instruction_file(f"{folder}/x{end}", is_home=is_home) for end in (".md", ".mdc")):
            return True
        return self.folders.fullmatch(folder) is not None


@cache
def catalog() -> InstructionCatalog:
    """The table, compiled."""
    table = read_table("protect", "instruction_files.toml")
    anywhere = [path for entry in table["repository"] for path in entry["paths"]]
    home = [path for entry in table["home"] for path in entry["paths"]]
    return InstructionCatalog(
        in_repository=_compiled(f"**/{path}" for path in anywhere),
        in_home=_compiled(home),
        folders=_compiled(f"**/{folder}" for path in (*anywhere, *home) for folder in _ways(path)),
        home_folders=_outermost({_fixed_folder(path) for path in home}),
        skipped=frozenset(table["skipped"]["folders"]),
        limits=WalkLimits(**table["limits"]),
    )


def _compiled(paths: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(_expression(path) for path in paths), re.IGNORECASE | re.DOTALL)


def _expression(path: str) -> str:
    """A path with ``*`` (within a name) and ``**/`` (any number of folders) as a regular expression."""
    parts = re.split(r"(\*\*/|\*)", path)
    special = {"**/": "(?:[^/]+/)*", "*": "[^/]*"}
    return "".join(special.get(part, re.escape(part)) for part in parts)


def _fixed_folder(path: str) -> str:
    """The folders of a path before its first wildcard; empty for a file in the home directory itself."""
    fixed = path.partition("*")[0]
    return fixed.rpartition("/")[0]


def _ways(path: str) -> Iterator[str]:
    """The folders that lead to a path, each as its own path: ``.claude`` and ``.claude/rules``."""
    parts = _fixed_folder(path).split("/")
    yield from ("/".join(parts[:count]) for count in range(1, len(parts) + 1) if parts[0].startswith("."))


def _outermost(folders: set[str]) -> tuple[str, ...]:
    """The folders without those that lie in another one; the home directory itself is not walked through."""
    inside = {one for one in folders for other in folders if other and one.startswith(f"{other}/")}
    return tuple(sorted(folders - inside))
