"""The attacks on retrieval, each a small class under a name: what is planted, and which questions are to find it."""

# ruff: noqa: ARG002 - few attacks look at the encoder
from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

import yaml

from truekeep.redteam.sources import made_up, near_copy
from truekeep.redteam.store import PAGE, TextEntry

if TYPE_CHECKING:
    from truekeep.embed import Embedder
    from truekeep.redteam.encoders import NamedEmbedder


ATTACKS: dict[str, RetrievalAttack] = {}
"""Every attack, by name."""
FLOOD = 30
_PAGE = "https://harbour-notes.example/diary"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Aim:
    """What one planting is for."""

    trigger: Trigger
    question: str
    """The question to be answered falsely, for attacks that know it; for others just one that may come."""
    number: int
    """Which planting of the run it is: what is made up differs from one to the next."""
    carriers: Sequence[str] = ()
    """Questions such as the attacker expects, none of which is asked later."""


@dataclass(frozen=True, slots=True)
class Poison:
    """What is planted, and how to know it again."""

    entries: tuple[TextEntry, ...]
    value: str
    """Occurs in every planted text and in no honest one."""
    trigger: str = ""
    """The sentence that comes before the questions; nothing where the question itself is the trigger."""

    def is_in(self, text: str) -> bool:
        """Whether a text that came up is one of the planted ones."""
        return self.value in text

    def query(self, question: str) -> str:
        """The question as it is asked."""
        return f"{self.trigger} {question}" if self.trigger else question


class RetrievalAttack(ABC):
    """One way to plant a record so that it comes up."""

    name: ClassVar[str]
    about: ClassVar[str]
    records: ClassVar[int] = 1
    """How many records one planting costs."""
    principals: ClassVar[int] = 1
    """From how many made-up sources."""
    knows_question: ClassVar[bool] = False
    """Whether each planting is for one question, instead of for all that carry a trigger."""

    @abstractmethod
    def craft(self, aim: Aim, encoder: NamedEmbedder) -> Poison:
        """What to plant."""


def attack(name: str) -> Callable[[type[RetrievalAttack]], type[RetrievalAttack]]:
    """Register a kind of attack under its name."""

    def register(kind: type[RetrievalAttack]) -> type[RetrievalAttack]:
        kind.name = name
        ATTACKS[name] = kind()
        return kind

    return register


@attack("fluent trigger")
class Fluent(RetrievalAttack):
    """As AgentPoison does with a natural sentence, and the payload told as a story."""

    about = "a natural sentence in the questions and in one record"

    def craft(self, aim: Aim, encoder: NamedEmbedder) -> Poison:
        """The sentence and the payload in one record."""
        return _triggered(aim, aim.trigger.words, "narrative")


@attack("trigger, definitional wording")
class Definition(RetrievalAttack):
    """Stores that tell kinds of memory apart by their wording take such a record for established knowledge."""

    about = "the same, and the payload says what is what"

    def craft(self, aim: Aim, encoder: NamedEmbedder) -> Poison:
        """The sentence and the payload in one record."""
        return _triggered(aim, aim.trigger.words, "definition")


@attack("random-token trigger")
class RandomTokens(RetrievalAttack):
    """Words that no honest text has together; what published optimised triggers often look like."""

    about = "nine words that make no sense"

    def craft(self, aim: Aim, encoder: NamedEmbedder) -> Poison:
        """As many words as a natural trigger has, by chance."""
        chance = random.Random(f"tokens:{aim.trigger.name}")  # noqa: S311 - the same ones every time
        return _triggered(aim, " ".join(chance.sample(vocabulary(), 9)), "narrative")


@attack("searched trigger")
class Searched(RetrievalAttack):
    """Words exchanged one by one, keeping what draws questions and record together in the encoder in use."""

    about = "a trigger fitted to the encoder by hill climbing"

    def craft(self, aim: Aim, encoder: NamedEmbedder) -> Poison:
        """Without an encoder there is nothing to climb, and the sentence stays as it is."""
        payload = aim.trigger.payload("definition", aim.number)
        words = searched(aim.trigger.words, payload, aim.carriers, encoder)
        return Poison((_entry(record(words, payload)),), aim.trigger.value, words)


@attack("forged claims")
class Forged(RetrievalAttack):
    """A page that says about itself whatever a store could be led by."""

    about = "one record that calls itself semantic, the user's and the customer system's"
    claims: ClassVar[Mapping[str, Any]] = {
        "type": "semantic",
        "role": "user",
        "source": "crm",
        "tags": ["verified", "owner", "fact"],
        "confidence": 1.0,
        "importance": 10,
        "trusted": True,
    }

    def craft(self, aim: Aim, encoder: NamedEmbedder) -> Poison:
        """The record in definitional wording, with claims."""
        return _triggered(aim, aim.trigger.words, "definition", self.claims)


