"""The pre-commit hook: git runs the scan over what is staged, and a commit with findings does not happen."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from truekeep import disk
from truekeep.errors import InvalidRequest
from truekeep.protect.files_git import git_root, hooks_folder

_SIGN = b"# installed by truekeep protect"


def install_hook(folder: Path) -> Path:
    """Write the hook of the repository that a folder lies in. A hook of somebody else's is left as it is."""
    root = git_root(folder)
    if root is None:
        raise InvalidRequest("This is no git repository.", code="no_repository", hint="Run it inside one.")
    path = hooks_folder(root) / "pre-commit"
    _require_free(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with disk.drafted(path, _script()) as draft:
        draft.chmod(0o755)
        draft.rename(path)
        disk.sync_directory(path.parent)
    return path


def _script() -> bytes:
    """The interpreter is named by its full path: a hook must not depend on what is first in somebody's PATH.

    A truekeep that cannot be run stops the commit. ``git commit --no-verify`` goes past every hook; CI does not.
    """
    command = f"exec {shlex.quote(sys.executable)} -m truekeep protect scan --staged"
    return b"#!/bin/sh\n" + _SIGN + b"\n" + command.encode() + b"\n"


def _require_free(path: Path) -> None:
    if not path.exists() and not path.is_symlink():
        return
    try:
        present = disk.read(path, 100_000)
    except OSError:
        present = b""
    if _SIGN not in present:
        raise InvalidRequest(
            "The repository has a pre-commit hook already.",
            code="hook_there",
            hint="Add this line to it: truekeep protect scan --staged || exit 1",
        )
