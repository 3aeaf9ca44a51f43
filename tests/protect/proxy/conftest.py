"""The reference memory server, once for all tests that talk to it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGE = "@modelcontextprotocol/server-memory"


@pytest.fixture(scope="session")
def reference_server(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of the real server from the npm registry."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm and node are not installed, so the reference server cannot be started")
    place = tmp_path_factory.mktemp("reference")
    (place / "package.json").write_text(json.dumps({"name": "reference", "version": "1.0.0", "private": True}))
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
    ran = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=180)
    entry = place / "node_modules" / PACKAGE / "dist" / "index.js"
    if ran.returncode or not entry.is_file():
        pytest.skip(f"{PACKAGE} cannot be installed from the npm registry here")
    return [node, str(entry)]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """The file that the reference server keeps its memories in."""
    return tmp_path / "memory.jsonl"