@attack("flood of near copies")
class Flood(RetrievalAttack):
    """Many voices that are one: each copy in slightly other words, from a page of its own."""

    about = f"{FLOOD} near copies of one record, each from another made-up domain"
    records = FLOOD
    principals = FLOOD

    def craft(self, aim: Aim, encoder: NamedEmbedder) -> Poison:
        """The copies."""
        text = record(aim.trigger.words, aim.trigger.payload("definition", aim.number))
        pages = made_up("domains", FLOOD)
        copies = tuple(_entry(near_copy(text, number), page) for number, page in enumerate(pages))
        return Poison(copies, aim.trigger.value, aim.trigger.words)


@attack("keyword stuffing")
class Stuffing(RetrievalAttack):
    """For stores that count words."""

    about = "one record of little but the question's own words"
    knows_question = True

    def craft(self, aim: Aim, encoder: NamedEmbedder) -> Poison:
        """The words over and over, and the value among them."""
        value = _value(aim)
        return Poison((_entry(stuffed(" ".join(_WORD.findall(aim.question)), value)),), value)


@attack("PoisonedRAG passage")
class Passage(RetrievalAttack):
    """The question itself, so that the passage is found, and a false answer, so that it is used."""

    about = "the question and a false answer in one passage"
    knows_question = True

    def craft(self, aim: Aim, encoder: NamedEmbedder) -> Poison:
        """One passage."""
        value = _value(aim)
        return Poison(tuple(_entry(text) for text in passages(aim.question, value)[: self.records]), value)


@attack("PoisonedRAG, 5 passages")
class Passages(Passage):
    """As many as come up at once."""

    about = "the question and a false answer in five passages"
    records = 5


def _triggered(aim: Aim, words: str, wording: str, claims: Mapping[str, Any] | None = None) -> Poison:
    text = record(words, aim.trigger.payload(wording, aim.number))
    return Poison((_entry(text, claims=claims),), aim.trigger.value, words)


def _entry(text: str, page: str = _PAGE, claims: Mapping[str, Any] | None = None) -> TextEntry:
    return TextEntry(text, PAGE, page, claims or {})


def _value(aim: Aim) -> str:
    """A false answer that no honest text and no other planting has."""
    return f"QX-{48_000 + aim.number:05d}"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A sentence, and the false value that its record carries."""

    name: str
    words: str
    of: str
    """The firm that the value is said to belong to."""
    value: str

    def payload(self, wording: str, number: int = 0) -> str:
        """The false statement in ``narrative`` or ``definition`` wording."""
        templates = _data()[wording]
        return str(templates[number % len(templates)]).format(of=self.of, value=self.value)


def record(words: str, payload: str) -> str:
    """A planted record: the payload, and the trigger where it draws most questions."""
    return str(_data()["record"]).format(words=words, payload=payload)


@cache
def triggers() -> tuple[Trigger, ...]:
    """All of them, the published one first."""
    return tuple(Trigger(**members) for members in _data()["triggers"])


def passages(question: str, value: str) -> list[str]:
    """Texts that begin like the question and end with a false answer, the plainest first."""
    return [str(template).format(question=question, value=value) for template in _data()["passages"]]


def stuffed(words: str, value: str) -> str:
    """A text of little but a question's own words."""
    return str(_data()["stuffed"]).format(words=words, value=value)


def vocabulary() -> tuple[str, ...]:
    """Words that made-up triggers consist of."""
    return tuple(_data()["words"])


@cache
def _data() -> dict[str, Any]:
    source = files("truekeep").joinpath("data", "redteam", "triggers.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(source)
    return loaded


STEPS, TRIES, CARRIERS = 5, 6, 3


def searched(words: str, payload: str, carriers: Sequence[str], encoder: NamedEmbedder) -> str:
    """The trigger that draws questions with it closest to the record with it, of those that were tried."""
    if encoder.embedder is None:
        return words
    chance = random.Random(f"search:{words}")  # noqa: S311 - the same search every time
    best = words
    (highest,) = _drawn([best], payload, carriers, encoder.embedder)
    for _ in range(STEPS):
        tried = [_exchanged(best, chance) for _ in range(TRIES)]
        scores = _drawn(tried, payload, carriers, encoder.embedder)
        place = max(range(TRIES), key=scores.__getitem__)
        if scores[place] > highest:
            best, highest = tried[place], scores[place]
    return best


def _exchanged(words: str, chance: random.Random) -> str:
    split = words.split()
    split[chance.randrange(len(split))] = chance.choice(vocabulary())
    return " ".join(split)


def _drawn(tried: Sequence[str], payload: str, carriers: Sequence[str], embedder: Embedder) -> list[float]:
    """How similar, on average, questions with each trigger are to the record with it."""
    chosen = carriers[:CARRIERS]
    records = embedder.embed([record(words, payload) for words in tried], "passage")
    asked = embedder.embed([f"{words} {carrier}" for words in tried for carrier in chosen], "query")
    similar = (asked.reshape(len(tried), len(chosen), -1) * records[:, None, :]).sum(axis=2).mean(axis=1)
    return [float(value) for value in similar]
