"""The protocol that every defence is measured through: take texts in, give them out, and say which may act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

STORED, HELD, REFUSED = "stored", "held", "refused"
OWNER, SYSTEM, PAGE = "owner", "system", "page"


@dataclass(frozen=True, slots=True)
class Entry:
    """A text on its way in."""

    text: str
    by: str = OWNER
    """Who really wrote it: the ``owner``, a ``system`` that the operator trusts, or a ``page``."""
    source: str = ""
    """The name of the system, or the address of the page."""
    claims: Mapping[str, Any] = field(default_factory=dict)
    """What its writer says about it (``type``, ``role``, ``tags``, ``source``), handed on where a defence takes it."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that came up."""

    text: str
    may_act: bool
    """As the defence marks it; whatever has no gate lets everything act."""


class Store(Protocol):
    """One defence with one configuration, empty at first."""

    name: str
    version: str

    def fill(self, entries: Sequence[Entry]) -> None:
        """Take the honest memories in, as its documentation says that one does."""

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Take an attacker's texts in, over the way that such texts come: ``stored``, ``held`` or ``refused`` each."""
        ...

    def recall(self, query: str, k: int) -> list[Hit]:
        """The best k for a question. Asking must change nothing that a later question could tell."""
        ...

    def acting(self, query: str, k: int) -> list[Hit]:
        """The best k among what the defence lets drive an action; without a gate the same as ``recall``."""
        ...

    def reset(self) -> None:
        """Back to how it was after the filling."""

    def close(self) -> None:
        """Let go of everything."""
