"""The results of a run in one file: under which conditions, all rows, and what could not be measured and why."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from truekeep import __version__
from truekeep.errors import InvalidRequest
from truekeep.redteam.row import Row

_FORMAT, _LARGEST = 1, 50_000_000


@dataclass
class Results:
    """What was measured so far. A part that is measured again takes the place of its older rows."""

    conditions: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """What could not be run, and why."""
    cpu: dict[str, float] = field(default_factory=dict)
    """Seconds of CPU by step."""

    @classmethod
    def begun(cls, profile: str, settings: Mapping[str, str]) -> Results:
        """Empty results of a run that begins now."""
        here = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
        moment = datetime.now(UTC).isoformat(timespec="minutes")
        return cls({"truekeep": __version__, "profile": profile, "at": moment, "machine": here, **settings})

    def put(self, step: str, rows: Iterable[Row], cpu: float) -> None:
        """Take in what a step measured, instead of what it had measured before."""
        self.rows = [row for row in self.rows if row.detail.get("step") != step]
        self.rows += [_stepped(row, step) for row in rows]
        self.cpu[step] = round(cpu, 1)
        self.left_out.pop(step, None)

    def leave_out(self, step: str, reason: str) -> None:
        """Say why a step could not be run."""
        self.left_out[step] = reason

    def chosen(self, **conditions: Any) -> Iterator[Row]:
        """The rows for which all of these hold; a tuple allows any of its members."""
        for row in self.rows:
            if all(_fits(getattr(row, name), wanted) for name, wanted in conditions.items()):
                yield row

    def total(self, **conditions: Any) -> tuple[int, int]:
        """Hits and totals over all rows for which these hold."""
        rows = list(self.chosen(**conditions))
        return sum(row.hits for row in rows), sum(row.total for row in rows)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON members."""
        return {
            "format": _FORMAT,
            "conditions": self.conditions,
            "left_out": self.left_out,
            "cpu_seconds": self.cpu,
            "rows": [row.as_dict() for row in self.rows],
        }

    def save(self, path: Path) -> None:
        """Write everything as JSON, one row to a line."""
        members = self.as_dict()
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in members.pop("rows"))
        head = json.dumps(members, indent=1, ensure_ascii=False).removesuffix("\n}")
        draft = path.with_suffix(".draft")
        draft.write_text(f'{head},\n "rows": [\n{rows}\n]}}\n', encoding="utf-8")
        draft.replace(path)

    @classmethod
    def load(cls, path: Path) -> Results:
        """What was saved there."""
        try:
            if path.stat().st_size > _LARGEST:
                raise InvalidRequest("The file is too large for the results of a run.")
            members = json.loads(path.read_text(encoding="utf-8"))
            rows = [Row.from_dict(row) for row in members["rows"]]
            return cls(members["conditions"], rows, members["left_out"], members["cpu_seconds"])
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise InvalidRequest("That file does not hold the results of a red-team run.") from fault


def merged(parts: Sequence[Results]) -> Results:
    """One result of parts that were run apart; where a step is in several, the last one counts."""
    whole = Results(dict(parts[0].conditions), list(parts[0].rows), dict(parts[0].left_out), dict(parts[0].cpu))
    for part in parts[1:]:
        for step, cpu in part.cpu.items():
            whole.put(step, [row for row in part.rows if row.detail.get("step") == step], cpu)
        whole.left_out |= {step: why for step, why in part.left_out.items() if step not in whole.cpu}
    return whole


def _stepped(row: Row, step: str) -> Row:
    return Row.from_dict({**row.as_dict(), "detail": {**row.detail, "step": step}})


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple | list | frozenset | set):
        return value in wanted
    return bool(value == wanted)
