"""The parts of an installation as CycloneDX 1.5: each distribution with its version, licence, source and needs.

Standard library only, so that the Python of any environment can be asked about what is installed beside it:
``PATH/bin/python scripts/packaging/sbom.py > sbom.json``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from typing import Any

_NAME = re.compile(r"\s*([A-Za-z0-9._-]+)")
_PART = "truekeep"


def sbom() -> dict[str, Any]:
    """The bill of what truekeep runs with here; nothing in it changes between two looks at the same installation."""
    installed = {_plain(one.name): one for one in distributions()}
    needs = {name: sorted(_needs(one, installed)) for name, one in installed.items()}
    reached = sorted(_reached(_PART, needs))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component(installed[_PART], "application")},
        "components": [_component(installed[name], "library") for name in reached if name != _PART],
        "dependencies": [
            {"ref": _address(installed[name]), "dependsOn": [_address(installed[one]) for one in needs[name]]}
            for name in reached
        ],
    }


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _needs(one: Distribution, installed: dict[str, Distribution]) -> Iterator[str]:
    """What it asks for and is installed; what a marker or an extra leaves out is not."""
    asked = {_plain(match[1]) for line in one.requires or () if (match := _NAME.match(line))}
    yield from asked & installed.keys() - {_plain(one.name)}


def _reached(start: str, needs: dict[str, list[str]]) -> set[str]:
    reached, waiting = set[str](), [start]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += needs[name]
    return reached


def _address(one: Distribution) -> str:
    return f"pkg:pypi/{_plain(one.name)}@{one.version}"


def _component(one: Distribution, kind: str) -> dict[str, Any]:
    told = one.metadata
    summary, licence = told.get("Summary"), told.get("License-Expression") or _classified(one) or told.get("License")
    return {
        "type": kind,
        "bom-ref": _address(one),
        "name": one.name,
        "version": one.version,
        "purl": _address(one),
        **({"description": summary} if summary else {}),
        **({"licenses": [{"license": {"name": licence.splitlines()[0][:200]}}]} if licence else {}),
    }


def _classified(one: Distribution) -> str:
    said = [line for line in one.metadata.get_all("Classifier") or () if line.startswith("License ::")]
    return said[0].rpartition(" :: ")[2] if said else ""


if __name__ == "__main__":
    json.dump(sbom(), sys.stdout, indent=2)
    sys.stdout.write("\n")
