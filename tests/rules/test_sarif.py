"""The SARIF that scan and lint print is the SARIF that others read: checked against the published types."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from benchmarks.rules_fetch import workdir

from tests.rules.sample import load_text, one, simple
from truekeep.rules import Engine, Event, ScanLimits
from truekeep.rules.sarif import Scanned, fault_log, scan_log

pytestmark = pytest.mark.slow


def _logs(folder: Path) -> list[dict[str, Any]]:
    engine = Engine([one(folder, simple("zebra"))], limits=ScanLimits(characters=50))
    texts = ["a zebra\nand a zebra", "x" * 60]
    scanned = [Scanned(f"dir/{n} é.txt", text, engine.scan(Event.memory_write(text))) for n, text in enumerate(texts)]
    faults = load_text(folder, "id: [").faults
    return [scan_log(scanned, "0.1.0"), scan_log([], "0.1.0"), fault_log(faults, "0.1.0")]


def test_a_log_names_its_tool_rules_and_places(tmp_path: Path) -> None:
    found, empty, faults = _logs(tmp_path)
    assert [result["ruleId"] for result in found["runs"][0]["results"]] == ["sample_rule", "scan_overrun"]
    assert empty["runs"][0]["results"] == []
    assert faults["runs"][0]["results"][0]["level"] == "error"
    for log in (found, empty, faults):
        rules = log["runs"][0]["tool"]["driver"]["rules"]
        assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in log["runs"][0]["results"])


def test_a_log_fits_the_published_types(tmp_path: Path) -> None:
    checker = _type_checker()
    for number, log in enumerate(_logs(tmp_path)):
        file = checker.parent / f"log{number}.ts"
        file.write_text(f'import type {{ Log }} from "sarif";\nexport const log: Log = {json.dumps(log)};\n', "utf-8")
        command = [
            str(checker / ".bin" / "tsc"),
            "--noEmit",
            "--strict",
            "--types",
            "sarif",
            "--skipLibCheck",
            file.name,
        ]
        done = subprocess.run(command, cwd=checker.parent, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stdout


def _type_checker() -> Path:
    """TypeScript and the types of SARIF 2.1.0, fetched by name."""
    folder = workdir() / "sarif"
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so the types of SARIF cannot be fetched")
    if not (folder / "node_modules" / "@types" / "sarif").is_dir():
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text("{}", encoding="utf-8")
        install = [npm, "install", "--silent", "typescript@5", "@types/sarif"]
        done = subprocess.run(install, cwd=folder, capture_output=True, timeout=100, check=False)
        if done.returncode:
            pytest.skip("npm could not fetch the types of SARIF")
    return folder / "node_modules"
