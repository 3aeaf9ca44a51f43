"""The opening forms and stop words of each language with tables, as data; they only ever narrow what is proved."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from truekeep.trust.flow.reading import WORD, read_table, stem

# Pronouns that Romance languages write onto a verb: "mándale", "scrivigli".
_ENCLITIC = re.compile(r"(?<=\w{3})(?:me|te|le|les|lo|la|los|las|nos|se|gli|mi|ti|ci|li|lhe|lhes)+$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NAME_WORDS = re.compile(r"[^\W_]+")
_ROMANCE = ("es", "it", "pt")
LANGUAGES = ("en", "de", "es", "fr", "it", "pt", "sk", "cs", "zh", "pl", "nl")
ACTS = ("say", "pay", "do", "remove", "share")
OUTWARD = frozenset({"pay", "share"})
"""Acts by which money or access goes to somebody."""
_PHRASES = (
    "polite",
    "leads",
    "negation",
    "report",
    "condition",
    "question",
    "refusal",
    "copulas",
    "pronouns",
    "dictating",
    "joins",
    "wishes",
    "standing",
    "second_thoughts",
)
Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpeningForms:
    """One language: verbs that open a request with the acts they can mean, and phrases by what they do."""

    name: str
    verbs: Mapping[Phrase, frozenset[str]]
    phrases: Mapping[str, Mapping[str, tuple[Phrase, ...]]]
    """For each sort of phrase, the phrases by their first word, longest first."""
    common: frozenset[str]
    known: frozenset[str]
    """Every single word of the tables: how much of a message they cover tells its language."""
    around: frozenset[str]
    """What may stand around the values of a request without saying anything of its own."""

    def at(self, sort: str, words: tuple[str, ...], place: int) -> int:
        """How many words from there make a phrase of that sort; zero if they make none."""
        for phrase in self.phrases[sort].get(words[place], ()) if place < len(words) else ():
            if words[place : place + len(phrase)] == phrase:
                return len(phrase)
        return 0

    def has(self, sort: str, words: tuple[str, ...]) -> bool:
        """Whether a phrase of that sort stands anywhere among the words."""
        table = self.phrases[sort]
        return any(word in table and self.at(sort, words, place) for place, word in enumerate(words))

    def acts_at(self, words: tuple[str, ...], place: int) -> frozenset[str]:
        """The acts of the verb that stands there; two words at most, because Chinese verbs have two."""
        for length in (2, 1):
            if acts := self.verbs.get(words[place : place + length]):
                return acts
        bare = bare_letters(words[place]) if place < len(words) else ""
        return self.verbs.get((bare,)) or self.verbs.get((_ENCLITIC.sub("", bare),)) or frozenset()

    def is_enclitic(self, word: str) -> bool:
        """Whether a pronoun is written onto a verb of the tables."""
        bare = bare_letters(word)
        cut = _ENCLITIC.sub("", bare)
        return self.name in _ROMANCE and cut != bare and (bare,) not in self.verbs and (cut,) in self.verbs


def bare_letters(word: str) -> str:
    """A word in lower case without accents, as people in a hurry and names of tools write it."""
    return "".join(c for c in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(c))


@lru_cache(maxsize=4_096)
def name_words(name: str) -> tuple[str, ...]:
    """The words of a tool's or argument's name: ``mcp__github__createIssue`` is mcp, github, create, issue."""
    words = tuple(bare_letters(word) for word in _NAME_WORDS.findall(_CAMEL.sub(" ", name.replace("_", " "))))
    return ("lookup", *words[2:]) if words[:2] == ("look", "up") else words


def _split(text: str) -> Phrase:
    return tuple(WORD.findall(text.lower()))


@cache
def forms(name: str) -> OpeningForms:
    """The tables of one language."""
    table = read_table("act", "forms", f"{name}.toml")
    verbs: dict[Phrase, set[str]] = {}
    for act in ("reads", *ACTS):
        for verb in table[act].split():
            for spelling in (_split(verb), _split(bare_letters(verb))):
                verbs.setdefault(spelling, set()).add(act)
    phrases = {sort: _by_first_word(map(_split, table[sort])) for sort in _PHRASES}
    common = frozenset(part for word in table["common"].split() for part in _split(word))
    known = common.union(*(phrases[sort] for sort in _PHRASES), (verb[0] for verb in verbs))
    around = frozenset(part for word in table["around"].split() for part in _split(word))
    return OpeningForms(name, {verb: frozenset(acts) for verb, acts in verbs.items()}, phrases, common, known, around)


def _by_first_word(phrases: Iterable[Phrase]) -> dict[str, tuple[Phrase, ...]]:
    found: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        if phrase:
            found.setdefault(phrase[0], []).append(phrase)
    return {first: tuple(sorted(rest, key=len, reverse=True)) for first, rest in found.items()}


@cache
def _listed_acts() -> Mapping[str, frozenset[str]]:
    """Words in tools' names with the acts they mean, as listed for names."""
    table = read_table("act", "acts.toml")
    found: dict[str, set[str]] = {}
    for act in ACTS:
        for word in table[act].split():
            found.setdefault(bare_letters(word), set()).add(act)
    return {word: frozenset(acts) for word, acts in found.items()}


