"""The panel: all screens in one call. A screen that fails is itself a finding; nothing fails open.

Screens have one signature: they are given what is to be screened and report what they saw.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

from truekeep.screens.framing import weighed
from truekeep.text.analysis import Analysis, Readings, analysed
from truekeep.text.view import GIVE_WAY
from truekeep.types import Finding, Severity, Standing, Threat

_T = TypeVar("_T")
_log = logging.getLogger("truekeep.screens")


@dataclass(frozen=True, slots=True)
class Screened:
    """A candidate as the screens see it: every text field raw, and its analysis on demand."""

    fields: Mapping[str, str]
    standing: Standing = Standing.HEARSAY
    _read: dict[str, Analysis] = field(default_factory=dict, repr=False, compare=False)
    _views: dict[str, Readings] = field(default_factory=dict, repr=False, compare=False)
    _shared: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def read(self, name: str) -> Analysis:
        """The analysis of one field, the same for all screens."""
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = analysed(self.fields[name])
        return found

    def views(self, name: str) -> Readings:
        """The readings of one field; the raw text comes first."""
        found = self._views.get(name)
        if found is None:
            found = self._views[name] = self.read(name).views
        return found

    def once(self, key: str, compute: Callable[[], _T]) -> _T:
        """What several screens need, computed by the first that asks."""
        if key not in self._shared:
            self._shared[key] = compute()
        found: _T = self._shared[key]
        return found


Screen = Callable[[Screened], list[Finding]]


class Screening(Protocol):
    """What the gate and the reader need of the screens, whether or not these can change while a keep is open."""

    def current(self) -> Panel:
        """The screens as they are in force at this moment."""

    @property
    def digest(self) -> str:
        """Changes whenever any screen could answer differently."""

    def examine(self, fields: Mapping[str, str], standing: Standing) -> list[Finding]:
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

    def examine(self, fields: Mapping[str, str], standing: Standing) -> list[Finding]:
        """Everything any screen sees in these fields."""
        screened = Screened(fields, standing)
        found: list[Finding] = []
        give_way = GIVE_WAY.get()
        for screen in self.screens:
            give_way()
            try:
                found += screen(screened)
            except Exception as error:
                found.append(_failed(screen, error))
        return weighed(fields, found) if found else found


def _failed(screen: Screen, error: Exception) -> Finding:
    name = getattr(screen, "__name__", type(screen).__name__)
    _log.warning("screen failed", extra={"screen": name, "error": type(error).__name__})
    return Finding(
        rule_id="screen_failed",
        threat=Threat.SCREEN_FAILURE,
        severity=Severity.HIGH,
        screen=name,
        reason="A screen could not finish; the text is held until a person has looked at it.",
    )
