"""What git knows of instruction files: which are staged, their staged content, and which commit brought which line.

A repository is somebody else's word: nothing of its configuration may run anything here, and an answer is bounded.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from truekeep.errors import InvalidRequest, TruekeepError
from truekeep.protect.files_catalog import catalog
from truekeep.protect.files_walk import InstructionFile

_SECONDS = 60
_MOST_OUTPUT = 50_000_000
_QUIET = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "blame.ignoreRevsFile="),
    *("-c", "core.pager=cat"),
    *("-c", "protocol.allow=never"),
)
"""Settings by which a repository could start a program of its own, or leave commits out of the answer."""
_NOT_COMMITTED = "0" * 40


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
    """The root of the repository that a folder lies in, if it lies in one."""
    try:
        answer = _git(folder, "rev-parse", "--show-toplevel")
    except GitFailed:
        return None
    return Path(os.fsdecode(answer.rstrip(b"\n")))


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


def line_origins(root: Path, name: str) -> dict[int, LineOrigin]:
    """For each line of a tracked file the commit that brought it; empty for a file that git does not track."""
    try:
        answer = _git(root, "blame", "--line-porcelain", "--no-textconv", "--", name)
    except GitFailed:
        return {}
    origins: dict[int, LineOrigin] = {}
    number, commit, author, when = 0, "", "", ""
    for line in answer.decode("utf-8", "replace").split("\n"):
        if line.startswith("\t"):
            origins[number] = LineOrigin() if commit == _NOT_COMMITTED else LineOrigin(commit[:12], author, when)
            continue
        key, _, value = line.partition(" ")
        if len(key) == len(_NOT_COMMITTED) and value.count(" ") >= 1:
            commit, number = key, int(value.split(" ")[1])
        elif key == "author":
            author = value
        elif key == "committer-time" and value.isdigit():
            when = datetime.fromtimestamp(int(value), UTC).isoformat(timespec="seconds")
    return origins


def last_commit(root: Path, name: str) -> LineOrigin:
    """The last commit that touched a path; nothing if git knows none."""
    try:
        answer = _git(root, "log", "-1", "--no-ext-diff", "--format=%H%x00%an%x00%cI", "--", name)
    except GitFailed:
        return LineOrigin()
    parts = answer.decode("utf-8", "replace").rstrip("\n").split("\0")
    return LineOrigin(parts[0][:12], parts[1], parts[2]) if len(parts) == 3 else LineOrigin()


def _git(folder: Path, *arguments: str) -> bytes:
    return _run(["git", "-C", str(folder), "--no-pager", "--literal-pathspecs", *_QUIET, *arguments])


def _run(command: list[str]) -> bytes:
    """What git prints. Its own words are not repeated: they quote the repository."""
    kept = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, **kept},
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise GitFailed("git could not be run.", hint=f"Is git installed? ({type(error).__name__})") from None
    if done.returncode != 0:
        raise GitFailed("git refused the request.")
    if len(done.stdout) > _MOST_OUTPUT:
        raise GitFailed("git's answer is too long.")
    return done.stdout
