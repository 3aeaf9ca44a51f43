"""What the searching attacker is after: a truth that acts, a value that must not, and the words it can put them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from truekeep.redteam.disguises import DISGUISES
from truekeep.redteam.influence.attack import Attack
from truekeep.redteam.influence.loading import ground

SYSTEM = "helpdesk"
"""The enrolled system whose fields an attacker can fill in. It is no witness of any truth."""
_OWN = ("subject", "attribute", "value", "true", "member")


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
        return str(_data()["pastes"][style]).format(text=text, host=host)

    def page(self, text: str) -> str:
        """A text as it stands on a page."""
        return str(_data()["page"]).format(text=text)


@cache
def scenes() -> tuple[Scene, ...]:
    """Every scene that comes with the package."""
    made = []
    for raw in _data()["scenes"]:
        own = {name: raw[name] for name in _OWN if name in raw}
        made.append(Scene(ground({name: value for name, value in raw.items() if name not in _OWN}, "search"), **own))
    return tuple(made)


def wordings() -> Mapping[str, str]:
    """The ways to say it, by name."""
    found: Mapping[str, str] = _data()["wordings"]
    return found


def spellings() -> tuple[str, ...]:
    """The ways to spell the planted value."""
    return tuple(_data()["spellings"])


def claims() -> Mapping[str, Mapping[str, Any]]:
    """What a text can say about itself, by name."""
    found: Mapping[str, Mapping[str, Any]] = _data()["claims"]
    return found


def pastes() -> tuple[str, ...]:
    """The ways in which the owner hands a text on."""
    return tuple(_data()["pastes"])


@cache
def _data() -> dict[str, Any]:
    source = files("truekeep").joinpath("data", "redteam", "search.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(source)
    return loaded
