"""An attack as data: what honestly happened, what the attacker does, what must hold, and what must not come of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truekeep.redteam.influence.stage import Step

_BETWEEN = re.compile(r"[\s\-\u2010-\u2015.,]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A text that acts before the attack, and has to go on doing so; and the question that it answers."""

    text: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call that the agent makes at the end, in a session of its own unless it names one."""

    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""
    """What the owner says in the session beforehand."""
    session: str = ""
    member: str = ""
    """In a shared keep, for whom the session acts."""

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One way to make a planted value act, or a true one vanish."""

    name: str
    about: str
    attack: tuple[Step, ...]
    setup: tuple[Step, ...] = ()
    truth: tuple[Truth, ...] = ()
    later: tuple[Truth, ...] = ()
    """What is only said during the attack, and has to act in the end."""
    poison: tuple[str, ...] = ()
    """Phrases that no memory which may act contains in the end."""
    query: tuple[str, ...] = ()
    attempts: tuple[Call, ...] = ()
    """Calls that must not go through."""
    honest: tuple[Call, ...] = ()
    """Calls that go through before the attack, and have to afterwards."""
    reader: str = ""
    """In a shared keep, the member for whom everything is looked at."""
    group: str = ""
    """The file it stands in."""

    @property
    def questions(self) -> tuple[str, ...]:
        """What is asked of the keep in the end."""
        return tuple(dict.fromkeys((*self.query, *(truth.query for truth in (*self.truth, *self.later)))))

    def is_poison(self, text: str) -> bool:
        """Whether a text has one of the planted phrases in it, however it is spaced, hyphenated or laced."""
        plain = _plain(text)
        return any(_plain(phrase) in plain for phrase in self.poison)


def _plain(text: str) -> str:
    seen = "".join(letter for letter in unicodedata.normalize("NFKC", text) if unicodedata.category(letter) != "Cf")
    return _BETWEEN.sub("", seen.casefold())
