"""The wheel and the source distribution: how they are built, and what has to be in them."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXPECTED: dict[str, Any] = tomllib.loads((Path(__file__).parent / "expected.toml").read_text("utf-8"))
MOMENT = "1700000000"
"""The time that every file of a build carries, unless the builder names another."""


@dataclass(frozen=True, slots=True)
class Built:
    """Both distributions of one version."""

    wheel: Path
    sdist: Path


def build(into: Path, source: Path = ROOT) -> Built:
    """Build both from the tree, the wheel from the source distribution, as an index would."""
    _run("build", "--no-isolation", "--outdir", str(into), str(source))
    return Built(*(_only(into, ending) for ending in ("*.whl", "*.tar.gz")))


def wheel_of_tree(into: Path, source: Path = ROOT) -> Path:
    """Build the wheel alone, from the tree."""
    _run("build", "--no-isolation", "--wheel", "--outdir", str(into), str(source))
    return _only(into, "*.whl")


def check_metadata(built: Built) -> None:
    """What an index refuses or cannot show."""
    _run("twine", "check", "--strict", str(built.wheel), str(built.sdist))


def _run(module: str, *arguments: str) -> None:
    variables = {"SOURCE_DATE_EPOCH": MOMENT, **os.environ}
    ran = subprocess.run(
        [sys.executable, "-m", module, *arguments], env=variables, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(f"{module} failed:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")


def _only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def faults(built: Built, source: Path = ROOT) -> list[str]:
    """Everything that is missing from the distributions or should not be in them."""
    return [*_of_wheel(built.wheel, source), *_of_sdist(built.sdist)]


def _of_wheel(wheel: Path, source: Path) -> Iterator[str]:
    expected = EXPECTED["wheel"]
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    version = wheel.name.split("-")[1]
    info, data = f"truekeep-{version}.dist-info/", f"truekeep-{version}.data/data/"
    wanted = {
        f"truekeep/{path.relative_to(source / 'src' / 'truekeep').as_posix()}"
        for path in (source / "src" / "truekeep").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    wanted |= {data + name for name in expected["beside"]} | {f"{info}licenses/{one}" for one in expected["licences"]}
    wanted |= {info + name for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")} | set(expected["needed"])
    yield from (f"the wheel lacks {name}" for name in sorted(wanted - set(names)))
    yield from (f"the wheel holds {name}" for name in sorted(set(names) - wanted))
    inside = [name for name in names if name.startswith("truekeep/")]
    yield from (f"{name} is of no known kind" for name in inside if not name.endswith(tuple(expected["endings"])))
    if wheel.stat().st_size > expected["most_bytes"]:
        yield f"the wheel has {wheel.stat().st_size} bytes"


def _of_sdist(sdist: Path) -> Iterator[str]:
    expected = EXPECTED["sdist"]
    with tarfile.open(sdist) as packed:
        members = packed.getmembers()
    parts = {tuple(member.name.split("/")[1:]) for member in members if member.isfile()}
    yield from (
        f"the source distribution lacks {one}"
        for one in expected["folders"]
        if not any(one in part[:-1] for part in parts)
    )
    alone = {part[0] for part in parts if len(part) == 1}
    yield from (f"the source distribution lacks {one}" for one in sorted(set(expected["files"]) - alone))
    known = {*expected["folders"], *expected["files"]}
    yield from (f"the source distribution holds {'/'.join(part)}" for part in sorted(parts) if part[0] not in known)
    yield from (f"{member.name} is a link" for member in members if member.issym() or member.islnk())
    if sdist.stat().st_size > expected["most_bytes"]:
        yield f"the source distribution has {sdist.stat().st_size} bytes"
