"""Environments with nothing else in them: every Python that is present, every extra by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from scripts.packaging.distributions import ROOT

_CLEAR = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
README_EXAMPLE = """
import doctest, sys
failed, tried = doctest.testfile(sys.argv[1], module_relative=False)
sys.exit(f"{failed} of {tried} failed" if failed or tried < 10 else 0)
"""


def declared() -> list[str]:
    """The versions of Python that the project says it runs on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    return [one.rpartition(" ")[2] for one in project["classifiers"] if one.startswith(prefix)]


def interpreter(version: str) -> Path | None:
    """A Python of that version, asked who it is: a shim of a version manager may be there and lead nowhere."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    known = sorted((pyenv / "versions").glob(f"{version}.*/bin/python"))
    for path in (*known, shutil.which(f"python{version}"), sys.executable):
        asked = [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"] if path else ["false"]
        ran = subprocess.run(asked, capture_output=True, text=True, check=False)
        if ran.stdout.strip() == version:
            return Path(str(path))
    return None


class Environment:
    """A virtual environment that holds one distribution and what that needs."""

    def __init__(self, place: Path, python: Path = Path(sys.executable)) -> None:
        self.place = place
        self._variables = {name: value for name, value in os.environ.items() if name not in _CLEAR}
        self._variables |= {"TRUEKEEP_HOME": str(place / "home"), "XDG_CACHE_HOME": str(place / "cache")}
        with_uv = [] if find_spec("uv") is None else ["--without-pip"]
        self._done([str(python), "-m", "venv", *with_uv, str(place)])
        self.python = place / "bin" / "python"

    def install(self, requirement: str) -> None:
        """Install it with all that it requires."""
        if find_spec("uv") is None:
            self._done([str(self.python), "-m", "pip", "install", "--quiet", requirement])
        else:
            ours = {**self._variables, "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}
            self._done([sys.executable, "-m", "uv", "pip", "install", "-q", "-p", str(self.python), requirement], ours)

    def run(self, *arguments: str, given: str = "") -> str:
        """What a program of the environment prints; run where nothing of the repository is."""
        return self._done([str(self.place / "bin" / arguments[0]), *arguments[1:]], given=given)

    def imports(self, modules: Sequence[str]) -> None:
        """Import each, in one process; what cannot be imported raises."""
        self.run("python", "-I", "-W", "ignore", "-c", f"import {', '.join(modules)}")

    def _done(self, command: Sequence[str], variables: dict[str, str] | None = None, given: str = "") -> str:
        self.place.mkdir(parents=True, exist_ok=True)
        ran = subprocess.run(
            command,
            env=variables or self._variables,
            cwd=self.place,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise InstallFailed(f"{' '.join(command)[:200]}:\n{ran.stdout[-1500:]}{ran.stderr[-1500:]}")
        return ran.stdout


class InstallFailed(Exception):
    """Something could not be installed, or does not run once it is."""
