"""Reads who is told to do what: which words of a sentence are commands, and about what."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from truekeep.screens.clause import Told
from truekeep.screens.lexicon import PARTS, PhraseHit
from truekeep.text.language import language_table
from truekeep.text.words import STATEMENT_END, WordRow

# What a command may be about; each is also the name of a lexicon category of verbs.
VERBS = frozenset(
    {"money", "access", "leaving", "tool", "promote", "override", "style_verb", "speech", "spell_out", "verb"}
)
DOMAINS = frozenset({"money", "access", "leaving", "tool", "promote", "override", "secret", "skip"})
# What a sentence may say besides; the learned screen takes each as a feature.
CATEGORIES = frozenset(
    {"must", "standing", "condition", "addressee", "authority", "identity", "mode", "role", "secret", "skip", "lack"}
    | {
        "check",
        "tell",
        "all",
        "user",
        "money_noun",
        "access_noun",
        "urgent",
        "style",
        "self",
        "others",
        "rules",
        "code",
        "attack",
        "lawless",
        "you",
    }
)
_PROTECTED = frozenset({"money", "access", "leaving", "tool"})
_PHRASES = frozenset({"secret", "skip"})
_TELLING = frozenset({"must", "secret", "skip", "authority", "identity", "mode", "role", "void", "passive"})
_LOUD = _TELLING | VERBS
BEFORE, BEHIND = 20, 80
"""How far around a sentence an address still belongs to it."""


@dataclass(slots=True)
class Sentence:
    """What one or two neighbouring sentences say, in one language."""

    language: str
    commands: set[str] = field(default_factory=set)
    says: set[str] = field(default_factory=set)
    overrides_rules: bool = False
    first: int = 0
    last: int = 0

    @property
    def speaks(self) -> bool:
        """Whether anything is commanded, forbidden or claimed; all else describes."""
        return bool(self.commands) or self.overrides_rules or not self.says.isdisjoint(_TELLING | {"does"})

    def __or__(self, other: Sentence) -> Sentence:
        """Two neighbours read as one."""
        says = self.says | other.says
        if not any("addressee" in one.says and (one.commands or "must" in one.says) for one in (self, other)):
            # Somebody named in one sentence is not told what the next one says.
            says -= {"addressee"}
        return Sentence(
            self.language,
            self.commands | other.commands,
            says,
            self.overrides_rules or other.overrides_rules,
            min(self.first, other.first),
            max(self.last, other.last),
        )


def read(text: str, found: WordRow, hits: list[PhraseHit]) -> Iterator[Sentence]:
    """Every sentence, and every two neighbours, in each language that has words in them."""
    if not hits:
        return
    spoken = _spoken(hits)
    if not spoken:
        return
    ends = [match.end() for match in STATEMENT_END.finditer(text)]
    places: dict[tuple[str, int], list[PhraseHit]] = defaultdict(list)
    for hit in hits:
        if hit.language in spoken:
            places[hit.language, bisect_right(ends, hit.start)].append(hit)
    loud = {place for place, group in places.items() if _may_speak({hit.category for hit in group})}
    read_so_far: dict[tuple[str, int], Sentence] = {}
    for (language, number), group in sorted(places.items()):
        if loud.isdisjoint({(language, number - 1), (language, number), (language, number + 1)}):
            continue
        sentence = _sentence(language, group, found)
        read_so_far[language, number] = sentence
        before = read_so_far.get((language, number - 1))
        if sentence.speaks:
            yield sentence
        if before is not None and (before.speaks or sentence.speaks):
            yield before | sentence


def unheard(text: str, seen: set[tuple[str, int, int]]) -> str:
    """The text with blanks for sentences that were read before in the same company; ``seen`` remembers them.

    What a sentence is judged by is itself, the one before it, and an address that may be near.
    """
    ends = [0, *(match.end() for match in STATEMENT_END.finditer(text)), len(text)]
    starts = [0, *ends]
    new = []
    for before, end in zip(starts, ends[1:], strict=False):
        low = max(0, before - BEFORE)
        company = text[low : end + BEHIND], before - low, end - low
        new.append(company not in seen)
        seen.add(company)
    new.append(False)
    # Blanks keep every place where it is, and their line end keeps neighbours apart.
    return "".join(
        text[start:end] if new[at] or new[at + 1] else " " * (end - start - 1) + "\n"
        for at, (start, end) in enumerate(pairwise(ends))
        if end > start
    )


def _spoken(hits: list[PhraseHit]) -> set[str]:
    """The languages in which enough is said that it could be more than a description."""
    said: dict[str, set[str]] = defaultdict(set)
    for hit in hits:
        said[hit.language].add(hit.category)
    return {
        language
        for language, categories in said.items()
        if categories & _TELLING
        or (categories & VERBS and len(categories) > 1)
        or {"does", "addressee"} <= categories
        or ("lack" in categories and categories & {"check", "tell"})
    }


def _may_speak(categories: set[str]) -> bool:
    """Whether a sentence with these could say anything but a description; most cannot, and are not read further."""
    return (
        not categories.isdisjoint(_LOUD)
        or {"does", "addressee"} <= categories
        or ("lack" in categories and not categories.isdisjoint({"check", "tell"}))
    )


def _sentence(language: str, hits: list[PhraseHit], found: WordRow) -> Sentence:
    hits.sort(key=lambda hit: hit.start)
    told = Told(language, hits, found)
    sentence = Sentence(language, first=hits[0].start, last=max(hit.end for hit in hits))
    for hit in hits:
        category = hit.category
        if category in VERBS:
            _verb(sentence, hit, told)
        elif category == "does":
            if told.does(hit):
                always = found.words[hit.at - 1] in {"always", "automatically"}
                sentence.says |= {"does", "addressee", "standing"} if always else {"does", "addressee"}
        elif category == "must":
            if told.is_order(hit):
                sentence.says |= {category, "addressee"} if told.names_assistant(hit) else {category}
        elif category in _PHRASES:
            _evasion(sentence, hit, told)
        elif language != "en" or told.is_meant(hit):
            sentence.says.add(category)
            if category == "addressee" and told.is_hailed(hit):
                sentence.says.add("authority")
    if told.specifies_code(hits):
        sentence.says |= {"self", "specified"}
    for category, orders in told.lacks(hits):
        sentence.says.add(category)
        if orders:
            sentence.commands.add(category)
    _forms(sentence, language)
    sentence.overrides_rules = told.overrides_rules(hits)
    return sentence


def _verb(sentence: Sentence, hit: PhraseHit, told: Told) -> None:
    """A command where it can be one; elsewhere a verb of money or access still says what is dealt with."""
    if told.is_denied(hit) and hit.category in _PROTECTED:
        # "Never share tokens" keeps something in; it lets nothing out.
        return
    if told.is_command(hit):
        sentence.commands.add(hit.category)
    elif hit.category in {"money", "access"} and hit.at >= 0:
        sentence.says.add("dealing")


def _evasion(sentence: Sentence, hit: PhraseHit, told: Told) -> None:
    """Phrases of secrecy and of skipped checks; a verb among them must command and must not be denied."""
    if told.is_phrase(hit):
        sentence.says.add(hit.category)
    elif told.is_command(hit) and not told.is_denied(hit):
        sentence.says.add(hit.category)
        sentence.commands.add(hit.category)


def _forms(sentence: Sentence, language: str) -> None:
    """Languages that mark commands by an ending or a particle command only where it stands."""
    table = language_table(language, "commands")
    if table.get("marked_commands") and not sentence.says & {"command", "must"}:
        sentence.commands.clear()
    if table["match"] == PARTS and "self" in sentence.says and not sentence.says & {"command", "must", "addressee"}:
        sentence.commands.clear()
