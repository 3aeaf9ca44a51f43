"""The word and letter tables behind the views, read once from data files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Confusables:
    """Letters that look like ASCII ones: ``always``, or only inside ``mixed`` words; ``twins`` look the same."""

    always: dict[str, str]
    mixed: dict[str, str]
    twins: frozenset[str]


@dataclass(frozen=True, slots=True)
class Words:
    """``common`` words prove that a decoding is language; ``telling`` ones are what disguises hide."""

    common: frozenset[str]
    telling: frozenset[str]

    known: frozenset[str]
    """Both kinds."""


def load(name: str) -> Any:
    """A data file of the screens, parsed."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    source = files("truekeep").joinpath("data", "screens", name).read_text(encoding="utf-8")
    return yaml.load(source, Loader=loader)  # noqa: S506 - both loaders are the safe ones


def _pairs(text: str) -> dict[str, str]:
    """A look-alike and what it is read as, pair by pair."""
    return {pair[0]: pair[1:] for pair in text.split()}


@cache
def confusables() -> Confusables:
    """The look-alike letters."""
    table = load("confusables.yaml")
    mixed: dict[str, str] = {}
    for text in table["mixed"].values():
        mixed |= _pairs(text)
    mixed |= {char.upper(): ascii_.upper() for char, ascii_ in mixed.items() if char.upper() not in mixed}
    return Confusables(always=_pairs(table["always"]), mixed=mixed, twins=frozenset(table["twins"]))


@cache
def words() -> Words:
    """The words that show that something is language."""
    table = load("words.yaml")
    common = frozenset(table["common"].split())
    telling = frozenset(word for text in table["telling"].values() for word in text.split())
    return Words(common, telling, common | telling)
