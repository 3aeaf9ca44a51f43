"""Finds instruction files below a directory, without following links and within limits.

What cannot be looked at is never taken for clean: a link that leads out of the directory, a file that cannot be read
or is too large, and a walk that reached a limit are each handed back with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from truekeep import disk
from truekeep.errors import InvalidRequest
from truekeep.protect.files_catalog import InstructionCatalog, catalog
from truekeep.protect.files_imports import HOPS, imported_files


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """One instruction file: its path below the root, its bytes, and why it could not be read if it could not."""

    name: str
    content: bytes = b""
    unread: str = ""

    @property
    def text(self) -> str:
        """What is readable of it. Bytes that are no text hide nothing of what is around them."""
        return self.content.decode("utf-8", errors="replace")


@dataclass(slots=True)
class _Walk:
    """One walk and what it has cost so far."""

    root: Path
    is_home: bool
    table: InstructionCatalog
    entries: int = 0
    stopped: str = ""
    links: list[tuple[str, str]] = field(default_factory=list)
    """Links in the place of instruction files or folders of them: path below the root, and where the link leads."""
    followed: set[str] = field(default_factory=set)
    """Where links lead below the root, and were looked at there."""


def instruction_files(root: Path, *, within: str = "", is_home: bool = False) -> list[InstructionFile]:
    """Every instruction file below ``root``, by path; ``is_home`` looks where agents keep those of a user.

    ``within`` is a folder below the root to stay in: which file is one is decided by its path below the root.
    """
    if not root.is_dir():
        raise InvalidRequest("There is no such directory.", code="no_such_directory")
    walk = _Walk(root.resolve(), is_home, catalog())
    names: dict[str, None] = {}
    for name in (*_candidates(walk, within), *_linked(walk)):
        if len(names) >= walk.table.limits.files:
            walk.stopped = f"there are more than {walk.table.limits.files:,} instruction files"
            break
        names[name] = None
    found = {name: read_instruction_file(walk.root, name) for name in names}
    _follow_imports(walk, found)
    for name, reason in _unfollowed(walk, found):
        found[name] = InstructionFile(name, unread=reason)
    if walk.stopped:
        found["."] = InstructionFile(".", unread=f"not looked through to the end: {walk.stopped}")
    return [found[name] for name in sorted(found)]


def read_instruction_file(root: Path, name: str) -> InstructionFile:
    """One file below a root; what keeps it from being read stands in ``unread``."""
    try:
        return InstructionFile(name, disk.read_of_anyone(root / name, catalog().limits.file_bytes))
    except OSError as error:
        return InstructionFile(name, unread=f"not read: {(error.strerror or type(error).__name__).lower()}")


def _candidates(walk: _Walk, within: str) -> Iterator[str]:
    if not walk.is_home:
        yield from _below(walk, within, within.count("/"))
        return
    for folder in walk.table.home_folders:
        if _has_link(walk.root, folder):
            walk.links.append((folder, os.path.realpath(walk.root / folder)))
        elif (walk.root / folder).is_dir():
            yield from _below(walk, folder, folder.count("/") + 1)


def _has_link(root: Path, folder: str) -> bool:
    parts = Path(folder).parts
    return any((root / Path(*parts[: count + 1])).is_symlink() for count in range(len(parts)))


def _below(walk: _Walk, folder: str, depth: int) -> Iterator[str]:
    """Names of instruction files in a folder and those within it."""
    if depth > walk.table.limits.depth:
        walk.stopped = "folders lie too deep"
        return
    for entry in _listed(walk, folder):
        name = f"{folder}/{entry.name}" if folder else entry.name
        if entry.is_symlink():
            _note_link(walk, name)
        elif entry.is_dir(follow_symlinks=False):
            if entry.name not in walk.table.skipped and (folder or not walk.is_home):
                yield from _below(walk, name, depth + 1)
        elif walk.table.is_instruction_file(name, is_home=walk.is_home):
            yield name


def _listed(walk: _Walk, folder: str) -> list[os.DirEntry[str]]:
    """The entries of a folder, within the walk's limit; a folder that cannot be listed stops the claim to be whole."""
    try:
        with os.scandir(walk.root / folder) as entries:
            found = []
            for entry in entries:
                walk.entries += 1
                if walk.entries > walk.table.limits.entries:
                    walk.stopped = f"there are more than {walk.table.limits.entries:,} directory entries"
                    return []
                found.append(entry)
    except OSError as error:
        walk.stopped = f"a folder cannot be listed ({(error.strerror or type(error).__name__).lower()})"
        return []
    return sorted(found, key=lambda entry: entry.name)


def _note_link(walk: _Walk, name: str) -> None:
    table = walk.table
    if table.is_instruction_file(name, is_home=walk.is_home) or table.may_hold_some(name, is_home=walk.is_home):
        walk.links.append((name, os.path.realpath(walk.root / name)))


def _linked(walk: _Walk) -> Iterator[str]:
    """What links in the place of instruction files lead to below the root: agents read it under the link's name.

    More links may be met on the way; a place that several lead to is looked through once.
    """
    for _, target in walk.links:
        path = Path(target)
        if target in walk.followed or not path.is_relative_to(walk.root):
            continue
        if path.is_file():
            walk.followed.add(target)
            yield path.relative_to(walk.root).as_posix()
        elif path.is_dir():
            walk.followed.add(target)
            yield from (found.relative_to(walk.root).as_posix() for found in _markdown(walk, path))


def _markdown(walk: _Walk, folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        inner = [Path(parent, name) for name in folders if name not in walk.table.skipped]
        linked = [one for one in inner if one.is_symlink()]
        walk.links += [(one.relative_to(walk.root).as_posix(), os.path.realpath(one)) for one in linked]
        folders[:] = [one.name for one in inner]
        for name in names:
            walk.entries += 1
            if walk.entries > walk.table.limits.entries:
                walk.stopped = "a folder that a link leads to is too large"
                return
            if name.lower().endswith((".md", ".mdc")):
                yield Path(parent, name)


def _follow_imports(walk: _Walk, found: dict[str, InstructionFile]) -> None:
    """Read what the files import, wherever it lies: an agent puts it into the same prompt."""
    fresh = list(found.values())
    for _ in range(HOPS):
        paths = {path for file in fresh for path in imported_files((walk.root / file.name).parent, file.text)}
        names = sorted({os.path.relpath(path, walk.root) for path in paths} - found.keys())
        if len(found) + len(names) > walk.table.limits.files:
            walk.stopped = f"more than {walk.table.limits.files:,} files are imported"
            return
        fresh = [read_instruction_file(walk.root, name) for name in names]
        found |= {file.name: file for file in fresh}


def _unfollowed(walk: _Walk, found: dict[str, InstructionFile]) -> Iterator[tuple[str, str]]:
    """Links that lead to what this walk has not read: an agent would follow them, and we have not looked there."""
    read = {str(walk.root / name) for name in found} | walk.followed
    for name, target in walk.links:
        if target not in read:
            yield name, "a link to what was not looked at; scan what it leads to"
