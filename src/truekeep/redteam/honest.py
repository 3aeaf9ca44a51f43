"""What an honest keep holds before an attack: facts made from small pools, the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import count
from math import prod
from typing import Any

import yaml

SYSTEMS = ("crm", "billing")
OWNER, CORROBORATED, ECHOED, LONE, READ = "owner", "corroborated", "echoed", "lone", "read"
_SHARES = {OWNER: 0.4, CORROBORATED: 0.2, LONE: 0.2}
_ECHOED = 6
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")


@dataclass(frozen=True, slots=True)
class Fact:
    """One honest thing to remember: who says it in which words, and the questions that it answers."""

    group: str
    said: tuple[tuple[str, str], ...]
    """Channels and texts, in the order in which they are said."""
    questions: tuple[str, ...]

    @property
    def answers(self) -> frozenset[str]:
        """The texts that answer its questions; a page's copy of it does not count."""
        return frozenset(text for via, text in self.said if via != "web" or self.group == READ)


def facts(size: int, seed: int = 0) -> list[Fact]:
    """Facts that make up ``size`` memories: the owner's, of two systems, of one system, and read on pages."""
    maker = _Maker(seed)
    claims = max(1, round(size * _SHARES[CORROBORATED] / len(SYSTEMS)))
    echoed = max(1, claims // _ECHOED)
    owner, lone = round(size * _SHARES[OWNER]), round(size * _SHARES[LONE])
    read = max(0, size - owner - lone - len(SYSTEMS) * claims - echoed)
    made = [maker.owner() for _ in range(owner)]
    made += [maker.corroborated() for _ in range(claims - echoed)]
    made += [maker.echoed() for _ in range(echoed)]
    made += [maker.lone() for _ in range(lone)]
    made += [maker.read() for _ in range(read)]
    random.Random(f"{seed}:order").shuffle(made)  # noqa: S311 - the same store every time is the point
    return made


class _Maker:
    """Makes facts; each form is used with every subject at most once."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._pools = {name: _entries(pool) for name, pool in _data()["pools"].items()}
        self._larger = {name: _entries(pool) for name, pool in _data()["larger"].items()}
        self._turns = {group: self._forms(group) for group in ("owner", "enrolled", "lone", "read")}

    def owner(self) -> Fact:
        form, words = next(self._turns["owner"])
        return Fact(OWNER, (("user", form["say"].format(**words)),), _asked(form, words))

    def corroborated(self) -> Fact:
        form, words = next(self._turns["enrolled"])
        said = tuple((via, say.format(**words)) for via, say in zip(SYSTEMS, form["say"], strict=True))
        return Fact(CORROBORATED, said, _asked(form, words))

    def echoed(self) -> Fact:
        """Two systems state it, but a page had it first."""
        fact = self.corroborated()
        return Fact(ECHOED, (("web", fact.said[0][1]), *fact.said), fact.questions)

    def lone(self) -> Fact:
        form, words = next(self._turns["lone"])
        return Fact(LONE, ((SYSTEMS[0], form["say"].format(**words)),), _asked(form, words))

    def read(self) -> Fact:
        form, words = next(self._turns["read"])
        return Fact(READ, (("web", form["say"].format(**words)),), _asked(form, words))

    def _forms(self, group: str) -> Iterator[tuple[Mapping[str, Any], dict[str, str]]]:
        """The forms of a group by turns, each time with another subject."""
        forms = _data()[group]
        orders = [self._order(group, place, form) for place, form in enumerate(forms)]
        for turn in count():
            place = turn % len(forms)
            used = turn // len(forms)
            if used >= len(orders[place]):
                raise ValueError(f"the pools are too small for so many facts of the group {group}")
            yield forms[place], self._words(f"{group}:{turn}", _about(forms[place]), orders[place][used])

    def _order(self, group: str, place: int, form: Mapping[str, Any]) -> list[int]:
        """The subjects of a form by chance; those of the larger pool come after all others."""
        about = _about(form)
        size = prod(len(self._pools[name]) for name in about)
        more = len(self._larger.get(about[0], ())) if len(about) == 1 else 0
        chance = random.Random(f"{self._seed}:{group}:{place}")  # noqa: S311
        return chance.sample(range(size), size) + chance.sample(range(size, size + more), more)

    def _words(self, turn: str, about: Sequence[str], subject: int) -> dict[str, str]:
        chance = random.Random(f"{self._seed}:{turn}")  # noqa: S311
        words = {name: chance.choice(entries) for name, entries in self._pools.items()}
        if len(about) == 1 and subject >= len(self._pools[about[0]]):
            words[about[0]] = self._larger[about[0]][subject - len(self._pools[about[0]])]
            return words | _made_up(chance, words)
        for name in about:
            subject, place = divmod(subject, len(self._pools[name]))
            words[name] = self._pools[name][place]
        return words | _made_up(chance, words)


def _made_up(chance: random.Random, words: Mapping[str, str]) -> dict[str, str]:
    name = words["person"].casefold().replace(" ", ".")
    letters = "".join(chance.choice("ABCDEFGHKLMNPRSTUVWXYZ") for _ in range(2))
    day = f"{chance.randrange(1, 29)} {chance.choice(_MONTHS)}"
    return {
        "amount": f"{chance.randrange(100, 3_000) * 5}",
        "small": str(chance.randrange(2, 9)),
        "percent": str(chance.randrange(2, 40)),
        "extension": str(chance.randrange(1_000, 9_999)),
        "code": f"{letters}-{chance.randrange(10_000, 99_999)}",
        "day": day,
        "date": f"{day} 2027",
        "time": f"{chance.randrange(8, 18)}:{chance.choice(('00', '15', '30', '45'))}",
        "mail": f"{name}@{words['firm'].split()[0].casefold()}.example",
    }


def _about(form: Mapping[str, Any]) -> list[str]:
    about = form["about"]
    return [about] if isinstance(about, str) else list(about)


def _asked(form: Mapping[str, Any], words: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(question.format(**words) for question in form["ask"])


def _entries(pool: Sequence[Any]) -> list[str]:
    """A pool's entries; two lists stand for every pair of them."""
    if pool and isinstance(pool[0], list):
        front, back = pool
        return [f"{first} {second}" for second in back for first in front]
    return list(pool)


@cache
def _data() -> dict[str, Any]:
    source = files("truekeep").joinpath("data", "redteam", "benign.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(source)
    return loaded
