"""Fetch what the rule benchmarks compare with, by package name: nothing of it lives in this project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ATR = "agent-threat-rules@4.0.0"
PYATR = "pyatr==0.3.1"


class Unreachable(RuntimeError):
    """A package could not be fetched here; the text says which."""


def workdir() -> Path:
    """Where fetched packages are kept between runs: $TRUEKEEP_BENCH_DIR or a directory under the system's own."""
    root = Path(os.environ.get("TRUEKEEP_BENCH_DIR") or Path(tempfile.gettempdir()) / "truekeep-bench")
    root.mkdir(parents=True, exist_ok=True)
    return root


def atr_rules() -> Path:
    """The public rule set, unpacked."""
    target = workdir() / "atr"
    rules = target / "package" / "rules"
    if rules.is_dir():
        return rules
    npm = shutil.which("npm")
    if npm is None:
        raise Unreachable("npm is not installed, so agent-threat-rules cannot be fetched")
    target.mkdir(exist_ok=True)
    done = subprocess.run([npm, "pack", ATR, "--silent"], cwd=target, capture_output=True, timeout=120, check=False)
    archives = sorted(target.glob("*.tgz"))
    if done.returncode or not archives:
        raise Unreachable(f"npm could not fetch {ATR}")
    with tarfile.open(archives[-1]) as archive:
        archive.extractall(target, filter="data")
    return rules


def atr_node() -> Path:
    """The package with its dependencies, so that its own engine runs."""
    target = workdir() / "node"
    package = target / "node_modules" / "agent-threat-rules"
    if package.is_dir():
        return package
    npm = shutil.which("npm")
    if npm is None:
        raise Unreachable("npm is not installed, so the reference engine cannot be fetched")
    target.mkdir(exist_ok=True)
    (target / "package.json").write_text("{}", encoding="utf-8")
    done = subprocess.run([npm, "install", ATR, "--silent"], cwd=target, capture_output=True, timeout=300, check=False)
    if done.returncode:
        raise Unreachable(f"npm could not install {ATR}")
    return package


def pyatr_python() -> Path:
    """The interpreter of an environment of its own with pyatr in it."""
    target = workdir() / "pyatr"
    python = target / "bin" / "python"
    if python.exists():
        return python
    venv.create(target, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "-q", PYATR], capture_output=True, timeout=300, check=False)
    if done.returncode:
        shutil.rmtree(target)
        raise Unreachable(f"pip could not install {PYATR} for {sys.executable}")
    return python
