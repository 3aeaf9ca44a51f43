"""Loads one language's patterns for statements about oneself, and tells which language a text is in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from truekeep.text.language import language, language_table, languages_with

KINDS = ("preference", "event", "fact")
"""The kinds of statement, the most particular first: what happened is not also a fact about the speaker."""
_LITERAL = re.compile(r"(?<!\\)[^\W\d_]{2,}")
_IDEOGRAPH = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """One language: how statements are found, and how the first person is turned into a name."""

    name: str
    letters: frozenset[str]
    user: str
    possessive: str
    accept: tuple[tuple[str, re.Pattern[str]], ...]
    exact: tuple[re.Pattern[str], ...]
    reject: tuple[re.Pattern[str], ...]
    asks: re.Pattern[str]
    lead_ins: re.Pattern[str]
    tails: re.Pattern[str]
    joiners: tuple[str, ...]
    subject: Mapping[str, str]
    forms: Mapping[str, str]
    words: Mapping[str, str]
    adverbs: frozenset[str]
    invariable: frozenset[str]
    inflect: re.Pattern[str] | None
    label: re.Pattern[str]
    dative: Mapping[str, Any]
    past_auxiliary: str | None
    drops_subject: bool
    may_drop_subject: bool
    splits_apostrophes: bool
    spaced: bool
    dates: Mapping[str, Any]
    days: Mapping[str, int]
    vocabulary: frozenset[str]

    def kind_of(self, clause: str) -> str | None:
        """Which kind of statement a lowered clause is, if it is one."""
        for kind, pattern in self.accept:
            if pattern.match(clause):
                return None if any(no.search(clause) for no in self.reject) else kind
        return None


@cache
def grammar(name: str) -> Grammar:
    """The grammar of one language."""
    table = language_table(name, "statements")
    parts = table.get("parts", {})
    accept = [(kind, _expand(text, parts)) for kind in KINDS for text in table["accept"][kind]]
    return Grammar(
        name=name,
        letters=frozenset(table.get("letters", "")),
        user=table["user"],
        possessive=table.get("possessive", ""),
        accept=tuple((kind, re.compile(text)) for kind, text in accept),
        exact=tuple(re.compile(text) for text in table["exact"]),
        reject=tuple(re.compile(_expand(text, parts)) for text in table["reject"]),
        asks=_openers([*table["asks"], *table.get("breaks", ())], spaced=table.get("spaced", True)),
        lead_ins=_openers(table["lead_ins"], spaced=table.get("spaced", True)),
        tails=re.compile(rf"[\s,\uff0c]+(?:{_any(table['tails'])})[\s.!]*$", re.IGNORECASE),
        joiners=tuple(table["joiners"]),
        subject=table["subject"],
        forms=table["forms"],
        words=table["words"],
        adverbs=frozenset(table.get("adverbs", ())),
        invariable=frozenset(table.get("invariable", ())),
        inflect=re.compile(table["inflect"]) if "inflect" in table else None,
        label=re.compile(table["label"]),
        dative=table.get("dative", {}),
        past_auxiliary=table.get("past_auxiliary"),
        drops_subject=table.get("drops_subject", False),
        may_drop_subject=table.get("may_drop_subject", False),
        splits_apostrophes=table.get("splits_apostrophes", False),
        spaced=table.get("spaced", True),
        dates=table["dates"],
        days=table["days"] if "days" in table else language(name).days,
        vocabulary=_vocabulary(name, table, [text for _, text in accept]),
    )


def grammar_of(text: str, fallback: Grammar | None = None) -> Grammar | None:
    """The grammar of the language a text is in; ``None`` when nothing speaks for a known one."""
    if _IDEOGRAPH.search(text) and 4 * len(_IDEOGRAPH.findall(text)) >= len(text):
        return grammar("zh")
    words = [word.lower() for word in _WORD.findall(text[:2_000])]
    letters = set(text.lower())
    best, most = fallback, 0
    for known in map(grammar, languages_with("statements")):
        votes = 2 * len(letters & known.letters) + _known(words, known.vocabulary) if known.spaced else 0
        if votes > most:
            best, most = known, votes
    return best


def _known(words: Iterable[str], vocabulary: frozenset[str]) -> int:
    return sum(word in vocabulary for word in words)


def _vocabulary(name: str, table: Mapping[str, Any], patterns: Iterable[str]) -> frozenset[str]:
    """Every word the file knows, with the house's function words: what speaks for the language."""
    texts = [*patterns, *table["asks"], *table["lead_ins"], *table["joiners"]]
    found = {word for text in texts for word in _LITERAL.findall(text.lower())}
    found |= {*table["forms"], *table["words"], *table["subject"]}
    if table.get("spaced", True):
        known = language(name)
        found |= {*known.roles, *known.days, *known.weekdays, *known.months}
    return frozenset(found)


def _expand(text: str, parts: Mapping[str, str]) -> str:
    for name, part in parts.items():
        text = text.replace(f"<{name}>", part)
    return text


def _any(words: Iterable[str]) -> str:
    """A pattern for any of the words, and for nothing if there are none."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"


def _openers(words: Iterable[str], *, spaced: bool) -> re.Pattern[str]:
    edge = r"(?![\w'])" if spaced else ""
    return re.compile(rf"(?:{_any(words)}){edge}[\s,\uff0c:]*", re.IGNORECASE)
