"""What of a memory some words are about: the owner's word decides, so only what is clear is taken for meant.

Compared are words and not meanings: whole words, their inflections, and a small table of words that name the same
thing. Everything else is shown and left to a person. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from truekeep.text.language import language, language_table, names
from truekeep.text.words import words

_TABLE = "forget"
_EXACT, _CONCEPT, _INFLECTED = 1.0, 0.9, 0.8
_CLEAR_SHARE = 0.6
"""How much of what is named a memory has to bear, where none bears all of it."""
_MARGIN = 0.6
"""How far the next best has to stay behind."""
_MOST_SHOWN = 8
"""Memories that are shown where none is clearly meant."""
_DIGITS = re.compile(r"\d+")
_HAN = re.compile("[\u3400-\u9fff]")
_HAN_DAY = re.compile("(?:\u5468|\u661f\u671f|\u793c\u62dc)([\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u65e5\u5929])")


@dataclass(frozen=True, slots=True)
class Found:
    """Places of memories: those that are clearly meant, or else those that may be."""

    clear: tuple[int, ...] = ()
    unsure: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Bearing:
    """What a text bears: its words, the groups of words that mean the same, and its values."""

    words: frozenset[str]
    groups: frozenset[str]
    values: Mapping[str, frozenset[str]]
    name: str
    """The language whose words for the same thing are known."""

    def of(self, token: str) -> float:
        """How well it bears a word of a topic."""
        if token in self.words:
            return _EXACT
        if any(_is_form(token, word) for word in self.words):
            return _INFLECTED
        return _CONCEPT if not self.groups.isdisjoint(_groups_of(token, self.name)) else 0.0


def named(about: str, name: str, said: Sequence[str], *, wants_all: bool = False, is_weak: bool = False) -> Found:
    """Which of the texts, oldest first, are named by words of a language to be forgotten."""
    borne = [_bearing(text, name) for text in said]
    tokens = telling(about, name)
    found = _named(tokens, borne, name, wants_all=wants_all, is_weak=is_weak)
    if found.clear or not tokens or _HAN.search(about):
        return found
    joins = frozenset(words(" ".join(language_table(name, _TABLE).get("and", ()))))
    parts = _split(words(about), joins)
    if len(parts) > 1:
        each = [_named(telling(" ".join(part), name), borne, name, is_weak=is_weak) for part in parts]
        if all(one.clear for one in each):
            return Found(tuple(sorted({place for one in each for place in one.clear})))
    return found


def _named(
    tokens: Sequence[str], borne: Sequence[_Bearing], name: str, *, wants_all: bool = False, is_weak: bool = False
) -> Found:
    older = frozenset(words(" ".join(language_table(name, _TABLE).get("older", ()))))
    scores = [[one.of(token) for token in tokens] for one in borne]
    full = [place for place, score in enumerate(scores) if tokens and all(score)]
    if not full and older.intersection(tokens):
        left = [token for token in tokens if token not in older]
        full = [place for place, one in enumerate(borne) if left and all(map(one.of, left))]
        full = full[:-1] if len(full) > 1 else full
        return Found(tuple(full)) if len(full) == 1 or wants_all else Found(unsure=tuple(full[-_MOST_SHOWN:]))
    exact = [place for place in full if _INFLECTED not in scores[place]]
    chosen = exact if len(exact) == 1 and not wants_all else full
    if len(chosen) == 1 or (wants_all and chosen):
        return Found(tuple(chosen))
    if full or is_weak or not tokens:
        return Found(unsure=tuple(full[-_MOST_SHOWN:]))
    return _partly(tokens, scores)


def _partly(tokens: Sequence[str], scores: Sequence[Sequence[float]]) -> Found:
    """No text bears all that is named: one that bears most of it, with no other near it, is meant all the same."""
    weights = _weights(scores, len(tokens))
    shares = [sum(w * s for w, s in zip(weights, score, strict=True)) / (sum(weights) or 1) for score in scores]
    order = sorted(range(len(shares)), key=lambda place: -shares[place])
    best = [place for place in order if shares[place] > 0]
    if best and shares[best[0]] >= _CLEAR_SHARE and (len(best) == 1 or shares[best[1]] < _MARGIN * shares[best[0]]):
        return Found((best[0],))
    return Found(unsure=tuple(sorted(best[:_MOST_SHOWN])))


def replaced(about: str, denied: str, name: str, said: Sequence[str], *, is_over: bool, verbatim: str) -> Found:
    """Which of the texts, oldest first, a correction puts a newer word in the place of."""
    borne = [_bearing(text, name) for text in said]
    new = _bearing(verbatim, name)
    tokens = [token for token in telling(about, name) if not _is_value(token)]
    scores = [[one.of(token) for token in tokens] for one in borne]
    weights = _weights(scores, len(tokens))
    shares = [sum(w * s for w, s in zip(weights, score, strict=True)) for score in scores]
    if denied:
        no = telling(denied, name)
        held = [place for place, one in enumerate(borne) if no and all(token in one.words for token in no)]
        best = _best(held, shares)
        return Found((best,)) if best is not None else Found()
    if is_over:
        best = _best([place for place, share in enumerate(shares) if share > 0], shares)
        return Found((best,)) if best is not None else Found()
    if not tokens:
        # "No wait, it's the 14th": of what was said last, whatever had a value of that kind.
        recent = range(len(said) - 1, max(-1, len(said) - 1 - _RECENT), -1)
        last = next((place for place in recent if _differs(new, borne[place])), None)
        return Found((last,)) if last is not None else Found()
    held = [place for place, share in enumerate(shares) if share > 0 and _differs(new, borne[place])]
    best = _best(held, shares)
    return Found((best,)) if best is not None else Found()


_RECENT = 3
"""Messages back to which a correction without a name can refer."""


def _best(places: Sequence[int], shares: Sequence[float]) -> int | None:
    """The one that stands out; none where two are alike."""
    order = sorted(places, key=lambda place: -shares[place])
    if not order:
        return None
    return order[0] if len(order) == 1 or shares[order[1]] < _STANDS_OUT * shares[order[0]] else None


_STANDS_OUT = 0.8


def _differs(new: _Bearing, old: _Bearing) -> bool:
    """Whether both have a value of one kind, and not the same."""
    return any(new.values[kind] - old.values[kind] for kind in new.values.keys() & old.values.keys())


def _weights(scores: Sequence[Sequence[float]], count: int) -> list[float]:
    """Rare words say more: by how many texts bear each."""
    borne = [sum(score[token] > 0 for score in scores) for token in range(count)]
    return [math.log(1 + len(scores) / (number or 0.5)) for number in borne]


def telling(text: str, name: str) -> list[str]:
    """The words of a topic that tell what it is about, each once."""
    table = language_table(name, _TABLE)
    if _HAN.search(text):
        kept = [phrase for phrase, _ in _phrases(name) if _HAN.search(phrase) and phrase in text]
        for vague in sorted(table.get("vague", ()), key=len, reverse=True):
            text = text.replace(vague, " ")
        return list(dict.fromkeys((*kept, *words(text))))
    vague = frozenset(words(" ".join(table.get("vague", ()))))
    return list(dict.fromkeys(word for word in words(text) if word not in vague or word in _groups(name)))


def _is_value(token: str) -> bool:
    return bool(_DIGITS.search(token)) or _day(token) is not None


def _day(word: str) -> str | None:
    """The number of a day of the week or a month, also of several ("Wednesdays")."""
    return _day_names().get(word) or _day_names().get(word.removesuffix("s"))


def _bearing(text: str, name: str) -> _Bearing:
    found = words(text)
    spoken, spaced = frozenset(found), f" {' '.join(found)} "
    groups = {group for word in spoken for group in _groups(name).get(word, ())}
    groups |= {group for phrase, group in _phrases(name) if phrase in spaced or (phrase.strip() in text)}
    return _Bearing(spoken, frozenset(groups), _values(text, spoken), name)


def _values(text: str, spoken: Iterable[str]) -> dict[str, frozenset[str]]:
    days = {day for word in spoken if (day := _day(word))}
    days |= {f"d{match[1]}" for match in _HAN_DAY.finditer(text)}
    kinds = {
        "number": frozenset(_DIGITS.findall(text)),
        "weekday": frozenset(day for day in days if day.startswith("d")),
        "month": frozenset(day for day in days if day.startswith("m")),
    }
    return {kind: values for kind, values in kinds.items() if values}


def _is_form(one: str, other: str) -> bool:
    """Whether two words look like forms of one: a long beginning in common, or the one is the end of a compound."""
    if one == other:
        return True
    if _HAN.search(one) or _DIGITS.search(one + other):
        return False
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    rest = max(len(one), len(other)) - shared
    if shared == 3:
        return {one[3:], other[3:]} == {"", "s"}
    short, long = sorted((one, other), key=len)
    if len(short) >= 5 and (long.endswith(short) or (long.startswith("ne") and _is_form(short, long[2:]))):
        return True
    return shared >= 4 and rest <= (2 if shared == 4 else 3)


def _split(found: Sequence[str], joins: frozenset[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in found:
        if word in joins:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


@cache
def _groups(name: str) -> dict[str, frozenset[str]]:
    """The groups of each word of a language that means the same as others."""
    made: dict[str, set[str]] = {}
    for group, spelling in _same(name):
        found = words(spelling)
        if len(found) == 1:
            made.setdefault(found[0], set()).add(group)
    return {word: frozenset(groups) for word, groups in made.items()}


def _groups_of(token: str, name: str) -> frozenset[str]:
    return _groups(name).get(token) or frozenset(group for phrase, group in _phrases(name) if phrase == token)


@cache
def _phrases(name: str) -> tuple[tuple[str, str], ...]:
    found = ((f" {' '.join(words(spelling))} ", group) for group, spelling in _same(name) if len(words(spelling)) > 1)
    han = ((spelling, group) for group, spelling in _same(name) if _HAN.search(spelling))
    return (*found, *han)


def _same(name: str) -> Iterable[tuple[str, str]]:
    for group, spellings in language_table(name, _TABLE).get("same", {}).items():
        yield from ((group, spelling) for spelling in spellings)


@cache
def _day_names() -> dict[str, str]:
    """Days of the week and months, as they are called in any language, and their numbers."""
    found: dict[str, str] = {}
    for name in names():
        tables = language(name)
        for spelling, number in tables.weekdays.items():
            found.update(dict.fromkeys(words(spelling), f"d{number}"))
        for spelling, number in tables.months.items():
            found.setdefault("".join(words(spelling)[:1]), f"m{number}")
    found.pop("", None)
    return found


def bears(about: str, denied: str, name: str, sentence: str) -> bool:
    """Whether a sentence bears a word that tells what some words are about."""
    borne = _bearing(sentence, name)
    return any(borne.of(token) for token in (*telling(about, name), *telling(denied, name)))
