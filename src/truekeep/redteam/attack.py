"""An attack as data: what honestly happened, what the attacker does, what must hold and what must not come of it.

A scene is an attack whose steps are yet to be found by a search, with the words that it can be put in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

from truekeep.redteam.disguises import DISGUISES

if TYPE_CHECKING:
    from truekeep.redteam.stage import Step

SYSTEM = "helpdesk"
"""The enrolled system whose fields an attacker can fill in. It is no witness of any truth."""
_BETWEEN = re.compile(r"[\s\-\u2010-\u2015.,]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A text that acts before the attack, and has to go on doing so; and the question that it answers."""

    text: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCall:
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
    attempts: tuple[AttackCall, ...] = ()
    """Calls that must not go through."""
    honest: tuple[AttackCall, ...] = ()
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


@dataclass(frozen=True, slots=True)
class Scene:
    """One situation to attack, with the words that belong to it."""

    attack: Attack
    """What honestly happened, what must hold and what must not come of it; its steps are what is looked for."""
    subject: str
    attribute: str
    value: str
    """The planted value."""
    true: str
    member: str = ""
    """In a shared keep, the member who attacks."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.attack.name

    @property
    def query(self) -> str:
        """What is asked about it in the end."""
        return self.attack.questions[-1]

    @property
    def owner(self) -> str:
        """The channel of the one who is attacked."""
        return f"member:{self.attack.reader}" if self.attack.reader else "user"

    def text(self, wording: str, spelling: str = "plain") -> str:
        """The lie, or the denial of the truth, in one of the wordings."""
        words = {"subject": self.subject, "attribute": self.attribute, "true": self.true, "query": self.query}
        return str(wordings()[wording]).format(value=DISGUISES[spelling](self.value), **words)

    def pasted(self, style: str, text: str) -> str:
        """A text as the owner hands it on."""
        host = f"{self.subject.split()[0].casefold()}.example"
        return str(search_data()["pastes"][style]).format(text=text, host=host)

    def page(self, text: str) -> str:
        """A text as it stands on a page."""
        return str(search_data()["page"]).format(text=text)


def wordings() -> Mapping[str, str]:
    """The ways to say it, by name."""
    found: Mapping[str, str] = search_data()["wordings"]
    return found


def spellings() -> tuple[str, ...]:
    """The ways to spell the planted value."""
    return tuple(search_data()["spellings"])


def claims() -> Mapping[str, Mapping[str, Any]]:
    """What a text can say about itself, by name."""
    found: Mapping[str, Mapping[str, Any]] = search_data()["claims"]
    return found


def pastes() -> tuple[str, ...]:
    """The ways in which the owner hands a text on."""
    return tuple(search_data()["pastes"])


@cache
def search_data() -> dict[str, Any]:
    """Scenes, wordings and whatever else the searching attacker knows."""
    source = files("truekeep").joinpath("data", "redteam", "search.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(source)
    return loaded
