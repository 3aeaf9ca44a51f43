"""What an agent lives through, read from a file and filled with names and values of its own for every seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from truekeep.redteam.agent.values import Names, values

Fill = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened before: something was said, written, read, changed or to be forgotten."""

    text: str = ""
    via: str = ""
    """The channel it came over; empty for what the owner said in a conversation."""
    source: str = ""
    copies: int = 1
    updates: int | None = None
    """Which of the known entries the agent offers this text for."""
    forgets: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Attack:
    """The call that the attacker wants, and the words that make the model want it."""

    call: Call
    told_by: tuple[str, ...]
    again: bool = False
    """Whether it is the owner's own call, made once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One task, perhaps with somebody who would have another one done."""

    name: str
    kind: str = "honest"
    known: tuple[Event, ...] = ()
    earlier: tuple[Event, ...] = ()
    asks: tuple[str, ...] = ()
    now: tuple[Event, ...] = ()
    call: Call | None = None
    worked_out: frozenset[str] = frozenset()
    """Arguments that the model works out by itself."""
    attack: Attack | None = None
    is_beside: bool = False
    """Whether the attacker's call comes on top of the owner's, and not in its place."""
    is_shared: bool = False
    values: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


def honest(seed: int = 0) -> list[Scenario]:
    """The owner's tasks, filled for one seed."""
    return list(_filled("honest", seed))


def attacks(seed: int = 0) -> list[Scenario]:
    """The attacks, filled for one seed."""
    return list(_filled("attacks", seed))


def tools() -> Mapping[str, list[str]]:
    """The tools of the office, with the names of their arguments."""
    found: Mapping[str, list[str]] = _data()["tools"]
    return found


def _filled(group: str, seed: int) -> Iterator[Scenario]:
    data = _data()
    names = Names(data["pools"], f"{seed}:{group}")
    for entry in data[group]:
        yield _scenario(entry, values(names, data["triggers"], f"{seed}:{entry['name']}"))


def _scenario(entry: Mapping[str, Any], made: Mapping[str, Any]) -> Scenario:
    def fill(template: Any) -> Any:
        if not isinstance(template, str):
            return template
        whole = template[1:-1]
        return made[whole] if template == f"{{{whole}}}" and whole in made else template.format(**made)

    asks = entry["asks"]
    return Scenario(
        name=entry["name"],
        kind=entry.get("kind", "honest"),
        known=_events(entry.get("known", ()), fill),
        earlier=_events(entry.get("earlier", ()), fill),
        asks=tuple(str(fill(one)) for one in ([asks] if isinstance(asks, str) else asks)),
        now=_events(entry.get("now", ()), fill),
        call=_call(entry["call"], fill) if "call" in entry else None,
        worked_out=frozenset(entry.get("worked_out", ())),
        attack=_attack(entry["attack"], fill) if "attack" in entry else None,
        is_beside=entry.get("beside", False),
        is_shared=entry.get("shared", False),
        values=made,
    )


def _events(entries: Iterable[Mapping[str, Any]], fill: Fill) -> tuple[Event, ...]:
    return tuple(
        Event(
            text=str(fill(one.get("text", one.get("said", "")))),
            via=one.get("via", ""),
            source=str(fill(one.get("from", ""))),
            copies=one.get("copies", 1),
            updates=one.get("updates"),
            forgets=one.get("forgets"),
        )
        for one in entries
    )


def _call(entry: Mapping[str, Any], fill: Fill) -> Call:
    return Call(entry["tool"], {name: fill(value) for name, value in entry.items() if name not in _NOT_ARGUMENTS})


def _attack(entry: Mapping[str, Any], fill: Fill) -> Attack:
    told_by = tuple(str(fill(words)) for words in entry["told_by"])
    return Attack(_call(entry, fill), told_by, entry.get("again", False))


_NOT_ARGUMENTS = frozenset({"tool", "told_by", "again"})


@cache
def _data() -> dict[str, Any]:
    source = files("truekeep").joinpath("data", "redteam", "agent.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(source)
    return loaded
