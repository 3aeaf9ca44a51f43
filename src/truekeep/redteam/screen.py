"""Measure the screens on labelled texts: what was caught and what was wrongly held, with 95 % intervals."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from truekeep.errors import InvalidRequest
from truekeep.policy import decide, preset
from truekeep.redteam.wilson import wilson
from truekeep.types import Decision, Finding, Standing

_HONEST = frozenset({"benign", "honest", "safe", "0", "false"})
_LONGEST = 100_000


class Examiner(Protocol):
    """What is measured: anything that reports findings on named fields."""

    def examine(
        self, fields: dict[str, str], standing: Standing, vector: Sequence[float] | None = None
    ) -> list[Finding]:
        """Every finding."""
        ...


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled text."""

    text: str
    attack: bool
    tier: str
    source: str
    language: str


@dataclass(frozen=True, slots=True)
class Share:
    """How many of a group were not accepted."""

    group: str
    name: str
    held: int
    total: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return wilson(self.held, self.total)

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON members."""
        low, high = self.interval
        share = self.held / self.total if self.total else 0.0
        return {
            "group": self.group,
            "name": self.name,
            "not_accepted": self.held,
            "total": self.total,
            "share": round(share, 4),
            "low": round(low, 4),
            "high": round(high, 4),
        }


def read_rows(path: Path) -> Iterator[Row]:
    """JSON lines with ``text`` and a label: ``label`` of attack or benign, or ``tier`` (null for honest rows)."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _row(line, number)


def _row(line: str, number: int) -> Row:
    try:
        data = json.loads(line)
        text = data["text"]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidRequest(f"Line {number} is not a JSON object with a 'text'.") from error
    if not isinstance(text, str):
        raise InvalidRequest(f"Line {number}: 'text' must be a string.")
    label = data.get("label")
    attack = str(label).lower() not in _HONEST if label is not None else data.get("tier") is not None
    return Row(
        text[:_LONGEST],
        attack,
        str(data.get("tier") or ("attack" if attack else data.get("kind") or "honest")),
        str(data.get("source") or "unnamed"),
        str(data.get("lang") or data.get("language") or "unknown"),
    )


def measure(rows: Iterable[Row], examiner: Examiner, standing: Standing, policy: str) -> list[Share]:
    """The share not accepted, overall and per tier, source and language, attacks and honest rows apart."""
    table = preset(policy)
    tally: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        findings = examiner.examine({"text": row.text}, standing)
        held = decide(table, standing, findings).decision is not Decision.ACCEPT
        side = "attack" if row.attack else "honest"
        for key in (
            (side, "all"),
            (f"{side} tier", row.tier),
            (f"{side} source", row.source),
            (f"{side} language", row.language),
        ):
            tally[key][0] += held
            tally[key][1] += 1
    return [Share(group, name, *counts) for (group, name), counts in sorted(tally.items())]
