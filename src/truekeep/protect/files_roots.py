"""What is looked at: the repositories, folders, single files or home directory that were named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from truekeep.errors import InvalidRequest
from truekeep.protect.files_git import git_root, staged_files
from truekeep.protect.files_walk import InstructionFile, instruction_files, read_instruction_file
from truekeep.rules.sarif import Scanned


@dataclass(frozen=True, slots=True)
class Root:
    """A directory and the instruction files below it; files are named by their path below it."""

    path: Path
    files: tuple[InstructionFile, ...]

    def named(self, items: Sequence[Scanned], *, is_only: bool) -> list[Scanned]:
        """The items under names that can be told apart when there are several roots."""
        return list(items) if is_only else [replace(item, name=str(self.path / item.name)) for item in items]


def chosen(paths: Sequence[str], *, user: bool = False) -> list[Root]:
    """The roots that were named; the present directory if none were."""
    named = [Path(path) for path in paths] or ([] if user else [Path()])
    for path in named:
        if not path.exists() and not path.is_symlink():
            raise InvalidRequest("There is no such file or directory.", code="no_such_file")
    found = [_root(path) for path in named]
    return [*found, whole_root(Path.home(), is_home=True)] if user else found


def whole_root(path: Path, *, is_home: bool = False) -> Root:
    """The repository that a folder lies in, or the folder, or the home directory; always as a whole."""
    if is_home:
        home = Path.home().resolve()
        return Root(home, tuple(instruction_files(home, is_home=True)))
    root = git_root(path) or path.resolve()
    return Root(root, tuple(instruction_files(root)))


def staged_root(folder: Path) -> Root:
    """What is staged in the repository that a folder lies in."""
    root = git_root(folder)
    if root is None:
        raise InvalidRequest("This is no git repository.", code="no_repository", hint="Run it inside one.")
    return Root(root, tuple(staged_files(root)))


def _root(path: Path) -> Root:
    """A folder within its repository, or one file. Paths below the repository's root decide what a file is."""
    if not path.is_dir() or path.is_symlink():
        folder = path.parent.resolve()
        root = git_root(folder) or folder
        name = (folder / path.name).relative_to(root).as_posix()
        return Root(root, (read_instruction_file(root, name),))
    folder = path.resolve()
    root = git_root(folder) or folder
    within = folder.relative_to(root).as_posix()
    return Root(root, tuple(instruction_files(root, within="" if within == "." else within)))