@cache
def act_words() -> Mapping[str, frozenset[str]]:
    """Verbs with the acts they mean, without accents, as tool names write them; what is listed for names comes first.

    People say "move 60 to Noor" and "send 60 to Noor"; a tool named "move" or "send" does not pay.
    """
    found: dict[str, frozenset[str]] = {}
    for name in LANGUAGES:
        for verb, acts in forms(name).verbs.items():
            if len(verb) == 1 and acts - {"reads"}:
                word = bare_letters(verb[0])
                found[word] = found.get(word, frozenset()) | acts - {"reads"}
    return found | dict(_listed_acts())


def goes_out(name: str) -> bool:
    """Whether a tool's name says that money or access goes to somebody."""
    return any(_listed_acts().get(word, frozenset()) & OUTWARD for word in name_words(name))


@lru_cache(maxsize=1024)
def acts_of(name: str) -> frozenset[str]:
    """The acts that the words of a tool's name can mean."""
    return frozenset(act for word in name_words(name) for act in act_words().get(word, ()))


@cache
def act_stems() -> frozenset[str]:
    """Stems of the verbs that mean some act."""
    return frozenset(map(stem, act_words()))


@cache
def tool_acts() -> frozenset[str]:
    """Verbs as tools are named with them: those listed for names, and English ones."""
    english = {verb[0] for verb, acts in forms("en").verbs.items() if len(verb) == 1 and acts - {"reads"}}
    return frozenset(english | _listed_acts().keys())


@cache
def common_words() -> frozenset[str]:
    """Words of all languages that name nothing: they link no memory with a request."""
    return frozenset(word for name in LANGUAGES for word in forms(name).common)


@cache
def copulas() -> frozenset[str]:
    """Words of all languages that make a statement; every one is a single word."""
    return frozenset(first for name in LANGUAGES for first in forms(name).phrases["copulas"])


@cache
def denying_words() -> frozenset[str]:
    """Single words of all languages that negate or refuse, and name nothing themselves."""
    sorts = [forms(name).phrases[sort] for name in LANGUAGES for sort in ("negation", "refusal")]
    return frozenset(first for table in sorts for first, some in table.items() if (first,) in some)


def spoken(words: tuple[str, ...]) -> tuple[OpeningForms, ...]:
    """The languages a message may be in: those whose tables cover most of it; none if they cover nothing."""
    counts = {name: sum(word in forms(name).known for word in words) for name in LANGUAGES}
    best = max(counts.values(), default=0)
    if not best or 8 * best < len(words):
        return ()
    return tuple(forms(name) for name in LANGUAGES if counts[name] * 4 >= best * 3)
