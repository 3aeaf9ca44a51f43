"""``python -m scripts.packaging [FOLDER]``: build, check and list what is given to others.

Writes the wheel, the source distribution and ``sbom.json`` to FOLDER (``dist``), once everything held: metadata,
contents, the same bytes twice, an installation on every Python that is present, and each extra by itself.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from scripts.packaging.distributions import EXPECTED, ROOT, build, check_metadata, faults, wheel_of_tree
from scripts.packaging.environments import (
    README_EXAMPLE,
    Environment,
    InstallFailed,
    declared,
    interpreter,
)


def main(folder: Path) -> int:
    """The exit code: how many things do not hold."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        built = build(work / "dist")
        check_metadata(built)
        wrong += faults(built)
        if wheel_of_tree(work / "again").read_bytes() != built.wheel.read_bytes():
            wrong.append("two builds differ")
        _say("built, checked and built again", wrong)
        for version in declared():
            wrong += _on(version, work / f"python{version}", built.wheel)
        for extra, modules in EXPECTED["extras"].items():
            wrong += _with(extra, modules, work / f"extra-{extra}", built.wheel)
        sbom = work / "python-sbom"
        bill = ""
        if not wrong:
            bill = _alone(sbom, built.wheel).run("python", str(Path(__file__).with_name("sbom.py")))
            folder.mkdir(exist_ok=True)
            (folder / "sbom.json").write_text(bill, "utf-8")
            for one in (built.wheel, built.sdist):
                shutil.copy2(one, folder / one.name)
    _say(f"{folder}: wheel, source distribution, sbom.json" if not wrong else "nothing was written", wrong)
    return len(wrong)


def _alone(place: Path, wheel: Path) -> Environment:
    environment = Environment(place)
    environment.install(str(wheel))
    return environment


def _on(version: str, place: Path, wheel: Path) -> list[str]:
    python = interpreter(version)
    if python is None:
        _say(f"Python {version}: skipped, there is none on this machine", [])
        return []
    try:
        environment = Environment(place, python)
        environment.install(str(wheel))
        environment.run("python", "-I", "-c", README_EXAMPLE, str(ROOT / "README.md"))
    except InstallFailed as fault:
        return _say(f"Python {version}", [str(fault)])
    return _say(f"Python {version}: installed, and the README's examples run", [])


def _with(extra: str, modules: list[str], place: Path, wheel: Path) -> list[str]:
    try:
        environment = Environment(place)
        environment.install(f"{wheel}[{extra}]")
        environment.imports(modules)
    except InstallFailed as fault:
        return _say(f"extra {extra}", [str(fault)])
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return _say(f"extra {extra}: {', '.join(modules)}", [])


def _say(line: str, wrong: list[str]) -> list[str]:
    sys.stdout.write(f"{'FAILED ' if wrong else ''}{line}\n" + "".join(f"  {one}\n" for one in wrong))
    sys.stdout.flush()
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))))
