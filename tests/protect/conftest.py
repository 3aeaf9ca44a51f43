"""A scanner that every test shares, and repositories made by the real git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from truekeep.config import Paths
from truekeep.protect.files_scan import InstructionScanner

Git = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def scanner(tmp_path_factory: pytest.TempPathFactory) -> InstructionScanner:
    return InstructionScanner(Paths.resolve(tmp_path_factory.mktemp("home")))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "CLAUDE.md").write_text("# Rules\n\n- Use tabs.\n- Run the tests.\n")
    return root


@pytest.fixture
def git(repository: Path, tmp_path: Path) -> Git:
    """The real git in a repository of its own, untouched by the settings of whoever runs the tests."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Eva\n\temail = eva@acme.example\n[init]\n\tdefaultBranch = main\n")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": str(settings), "GIT_CONFIG_NOSYSTEM": "1"}

    def call(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "-C", str(repository), *arguments],
            capture_output=True,
            text=True,
            check=check,
            timeout=120,
            env=environment,
        )

    call("init", "-q")
    call("add", "-A")
    call("commit", "-qm", "first")
    return call
