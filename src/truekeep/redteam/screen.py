"""Measure the screens: what they hold back of attacks and of honest texts, labelled by a user or by us."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import yaml

from truekeep.errors import InvalidRequest
from truekeep.redteam.disguises import battery
from truekeep.redteam.figures import ResultRow, wilson
from truekeep.trust.policy import decide, preset
from truekeep.types import Decision, Finding, Standing

_ATTACKS = {"screen_directives": "orders dressed as memories", "screen_unseen": "orders in words chosen to be new"}
_BYPASSES = "ways around the screens, written after all tuning"
_POLICY = "strict"
_HONEST = frozenset({"benign", "honest", "safe", "0", "false"})
_LONGEST = 100_000  # longer rows of public sets are cut, as the table says


class Examiner(Protocol):
    """What is measured: anything that reports findings on named fields."""

    def examine(self, fields: dict[str, str], standing: Standing) -> list[Finding]:
        """Every finding."""
        ...


@dataclass(frozen=True, slots=True)
class LabelledText:
    """One labelled text."""

    text: str
    attack: bool
    tier: str
    source: str
    language: str


@dataclass(frozen=True, slots=True)
class Share:
    """How many of a group were rejected, which loses them, and how many were held for somebody to look at."""

    group: str
    name: str
    rejected: int
    held: int
    total: int

    @property
    def not_accepted(self) -> int:
        """Rejected or held: caught among attacks, a false alarm among honest texts."""
        return self.rejected + self.held

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of those not accepted."""
        return wilson(self.not_accepted, self.total)

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON members."""
        low, high = self.interval
        share = self.not_accepted / self.total if self.total else 0.0
        return {
            "group": self.group,
            "name": self.name,
            "rejected": self.rejected,
            "held": self.held,
            "not_accepted": self.not_accepted,
            "total": self.total,
            "share": round(share, 4),
            "low": round(low, 4),
            "high": round(high, 4),
        }


def read_rows(path: Path) -> Iterator[LabelledText]:
    """JSON lines with ``text`` and a label: ``label`` of attack or benign, or ``tier`` (null for honest rows)."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _row(line, number)


def _row(line: str, number: int) -> LabelledText:
    try:
        data = json.loads(line)
        text = data["text"]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidRequest(f"Line {number} is not a JSON object with a 'text'.") from error
    if not isinstance(text, str):
        raise InvalidRequest(f"Line {number}: 'text' must be a string.")
    label = data.get("label")
    attack = str(label).lower() not in _HONEST if label is not None else data.get("tier") is not None
    return LabelledText(
        text[:_LONGEST],
        attack,
        str(data.get("tier") or ("attack" if attack else data.get("kind") or "honest")),
        str(data.get("source") or "unnamed"),
        str(data.get("lang") or data.get("language") or "unknown"),
    )


def measure(rows: Iterable[LabelledText], examiner: Examiner, standing: Standing, policy: str) -> list[Share]:
    """How many were rejected and held, overall and per tier, source and language, attacks and honest rows apart."""
    table = preset(policy)
    tally: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        findings = examiner.examine({"text": row.text}, standing)
        decision = decide(table, standing, findings).decision
        side = "attack" if row.attack else "honest"
        for key in (
            (side, "all"),
            (f"{side} tier", row.tier),
            (f"{side} source", row.source),
            (f"{side} language", row.language),
        ):
            tally[key][0] += decision is Decision.REJECT
            tally[key][1] += decision is Decision.QUARANTINE
            tally[key][2] += 1
    return [Share(group, name, *counts) for (group, name), counts in sorted(tally.items())]


def measure_detection(examiner: Examiner) -> Iterator[ResultRow]:
    """Detection on the owner's own channel, where nothing else helps; and false alarms there."""
    for file, name in _ATTACKS.items():
        yield _counted(examiner, "detected", name, _texts(_data(file)))
    yield _counted(examiner, "detected", "phrases that everybody lists, in disguise", (text for _, text in battery()))
    yield _counted(examiner, "detected", _BYPASSES, _texts(_data("screen_bypasses")))
    yield _counted(examiner, "false_alarm", "honest texts that look like orders", _texts(_data("screen_honest")))


def _counted(examiner: Examiner, metric: str, name: str, texts: Iterator[str]) -> ResultRow:
    is_attack = metric == "detected"
    rows = (LabelledText(text, is_attack, name, name, "") for text in texts)
    shares = measure(rows, examiner, Standing.OWNER, _POLICY)
    overall = next(share for share in shares if share.name == "all")
    apart = {"rejected": overall.rejected, "held": overall.held}
    hits, total = overall.not_accepted, overall.total
    return ResultRow(part="screen", metric=metric, hits=hits, total=total, attack=name, detail=apart)


def _texts(data: Any) -> Iterator[str]:
    """Every text of a file, however deep it is grouped."""
    if isinstance(data, str):
        yield data
        return
    for member in data.values() if isinstance(data, Mapping) else data:
        yield from _texts(member)


def _data(name: str) -> Any:
    return yaml.safe_load(files("truekeep").joinpath("data", "redteam", f"{name}.yaml").read_text(encoding="utf-8"))
