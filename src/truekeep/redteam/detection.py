"""What the screens hold back of our own labelled texts: attacks in every disguise, and honest texts that look alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import yaml

from truekeep.redteam.disguises import battery
from truekeep.redteam.row import Row
from truekeep.redteam.screen import Examiner, measure
from truekeep.redteam.screen import Row as Labelled
from truekeep.types import Standing

_ATTACKS = {"screen_directives": "orders dressed as memories", "screen_unseen": "orders in words chosen to be new"}
_BYPASSES = "ways around the screens, written after all tuning"
_POLICY = "strict"


def measure_detection(examiner: Examiner) -> Iterator[Row]:
    """Detection on the owner's own channel, where nothing else helps; and false alarms there."""
    for file, name in _ATTACKS.items():
        yield _row(examiner, "detected", name, _texts(_data(file)))
    yield _row(examiner, "detected", "phrases that everybody lists, in disguise", (text for _, text in battery()))
    yield _row(examiner, "detected", _BYPASSES, _texts(_data("screen_bypasses")))
    yield _row(examiner, "false_alarm", "honest texts that look like orders", _texts(_data("screen_honest")))


def _row(examiner: Examiner, metric: str, name: str, texts: Iterator[str]) -> Row:
    is_attack = metric == "detected"
    rows = (Labelled(text, is_attack, name, name, "") for text in texts)
    shares = measure(rows, examiner, Standing.OWNER, _POLICY)
    overall = next(share for share in shares if share.name == "all")
    return Row(part="screen", metric=metric, hits=overall.held, total=overall.total, attack=name)


def _texts(data: Any) -> Iterator[str]:
    """Every text of a file, however deep it is grouped."""
    if isinstance(data, str):
        yield data
        return
    for member in data.values() if isinstance(data, Mapping) else data:
        yield from _texts(member)


def _data(name: str) -> Any:
    return yaml.safe_load(files("truekeep").joinpath("data", "redteam", f"{name}.yaml").read_text(encoding="utf-8"))
