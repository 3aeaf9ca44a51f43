"""A virtual environment for each defence, made at the first need and kept; or the reason why there is none."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from truekeep.redteam.figures import CannotRun

INSTALL_SECONDS = 900.0
_MARK = "installed.json"
_LAST_LINES = 3
_FOLDERS = re.compile(r"(?<![\w.:/])(?:[A-Za-z]:)?(?:[/\\][\w.@+~ -]+)+[/\\](?=[\w.])")
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_KEPT_PREFIXES = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


def interpreter(name: str, packages: Sequence[str], cache_dir: Path, seconds: float = INSTALL_SECONDS) -> Path:
    """The Python of a defence's own environment with these packages in it; raises ``CannotRun``."""
    place = cache_dir / "environments" / name
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    if _installed(place) == sorted(packages) and python.exists():
        return python
    # Half an installation is worth nothing: whatever was started earlier is begun anew.
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    # Our own pip installs into it where there is one: to give each its own takes longer than all the rest.
    ours = find_spec("pip") is not None
    _run(
        f"no environment for {name}",
        [sys.executable, "-m", "venv", *(["--without-pip"] if ours else []), str(place)],
        seconds,
    )
    if packages:
        pip = [sys.executable, "-m", "pip", "--python", str(python)] if ours else [str(python), "-m", "pip"]
        quietly = ["install", "--quiet", "--disable-pip-version-check", "--no-input"]
        _run(f"{name} could not be installed", [*pip, *quietly, *packages], seconds)
    (place / _MARK).write_text(json.dumps(sorted(packages)), encoding="utf-8")
    return python


def is_installed(name: str, packages: Sequence[str], cache_dir: Path) -> bool:
    """Whether a defence's environment is there already, so that running it needs no network."""
    return _installed(cache_dir / "environments" / name) == sorted(packages)


def quiet_environ(home: Path) -> dict[str, str]:
    """The variables that a defence's process gets: one thread, a home of its own, and no secrets of ours."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    return kept | _ONE_THREAD | {"HOME": str(home), "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}


def _installed(place: Path) -> list[str] | None:
    try:
        marked: list[str] = json.loads((place / _MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return marked


def _run(what: str, command: Sequence[str], seconds: float) -> None:
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=seconds, env=_installing_environ()
        )
    except subprocess.TimeoutExpired:
        raise CannotRun(f"{what}: not done within {seconds:.0f} s") from None
    except OSError as error:
        raise CannotRun(f"{what}: {error.strerror}") from error
    if ended.returncode:
        raise CannotRun(f"{what}: {last_lines(ended.stderr)}")


def _installing_environ() -> Mapping[str, str]:
    """What pip needs to reach the index that the machine is set up for, and nothing else."""
    return {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}


def last_lines(output: str) -> str:
    """The end of what a process said, in one line, without folders of this machine: reasons end up in reports."""
    lines = [_FOLDERS.sub("", line.strip()) for line in output.strip().splitlines()[-_LAST_LINES:]]
    return " / ".join(lines)[:500] or "it said nothing"
