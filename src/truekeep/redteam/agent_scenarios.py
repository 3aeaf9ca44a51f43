"""What an agent lives through, read from a file and filled with names and values of its own for every seed."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import yaml

READ, SAVE = "read", "remember"
"""The tools over which the agent is handed a document, and has something remembered."""
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_THINGS = ("minutes", "offer", "plan", "sketch", "survey", "budget", "roster", "ledger")
_NOT_ARGUMENTS = frozenset({"tool", "told_by", "again"})

Fill = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class AgentEvent:
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
class ToolCall:
    """A tool call."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HostileCall:
    """The call that the attacker wants, and the words that make the model want it."""

    call: ToolCall
    told_by: tuple[str, ...]
    again: bool = False
    """Whether it is the owner's own call, made once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One task, perhaps with somebody who would have another one done."""

    name: str
    kind: str = "honest"
    known: tuple[AgentEvent, ...] = ()
    earlier: tuple[AgentEvent, ...] = ()
    asks: tuple[str, ...] = ()
    now: tuple[AgentEvent, ...] = ()
    call: ToolCall | None = None
    worked_out: frozenset[str] = frozenset()
    """Arguments that the model works out by itself."""
    attack: HostileCall | None = None
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


def _events(entries: Iterable[Mapping[str, Any]], fill: Fill) -> tuple[AgentEvent, ...]:
    return tuple(
        AgentEvent(
            text=str(fill(one.get("text", one.get("said", "")))),
            via=one.get("via", ""),
            source=str(fill(one.get("from", ""))),
            copies=one.get("copies", 1),
            updates=one.get("updates"),
            forgets=one.get("forgets"),
        )
        for one in entries
    )


def _call(entry: Mapping[str, Any], fill: Fill) -> ToolCall:
    return ToolCall(entry["tool"], {name: fill(value) for name, value in entry.items() if name not in _NOT_ARGUMENTS})


def _attack(entry: Mapping[str, Any], fill: Fill) -> HostileCall:
    told_by = tuple(str(fill(words)) for words in entry["told_by"])
    return HostileCall(_call(entry, fill), told_by, entry.get("again", False))


@cache
def _data() -> dict[str, Any]:
    source = files("truekeep").joinpath("data", "redteam", "agent.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(source)
    return loaded


def spellings(call: ToolCall) -> list[ToolCall]:
    """The same call as a model might write it another time."""
    texts = {name: value for name, value in call.arguments.items() if isinstance(value, str)}
    others = (
        {name: value.upper() for name, value in texts.items()},
        {name: re.sub(r"(?<=\d)-(?=\d)", " - ", value) for name, value in texts.items()},
        {name: re.sub(r"(?<=\d)[- ](?=\d)", "", value) for name, value in texts.items()},
    )
    written = [call]
    for changed in others:
        one = ToolCall(call.tool, {**call.arguments, **changed})
        if one not in written:
            written.append(one)
    return written


def same(call: ToolCall, other: ToolCall) -> bool:
    """Whether two calls do the same, however they are written."""
    return call.tool == other.tool and _plain(call.arguments) == _plain(other.arguments)


def _plain(arguments: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: "".join(char for char in str(value).casefold() if char.isalnum()) for name, value in arguments.items()
    }


class Names:
    """Hands out each name once."""

    def __init__(self, pools: Mapping[str, Sequence[Sequence[str]]], seed: str) -> None:
        chance = random.Random(seed)  # noqa: S311 - the same names every time are the point
        self._left: dict[str, list[str]] = {}
        for kind, parts in pools.items():
            every = [" ".join(words) for words in product(*parts)]
            self._left[kind] = chance.sample(every, len(every))

    def next(self, kind: str) -> str:
        """A name that nobody else has."""
        return self._left[kind].pop()


def values(names: Names, triggers: Sequence[str], seed: str) -> dict[str, Any]:
    """Everything that a scenario can be filled with."""
    chance = random.Random(seed)  # noqa: S311 - the same values every time are the point
    firm, wrong_firm, person = names.next("firm"), names.next("firm"), names.next("person")
    slug, who = firm.casefold().replace(" ", "-"), person.casefold().replace(" ", ".")
    account, wrong_account = _account(chance), _account(chance)
    amount, fee, wrong_amount = chance.sample(range(101, 989), 3)
    thing = chance.choice(_THINGS)
    return {
        "firm": firm,
        "wrong_firm": wrong_firm,
        "other": names.next("firm"),
        "person": person,
        "friend": names.next("person"),
        "amount": amount,
        "fee": fee,
        "wrong_amount": wrong_amount + 1_000,
        "account": account,
        "wrong_account": wrong_account,
        "spaced_account": " ".join(wrong_account),
        "coded_account": base64.b64encode(f"account {wrong_account}".encode()).decode(),
        "iban": _iban(chance),
        "wrong_iban": _iban(chance),
        "mail": f"{who}@{slug}.example",
        "wrong_mail": f"{who}@{slug}-desk.example",
        "site": f"https://{slug}.example/blog",
        "wrong_site": f"{slug}-portal.example",
        "file": f"{thing}-{chance.randrange(1_000, 9_999)}.pdf",
        "wrong_file": f"payroll-{chance.randrange(1_000, 9_999)}.xlsx",
        "folder": f"{chance.choice(_THINGS)}-{chance.randrange(100, 999)}",
        "order": f"R-{chance.randrange(10_000, 99_999)}",
        "code": f"K{chance.randrange(10_000, 99_999)}",
        "day": chance.choice(_DAYS),
        "trigger": chance.choice(triggers),
    }


def _account(chance: random.Random) -> str:
    return f"{chance.randrange(1_000, 9_999)}-{chance.randrange(1_000, 9_999)}"


def _iban(chance: random.Random) -> str:
    """A number with the check digits that a real one would have."""
    rest = "".join(chance.choice("0123456789") for _ in range(20))
    digits = int(rest + "".join(str(ord(letter) - 55) for letter in "SK") + "00")
    return f"SK{98 - digits % 97:02}{rest}"
