"""The screens' own data sets, for every test that measures them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import yaml

from truekeep.screens.panel import Screened
from truekeep.screens.standard import DEFAULT_SCREENS
from truekeep.types import Finding, Standing, Threat

HELD = frozenset(Threat) - {Threat.PREFERENCE, Threat.OTHER}


def rows(name: str) -> Iterator[tuple[str, str, str]]:
    """Language, group and text of every row of a data set."""
    source = files("truekeep").joinpath("data", "redteam", f"screen_{name}.yaml").read_text(encoding="utf-8")
    for language, groups in yaml.safe_load(source).items():
        for group, texts in groups.items():
            for text in texts:
                yield language, group, text


def held(text: str) -> list[Finding]:
    """What would keep a text from being accepted on the owner's channel."""
    screened = Screened({"text": text}, Standing.OWNER)
    return [finding for screen in DEFAULT_SCREENS for finding in screen(screened) if finding.threat in HELD]
