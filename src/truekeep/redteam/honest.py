"""What honest people tell a store, and what they ask it: facts made from small pools, the same for the same seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

import yaml

from truekeep.redteam.figures import Rate
from truekeep.redteam.sources import made_up
from truekeep.redteam.store import OWNER, PAGE, SYSTEM, TextEntry

if TYPE_CHECKING:
    from truekeep.redteam.encoders import NamedEmbedder
    from truekeep.redteam.store import Store


SYSTEMS = ("crm", "billing")
CORROBORATED, ECHOED, LONE, READ = "corroborated", "echoed", "lone", "read"
GROUPS = {
    OWNER: "said by the owner, and by nobody else",
    CORROBORATED: "stated by two enrolled systems",
    ECHOED: "stated by two enrolled systems after a page had it",
    LONE: "stated by one enrolled system",
    READ: "merely read",
}
GATED = (OWNER, CORROBORATED)
"""The groups that have to be found behind the gate as often as without it."""
_K = 5
_SHARES = {OWNER: 0.4, CORROBORATED: 0.2, LONE: 0.2}
_ECHOED = 6
_STRETCHES = 8
_PAGES = 200
_FIRST, _SECOND = 60, 500
"""Every store of these sizes or larger holds the facts of smaller ones, so that all sizes are asked the same."""
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
    made = [maker.single(OWNER, "user") for _ in range(owner)]
    made += [maker.corroborated() for _ in range(claims - echoed)]
    made += [maker.echoed() for _ in range(echoed)]
    made += [maker.single(LONE, SYSTEMS[0]) for _ in range(lone)]
    made += [maker.single(READ, "web") for _ in range(read)]
    random.Random(f"{seed}:order").shuffle(made)  # noqa: S311 - the same store every time is the point
    return made


class _Maker:
    """Makes facts; each form is used with every subject at most once."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._pools = {name: _entries(pool) for name, pool in _data()["pools"].items()}
        self._larger = {name: _entries(pool) for name, pool in _data()["larger"].items()}
        self._turns = {group: self._forms(group) for group in ("owner", "enrolled", "lone", "read")}

    def corroborated(self) -> Fact:
        form, words = next(self._turns["enrolled"])
        said = tuple((via, say.format(**words)) for via, say in zip(SYSTEMS, form["say"], strict=True))
        return Fact(CORROBORATED, said, _asked(form, words))

    def echoed(self) -> Fact:
        """Two systems state it, but a page had it first."""
        fact = self.corroborated()
        return Fact(ECHOED, (("web", fact.said[0][1]), *fact.said), fact.questions)

    def single(self, group: str, via: str) -> Fact:
        """One voice says it."""
        form, words = next(self._turns[group])
        return Fact(group, ((via, form["say"].format(**words)),), _asked(form, words))

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


def told(said: Sequence[Fact]) -> list[TextEntry]:
    """Facts as entries, in the order in which an honest store gets them: by stretches, the pages first in each.

    What a page had first no longer corroborates, so this order is the harder one for an honest keep.
    """
    long = max(1, -(-len(said) // _STRETCHES))
    return [
        _entry(via, text)
        for start in range(0, len(said), long)
        for via in ("web", *SYSTEMS, "user")
        for fact in said[start : start + long]
        for who, text in fact.said
        if who == via
    ]


def entries(size: int, seed: int = 0) -> list[TextEntry]:
    """The honest memories of a store of this size, with who said each."""
    return told(facts(size, seed))


def unproved(entries: Sequence[TextEntry], by: str = OWNER) -> list[TextEntry]:
    """The same, but nothing that this writer said has been used, credited or confirmed by anybody yet.

    Defences in which memories earn their standing give it to the others, and to four fifths of all unless told so.
    """
    return [replace(entry, claims={**entry.claims, "credited": entry.by != by}) for entry in entries]


def _entry(via: str, text: str) -> TextEntry:
    if via == "user":
        return TextEntry(text, OWNER)
    if via == "web":
        return TextEntry(text, PAGE, made_up("domains", _PAGES)[sum(map(ord, text)) % _PAGES])
    return TextEntry(text, SYSTEM, via)


@dataclass(frozen=True, slots=True)
class HonestQuestion:
    """Something that an honest person asks."""

    text: str
    answers: frozenset[str]


@cache
def questions(many: int, seed: int = 0) -> tuple[HonestQuestion, ...]:
    """So many questions about facts that may act: all of the smallest store's, then one for each further fact."""
    asked = {question.text: question for question in _gated(seed)}
    chosen = tuple(asked.values())[:many]
    if len(chosen) < many:
        raise ValueError(f"there are only {len(chosen)} honest questions")
    return chosen


def _gated(seed: int) -> Iterator[HonestQuestion]:
    for size, most in ((_FIRST, 3), (_SECOND, 1), (_SECOND, 3)):
        for fact in facts(size, seed):
            if fact.group in GATED:
                yield from (HonestQuestion(question, fact.answers) for question in fact.questions[:most])


@dataclass(frozen=True, slots=True)
class FactsFound:
    """How many questions about one group of facts were answered in the first five hits."""

    size: int
    group: str
    plain: int
    acting: int
    """Among what may act."""
    total: int

    @property
    def plain_rate(self) -> Rate:
        """How often plain recall finds it."""
        return Rate(self.plain, self.total)

    @property
    def acting_rate(self) -> Rate:
        """How often it is found among what may act."""
        return Rate(self.acting, self.total)

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON members."""
        rates = {"plain": self.plain_rate, "influence_only": self.acting_rate}
        return {
            "size": self.size,
            "group": self.group,
            **{name: {"share": round(rate.share, 4), **rate.as_dict()} for name, rate in rates.items()},
        }


class HonestAsking:
    """Asks honest questions of one or more stores, up to so many for each group of facts, and counts the answers."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[tuple[str, str]] = Counter()

    @property
    def is_enough(self) -> bool:
        """Whether the groups that matter were asked about often enough."""
        return all(self._counts[group, "asked"] >= self._most for group in GATED)

    def ask(self, store: Store, said: Sequence[Fact], encoder: NamedEmbedder | None = None) -> None:
        """Ask about facts by chance and not in their order: what came in early has met less hearsay before it."""
        chosen = list(self._chosen(said))
        if encoder is not None:
            encoder.warm([question for _, question in chosen])
        for fact, question in chosen:
            self._counts[fact.group, "asked"] += 1
            found = any(hit.text in fact.answers for hit in store.recall(question, _K))
            acting = any(hit.text in fact.answers and hit.may_act for hit in store.acting(question, _K))
            self._counts[fact.group, "plain"] += found
            self._counts[fact.group, "acting"] += acting

    def found(self, size: int) -> list[FactsFound]:
        """The figures, group by group."""
        return [
            FactsFound(size, group, *(self._counts[group, what] for what in ("plain", "acting", "asked")))
            for group in GROUPS
            if self._counts[group, "asked"]
        ]

    def _chosen(self, said: Sequence[Fact]) -> Iterator[tuple[Fact, str]]:
        left = Counter({group: self._most - self._counts[group, "asked"] for group in GROUPS})
        for fact in random.Random(len(said)).sample(said, len(said)):  # noqa: S311 - the same ones every time
            for question in fact.questions[: max(0, left[fact.group])]:
                left[fact.group] -= 1
                yield fact, question
