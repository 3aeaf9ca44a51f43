"""Frameworks' own tests of stores and sessions, re-run against ours where they lie.

python -m benchmarks framework-tests langgraph CHECKOUT        LangGraph's repository
python -m benchmarks framework-tests openai-agents CHECKOUT    the OpenAI Agents SDK's

Nothing of them is copied: pytest runs their files in an environment of its own, with a plugin (``stand_ins``) that puts
our class in the place of theirs. Tests that cannot pass are in ``data/framework_tests.yaml``, each with its reason.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from benchmarks.encoders.loading import default_cache
from benchmarks.harness import Figure
from benchmarks.peers.environments import interpreter, last_lines, quiet_environ
from truekeep.redteam.figures import CannotRun

ROOT = Path(__file__).parents[1]
SUITES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "benchmarks/data/framework_tests.yaml").read_text("utf-8"))
_SECONDS = 1_800


def measure(framework: str, checkout: str) -> list[Figure]:
    """The figures of a framework's tests; what failed without a reason is printed."""
    suite = SUITES[framework]
    python = interpreter(framework, [*suite["packages"], f"{ROOT}[{suite['extra']}]"], default_cache())
    found: list[Figure] = []
    for file, cannot in suite["files"].items():
        outcomes = _outcomes(python, Path(checkout).resolve(), file, suite["stand_in"])
        found += figures(file, outcomes, cannot)
    return found


def figures(file: str, outcomes: Mapping[str, bool], cannot: Mapping[str, str]) -> list[Figure]:
    """How many tests of a file passed, failed for a known reason, and failed for none."""
    failed = {name for name, passed in outcomes.items() if not passed}
    known = {name for name in failed if _bare(name) in cannot}
    for name in sorted(failed):
        print(f"{name}: {cannot.get(_bare(name), 'FAILED')}", file=sys.stderr)
    return [
        Figure(f"{file}: passed", len(outcomes) - len(failed), f"of {len(outcomes)}", least=1),
        Figure(f"{file}: cannot, for a named reason", len(known), f"of {len(outcomes)}"),
        Figure(f"{file}: failed", len(failed - known), f"of {len(outcomes)}", bound=0),
    ]


def _bare(name: str) -> str:
    return name.split("[", 1)[0]


def _outcomes(python: Path, checkout: Path, file: str, stand_in: str) -> dict[str, bool]:
    """Each test of a file, and whether it passed."""
    folder, _, rest = file.partition("/tests/") if "/tests/" in file else ("", "", file.removeprefix("tests/"))
    with tempfile.TemporaryDirectory(prefix="truekeep-framework-tests-") as home:
        report = Path(home) / "report.xml"
        options = ["-p", "no:cacheprovider", "-o", "addopts=", "-o", "asyncio_mode=auto", "--import-mode=importlib"]
        plugin = ["-p", "benchmarks.stand_ins", "--stand-in", stand_in, f"--junitxml={report}"]
        command = [str(python), "-m", "pytest", "-q", f"tests/{rest}", *options, *plugin]
        paths = {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}:{checkout / folder}", "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(
            command, cwd=checkout / folder, env=quiet_environ(Path(home)) | paths, capture_output=True, text=True,
            check=False, timeout=_SECONDS,
        )  # fmt: skip
        if not report.is_file():
            raise CannotRun(f"{file} could not be run: {last_lines(ran.stdout + ran.stderr)}")
        cases = ElementTree.parse(report).getroot().iter("testcase")  # noqa: S314 - written by the pytest we started
        return {str(case.get("name")): not any(one.tag in ("failure", "error") for one in case) for case in cases}
