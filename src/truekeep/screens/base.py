"""The one signature of all screens: they are given what is to be screened and report what they saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from truekeep.text import View, views
from truekeep.types import Finding, Standing

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Screened:
    """A candidate as the screens see it: every text field raw, and every reading of it on demand."""

    fields: Mapping[str, str]
    standing: Standing = Standing.HEARSAY
    vector: Sequence[float] | None = None
    _views: dict[str, tuple[View, ...]] = field(default_factory=dict, repr=False, compare=False)
    _shared: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def views(self, name: str) -> tuple[View, ...]:
        """The readings of one field, computed once for all screens; the raw text comes first."""
        found = self._views.get(name)
        if found is None:
            found = self._views[name] = views(self.fields[name])
        return found

    def once(self, key: str, compute: Callable[[], _T]) -> _T:
        """What several screens need, computed by the first that asks."""
        if key not in self._shared:
            self._shared[key] = compute()
        found: _T = self._shared[key]
        return found


Screen = Callable[[Screened], list[Finding]]
