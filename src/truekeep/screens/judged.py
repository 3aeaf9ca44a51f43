"""The screens of the way in with a model's judgement on top. Reading needs no model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from truekeep.config import Settings
from truekeep.screens.base import Screened
from truekeep.screens.panel import Panel, Screening
from truekeep.types import Finding, Standing

if TYPE_CHECKING:
    from truekeep.screens.model_judge import ModelJudge


class Judged:
    """A panel whose findings a model can add to, and never take from."""

    def __init__(self, panel: Screening, judge: ModelJudge) -> None:
        self._panel = panel
        self._judge = judge

    @property
    def digest(self) -> str:
        """The digest of the screens; a model's answers have none."""
        return self._panel.digest

    def current(self) -> Panel:
        """The screens without the model."""
        return self._panel.current()

    def examine(
        self, fields: Mapping[str, str], standing: Standing, vector: Sequence[float] | None = None
    ) -> list[Finding]:
        """Everything any screen sees in these fields, and what the model makes of them."""
        return [*self._panel.examine(fields, standing, vector), *self._judge(Screened(fields, standing))]


def with_judge(panel: Screening, settings: Settings) -> Screening:
    """The panel of the gate: with the operator's model, where one is set."""
    if not settings.judge_url:
        return panel
    from truekeep.screens.model_judge import Endpoint, ModelJudge  # noqa: PLC0415 - few keeps have one

    key = os.environ.get(settings.judge_key_env, "") if settings.judge_key_env else ""
    return Judged(panel, ModelJudge(Endpoint(settings.judge_url, settings.judge_model, key, settings.judge_seconds)))
