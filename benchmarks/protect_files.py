"""How the rules for instruction files fare: alarms on honest files, and plants that are found in them.

python -m benchmarks protect-files DATA [FOLDER …]

DATA is a folder with ``dev_benign.jsonl`` and ``dev_attack.jsonl``; a FOLDER has honest instruction files, any number
of them. Everything is split in two by hash, and only the half that nobody looked at while the rules were written is
measured. Rows of honest rules are lines, so thirty of them make a file.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import yaml

from benchmarks.harness import Figure
from truekeep.config import Paths
from truekeep.protect.files_report import lines_of
from truekeep.protect.files_scan import InstructionScanner
from truekeep.protect.files_walk import InstructionFile

PLANTS = Path(__file__).parent / "data" / "protect_plants.yaml"
LINES = 30
HONEST = {"cursorrules": "coding rules", "owasp_cheatsheets": "security advice", "tldr": "command examples"}
HOSTILE = ("agentdojo", "asb_injection", "garak_latent_snippet", "agentpoison", "asb_memory_poison")


def measure(data: Path, *folders: Path) -> list[Figure]:
    with tempfile.TemporaryDirectory() as home:
        scanner = InstructionScanner(Paths.resolve(home))
        scanner.wait()
        honest = _rows(data / "dev_benign.jsonl", HONEST)
        files = {name: _composed(honest[source]) for source, name in HONEST.items()}
        files |= {f"files of {folder.name}": _read(folder) for folder in folders}
        figures = [figure for name, texts in files.items() for figure in _alarms(scanner, name, texts)]
        figures += _plants(scanner, files["coding rules"])
        hostile = _rows(data / "dev_attack.jsonl", HOSTILE)
        for source in HOSTILE:
            figures.append(_caught(scanner, f"rows of {source}", hostile[source], files["coding rules"]))
        return figures


def held_out(key: str) -> bool:
    """Whether something is in the half that judges."""
    return int(sha256(key.encode("utf-8", "replace")).hexdigest(), 16) % 2 == 1


def _rows(path: Path, sources: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {source: [] for source in sources}
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["source"] in found and held_out(row["id"]):
                found[row["source"]].append(row["text"])
    return found


def _composed(rows: Sequence[str]) -> list[str]:
    ordered = sorted(rows, key=lambda row: sha256(row.encode()).hexdigest())
    parts = [ordered[start : start + LINES] for start in range(0, len(ordered), LINES)]
    return ["# Rules\n\n" + "\n".join(f"- {row}" for row in part) + "\n" for part in parts]


def _read(folder: Path) -> list[str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and held_out(path.name))
    return [path.read_text("utf-8", "replace") for path in paths]


def _alarms(scanner: InstructionScanner, name: str, texts: Sequence[str]) -> list[Figure]:
    started = time.process_time()
    scans = [scanner.scanned(InstructionFile("CLAUDE.md", text.encode())).scan for text in texts]
    cost = 1000 * (time.process_time() - started) / max(1, len(texts))
    alarmed = sum(not scan.is_clean for scan in scans)
    lines = sum(text.count("\n") for text in texts)
    note = f"{alarmed} of {len(texts)} files ({lines:,} lines) with a finding"
    per_file = sum(len(scan.matches) for scan in scans) / max(1, len(texts))
    return [Figure(f"{name}: alarms per file", per_file, "", note=note), Figure(f"{name}: CPU per file", cost, "ms")]


def _plants(scanner: InstructionScanner, honest: Sequence[str]) -> list[Figure]:
    table: dict[str, list[str]] = yaml.safe_load(PLANTS.read_text("utf-8"))
    kept = {name: [plant for plant in plants if held_out(plant)] for name, plants in table.items()}
    figures = [_caught(scanner, f"plants: {name}", plants, honest) for name, plants in kept.items()]
    everything = [plant for plants in kept.values() for plant in plants]
    return [*figures, _caught(scanner, "plants: all", everything, honest)]


def _caught(scanner: InstructionScanner, name: str, plants: Sequence[str], honest: Sequence[str]) -> Figure:
    """The share of plants with a finding on one of their lines, each in the middle of an honest file."""
    caught = sum(_is_caught(scanner, plant, honest[number % len(honest)]) for number, plant in enumerate(plants))
    share = 100 * caught / max(1, len(plants))
    return Figure(f"{name}: caught", share, "%", note=f"{caught} of {len(plants)}")


def _is_caught(scanner: InstructionScanner, plant: str, honest: str) -> bool:
    lines = honest.split("\n")
    middle = len(lines) // 2
    text = "\n".join((*lines[:middle], f"- {plant}" if plant[0].isalpha() else plant, *lines[middle:]))
    item = scanner.scanned(InstructionFile("CLAUDE.md", text.encode("utf-8", "replace")))
    planted = range(middle + 1, middle + 2 + plant.count("\n"))
    return any(
        first in planted or last in planted for first, last in (lines_of(item, match) for match in item.scan.matches)
    )
