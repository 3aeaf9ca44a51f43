"""What git knows of instruction files: which are staged, their staged content, and which commit brought which line.

A repository is somebody else's word: nothing of its configuration may run anything here, and an answer is bounded.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from truekeep.errors import InvalidRequest, TruekeepError
from truekeep.protect.files_catalog import catalog
from truekeep.protect.files_walk import InstructionFile

_SECONDS = 60
"""The blame of a long history takes seconds; a git that hangs must not hold up a commit for good."""
_MOST_OUTPUT = 50_000_000
"""A blame repeats a header for each line of a file of a megabyte; nothing else is near that."""
_QUIET = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "blame.ignoreRevsFile="),
    *("-c", "core.pager=cat"),
    *("-c", "log.showSignature=false"),
)
"""Settings by which a repository could start a program of its own, or leave commits out of the answer."""
_KEPT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    # An object that is missing is missing: fetching it would start whatever the repository names as a transport. The
    # settings of a repository can overrule a default on the command line, and no variable.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    # A replaced object is shown here, and the real one is what everybody else gets.
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class GitFailed(TruekeepError):
    """git is not there, or refuses this repository."""

    code = "git_failed"
    default_hint = "Run 'git status' in the repository; it says what is wrong."


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """Where a line came from: the commit with its author and time, or nothing if it is not committed."""

    commit: str = ""
    author: str = ""
    when: str = ""


def git_root(folder: Path) -> Path | None:
    """The root of the repository that a folder lies in, if it lies in one.

    A repository can name any other place as its working tree (``core.worktree``), and have that looked at instead of
    itself. So the root is believed only where the folder lies in it and git's own folder lies there.
    """
    try:
        answer = _git(folder, "rev-parse", "--show-toplevel")
    except GitFailed:
        return None
    root = Path(os.fsdecode(answer.removesuffix(b"\n")))
    return root if folder.resolve().is_relative_to(root) and (root / ".git").exists() else None


def hooks_folder(root: Path) -> Path:
    """Where git looks for hooks in this repository."""
    # Asked without the settings above: they would name another place.
    answer = _run(["git", "-C", str(root), "rev-parse", "--git-path", "hooks"])
    return root / os.fsdecode(answer.rstrip(b"\n"))


def staged_files(root: Path) -> list[InstructionFile]:
    """The instruction files that the next commit would add or change, as they are staged."""
    answer = _git(root, "diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--diff-filter=ACMRT")
    names = [os.fsdecode(name) for name in answer.split(b"\0") if name]
    known = catalog()
    chosen = [name for name in names if known.is_instruction_file(name)]
    if len(chosen) > known.limits.files:
        raise InvalidRequest("More instruction files are staged than are looked at at once.", code="too_many_files")
    return [_staged(root, name, known.limits.file_bytes) for name in chosen]


def _staged(root: Path, name: str, most: int) -> InstructionFile:
    if int(_git(root, "cat-file", "-s", f":{name}")) > most:
        return InstructionFile(name, unread="not read: the file is too large")
    return InstructionFile(name, _git(root, "cat-file", "blob", f":{name}"))


def line_origins(root: Path, file: InstructionFile) -> dict[int, LineOrigin]:
    """For each committed line of a file the commit that brought it; empty for a file that git does not have.

    The last commit's content is asked about, not the file's: to look at the file git would run the filters that the
    repository names. A line of the file belongs to the commit that brought a line of that text.
    """
    try:
        answer = _git(root, "blame", "--line-porcelain", "--no-textconv", "HEAD", "--", file.name)
    except GitFailed:
        return {}
    brought: dict[bytes, deque[LineOrigin]] = {}
    for text, origin in _blamed(answer):
        brought.setdefault(text, deque()).append(origin)
    origins = {}
    for number, line in enumerate(file.content.split(b"\n"), start=1):
        if known := brought.get(line.rstrip(b"\r")):
            origins[number] = known.popleft()
    return origins


def _blamed(answer: bytes) -> Iterator[tuple[bytes, LineOrigin]]:
    """Each line of a blame with its origin; the header of a line stands before it."""
    commit = author = when = ""
    for line in answer.split(b"\n"):
        if line.startswith(b"\t"):
            yield line[1:].rstrip(b"\r"), LineOrigin(commit[:12], author, when)
            continue
        key, _, value = line.decode("utf-8", "replace").partition(" ")
        if _COMMIT.fullmatch(key):
            commit = key
        elif key == "author":
            author = value
        elif key == "committer-time" and value.isdigit():
            when = datetime.fromtimestamp(int(value), UTC).isoformat(timespec="seconds")


def last_commit(root: Path, name: str) -> LineOrigin:
    """The last commit that touched a path; nothing if git knows none."""
    try:
        answer = _git(root, "log", "-1", "--no-show-signature", "--format=%H%x00%an%x00%cI", "--", name)
    except GitFailed:
        return LineOrigin()
    parts = answer.decode("utf-8", "replace").rstrip("\n").split("\0")
    return LineOrigin(parts[0][:12], parts[1], parts[2]) if len(parts) == 3 else LineOrigin()


def _git(folder: Path, *arguments: str) -> bytes:
    return _run(["git", "-C", str(folder), "--no-pager", "--literal-pathspecs", *_QUIET, *arguments])


def _run(command: list[str]) -> bytes:
    """What git prints. Its own words are not repeated: they quote the repository."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, **_KEPT},
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise GitFailed("git could not be run.", hint=f"Is git installed? ({type(error).__name__})") from None
    if done.returncode != 0:
        raise GitFailed("git refused the request.")
    if len(done.stdout) > _MOST_OUTPUT:
        raise GitFailed("git's answer is too long.")
    return done.stdout
