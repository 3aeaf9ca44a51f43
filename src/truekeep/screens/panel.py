"""The panel: all screens in one call. A screen that fails is itself a finding; nothing fails open."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from truekeep.screens.base import Screen, Screened
from truekeep.types import Finding, Severity, Standing, Threat

_log = logging.getLogger("truekeep.screens")


class Screening(Protocol):
    """What the gate and the reader need of the screens, whether or not these can change while a keep is open."""

    def current(self) -> Panel:
        """The screens as they are in force at this moment."""

    @property
    def digest(self) -> str:
        """Changes whenever any screen could answer differently."""

    def examine(
        self, fields: Mapping[str, str], standing: Standing, vector: Sequence[float] | None = None
    ) -> list[Finding]:
        """Everything any screen sees in these fields."""


class Panel:
    """The screens in force. ``digest`` changes whenever any of them could answer differently."""

    def __init__(self, screens: Sequence[Screen] | Callable[[], Sequence[Screen]], digest: str) -> None:
        """``screens`` may be a function that makes them when something has to be examined for the first time."""
        self._make = screens if callable(screens) else lambda: screens
        self.digest = digest

    @cached_property
    def screens(self) -> tuple[Screen, ...]:
        """The screens themselves."""
        return tuple(self._make())

    def current(self) -> Panel:
        """This panel: its screens never change."""
        return self

    def examine(
        self, fields: Mapping[str, str], standing: Standing, vector: Sequence[float] | None = None
    ) -> list[Finding]:
        """Everything any screen sees in these fields."""
        screened = Screened(fields, standing, vector)
        return [finding for screen in self.screens for finding in _run(screen, screened)]


def _run(screen: Screen, screened: Screened) -> list[Finding]:
    try:
        return screen(screened)
    except Exception as error:
        name = getattr(screen, "__name__", type(screen).__name__)
        _log.warning("screen failed", extra={"screen": name, "error": type(error).__name__})
        return [
            Finding(
                rule_id="screen_failed",
                threat=Threat.SCREEN_FAILURE,
                severity=Severity.HIGH,
                screen=name,
                reason="A screen could not finish; the text is held until a person has looked at it.",
            )
        ]
