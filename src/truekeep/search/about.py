"""What of a memory some words are about: the owner's word decides, so only what is clear is taken for meant.

Compared are words and not meanings: whole words, their inflections, and a small table of words that name the same
thing. Everything else is shown and left to a person. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from truekeep.text.language import language, language_of, language_table
from truekeep.text.topics import HAN, TABLE, are_forms, day_of, groups, groups_of, is_value, phrases, telling
from truekeep.text.words import words

_EXACT, _INFLECTED, _CONCEPT = 1.0, 0.8, 0.7
_CLEAR_SHARE = 0.6
"""How much of what is named a memory has to bear, where none bears all of it."""
_LEAST_SHARE = 0.45
"""The same where surely a memory is meant."""
_MARGIN = 0.6
"""How far the next best has to stay behind."""
_MOST_SHOWN = 8
"""Memories that are shown where none is clearly meant."""
_DIGITS = re.compile(r"\d+")
_CAPITAL = re.compile(r"(?<=[^\W_][ ,'\u2019])(?<!\. )[A-Z\u00c0-\u00de\u010c\u0141\u0160\u017d][^\W\d_]+")
_HAN_NUMBER = re.compile(
    "[\u4e00\u4e8c\u4e24\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341][\u4e00\u4e8c\u4e24\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341\u767e\u5343\u4e07\u534a]+"
)
_CLAUSE = re.compile(r"[,;:](?!\d)")
_PARTS = re.compile(r"[,;:](?!\d)|[\uff0c\uff1b\uff1a\u3001]| [-\u2013\u2014] ")
_HAN_DENIED = re.compile("(?:\u4e0d\u662f|\u5e76\u975e|\u4e0d\u53eb|\u4e0d\u5728)[^,\uff0c\u3002\uff1b;]*")
_HAN_DAY = re.compile("(?:\u5468|\u661f\u671f|\u793c\u62dc)([\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u65e5\u5929])")


@dataclass(frozen=True, slots=True)
class Found:
    """Places of memories: those that are clearly meant, or else those that may be."""

    clear: tuple[int, ...] = ()
    unsure: tuple[int, ...] = ()
    is_whole: bool = False
    """Whether what is clear bears every word that was named."""


@dataclass(frozen=True, slots=True)
class _Bearing:
    """What a text bears: its words, the groups of words that mean the same, and its values."""

    words: frozenset[str]
    groups: frozenset[str]
    values: Mapping[str, frozenset[str]]
    names: frozenset[str]
    """Words with a capital within a sentence, where not every noun has one."""
    name: str
    """The language whose words for the same thing are known."""

    def of(self, token: str) -> float:
        """How well it bears a word of a topic."""
        if token in self.words:
            return _EXACT
        if any(are_forms(token, word, self.name) for word in self.words):
            return _INFLECTED
        return _CONCEPT if not self.groups.isdisjoint(groups_of(token, self.name)) else 0.0

    def is_literal(self, tokens: Iterable[str]) -> bool:
        """Whether it bears words themselves, and not only others for the same."""
        return all(self.of(token) > _CONCEPT for token in tokens)


def named(about: str, name: str, said: Sequence[str], *, wants_all: bool = False, is_plain: bool = False) -> Found:
    """Which of the texts, oldest first, are named by words of a language to be forgotten.

    ``is_plain`` says that surely one of them is meant, so that less of what is named has to be borne by the one.
    """
    borne = [_bearing(text, name) for text in said]
    tokens = telling(about, name)
    found = _named(tokens, borne, name, wants_all=wants_all, is_plain=is_plain)
    is_literal = found.is_whole and all(borne[place].is_literal(tokens) for place in found.clear)
    if is_literal or not tokens or HAN.search(about):
        return found
    joins = frozenset(words(" ".join(language_table(name, TABLE).get("and", ()))))
    parts = [telling(" ".join(part), name) for part in _split(words(about), joins)]
    each = [_named(part, borne, name) for part in parts if part]
    if len(each) > 1 and all(one.clear for one in each):
        return Found(tuple(sorted({place for one in each for place in one.clear})), is_whole=True)
    return found


def _named(
    tokens: Sequence[str], borne: Sequence[_Bearing], name: str, *, wants_all: bool = False, is_plain: bool = False
) -> Found:
    older = frozenset(words(" ".join(language_table(name, TABLE).get("older", ()))))
    scores = [[one.of(token) for token in tokens] for one in borne]
    full = [place for place, score in enumerate(scores) if tokens and all(score)]
    if not full and older.intersection(tokens):
        left = [token for token in tokens if token not in older]
        full = [place for place, one in enumerate(borne) if left and all(map(one.of, left))]
        full = full[:-1] if len(full) > 1 else full
        is_one = len(full) == 1 or wants_all
        return Found(tuple(full), is_whole=True) if is_one else Found(unsure=tuple(full[-_MOST_SHOWN:]))
    nearest = [place for place in full if min(scores[place]) == max(min(scores[one]) for one in full)]
    chosen = nearest if len(nearest) == 1 and not wants_all else full
    if len(chosen) == 1 or (wants_all and chosen):
        return Found(tuple(chosen), is_whole=True)
    if full or not tokens:
        return Found(unsure=tuple(full[-_MOST_SHOWN:]))
    return _partly(tokens, scores, _LEAST_SHARE if is_plain else _CLEAR_SHARE, wants_all=wants_all)


def _partly(tokens: Sequence[str], scores: Sequence[Sequence[float]], least: float, *, wants_all: bool) -> Found:
    """No text bears all that is named: one that bears most of it, with no other near it, is meant all the same."""
    weights = _weights(scores, len(tokens))
    shares = [sum(w * s for w, s in zip(weights, score, strict=True)) / (sum(weights) or 1) for score in scores]
    order = sorted(range(len(shares)), key=lambda place: -shares[place])
    best = [place for place in order if shares[place] > 0]
    if best and wants_all and shares[best[0]] >= least:
        return Found(tuple(sorted(place for place in best if shares[place] >= max(least, _MARGIN * shares[best[0]]))))
    if best and shares[best[0]] >= least and (len(best) == 1 or shares[best[1]] < _MARGIN * shares[best[0]]):
        return Found((best[0],))
    return Found(unsure=tuple(sorted(best[:_MOST_SHOWN])))


def told_of(around: str, name: str, said: Sequence[str], *, wants_all: bool) -> Found:
    """Which texts a wish means that names nothing itself: those that bear what was spoken of nearest to it.

    A word that nearly all of them bear tells nothing. One text alone bears it, or everything about it is meant.
    """
    borne = [_bearing(text, name) for text in said]
    for line in reversed(around.splitlines()):
        bearing = [[place for place, one in enumerate(borne) if one.of(token)] for token in telling(line, name)]
        found = [places for places in bearing if places and len(places) <= max(1, 3 * len(said) // 4)]
        places = sorted({place for one in found for place in one})
        most = max(map(len, found), default=0)
        if len(places) == 1 or (wants_all and places and len(places) == most):
            return Found(tuple(places), is_whole=wants_all)
        if places:
            return Found(unsure=tuple(places[-_MOST_SHOWN:]))
    return Found()


def replaced(
    about: str, denied: str, name: str, said: Sequence[str], *, is_over: bool, is_slip: bool, verbatim: str
) -> Found:
    """Which of the texts, oldest first, a correction puts a newer word in the place of."""
    borne = [_bearing(text, name) for text in said]
    new = _bearing(_asserted(verbatim, name), name)
    counts = language(name).numbers
    tokens = [token for token in telling(about, name) if not is_value(token) and token not in counts]
    scores = [[one.of(token) for token in tokens] for one in borne]
    weights = _weights(scores, len(tokens))
    shares = [sum(w * s for w, s in zip(weights, score, strict=True)) for score in scores]
    no = telling(denied, name)
    held = [place for place, one in enumerate(borne) if no and one.is_literal(no)]
    found = _best(held, shares)
    if not found and is_over:
        least = _LEAST_BORNE * sum(weights)
        found = _alike([place for place, share in enumerate(shares) if share > 0 and share >= least], shares, scores)
    if not found and not any(shares) and (not tokens or (is_slip and len(tokens) <= _FEW)):
        # "No wait, it's the 14th": of what was said last, whatever had a value of that kind.
        recent = range(len(said) - 1, max(-1, len(said) - 1 - _RECENT), -1)
        found = [place for place in recent if _differs(new, borne[place])][:1]
    if not found:
        found = _best(
            [place for place, share in enumerate(shares) if share > 0 and _differs(new, borne[place])], shares
        )
    return Found(tuple(found or _renamed(tokens, new, borne, shares)))


def _asserted(text: str, name: str) -> str:
    """A correction without the values that it only denies: "is not 800" puts nothing in the place of "is 900"."""
    if HAN.search(text):
        return _HAN_DENIED.sub("", text)
    roles = language(name).roles.items()
    no = {word for spelling, role in roles if role == "negations" for word in words(spelling)}
    no |= set(words(" ".join(language_table(name, TABLE).get("denies", ()))))
    until = {word for spelling, role in roles if role == "until" for word in words(spelling)}
    kept: list[str] = []
    for clause in _CLAUSE.split(text):
        parts = [(part, words(part)) for part in clause.split()]
        for place, (part, found) in enumerate(parts):
            before = {word for _, near in parts[max(place - _DENIES, 0) : place] for word in near}
            if no.isdisjoint(before) or not until.isdisjoint(before) or not any(map(is_value, found)):
                kept.append(part)
    return " ".join(kept)


def _renamed(tokens: Sequence[str], new: _Bearing, borne: Sequence[_Bearing], shares: Sequence[float]) -> Sequence[int]:
    """Where somebody else is named for the same: all that is said but the name is in the older text, no name is."""
    rest = [token for token in tokens if token not in new.names]
    held = [
        place
        for place, old in enumerate(borne)
        if rest and new.names and old.names and not new.words & old.names and all(map(old.of, rest))
    ]
    return _best(held, shares)


_FEW = 2
_DENIES = 3
"""Words before a value among which a "not" denies it."""
_LEAST_BORNE = 0.3
"""How much of what a correction says a text has to bear."""
_RECENT = 3
"""Messages back to which a correction without a name can refer."""


def _best(places: Sequence[int], shares: Sequence[float]) -> Sequence[int]:
    """The one that stands out; none where two are alike."""
    order = sorted(places, key=lambda place: -shares[place])
    return order[:1] if len(order) == 1 or (order and shares[order[1]] < _STANDS_OUT * shares[order[0]]) else ()


def _alike(places: Sequence[int], shares: Sequence[float], scores: Sequence[Sequence[float]]) -> Sequence[int]:
    """The one that stands out, or all that bear the very same words as the best: what is over is over for all."""
    best = max(places, key=lambda place: shares[place], default=None)
    if best is None:
        return ()
    near = [place for place in places if shares[place] >= _STANDS_OUT * shares[best]]
    return near if all(scores[place] == scores[best] for place in near) else ()


_STANDS_OUT = 0.8


def _differs(new: _Bearing, old: _Bearing) -> bool:
    """Whether both have a value of one kind, and not the same."""
    return any(new.values[kind] - old.values[kind] for kind in new.values.keys() & old.values.keys())


def _weights(scores: Sequence[Sequence[float]], count: int) -> list[float]:
    """Rare words say more: by how many texts bear each."""
    borne = [sum(score[token] > 0 for score in scores) for token in range(count)]
    return [math.log(1 + len(scores) / (number or 1)) for number in borne]


def _bearing(text: str, name: str) -> _Bearing:
    found = words(text)
    spoken, spaced = frozenset(found), f" {' '.join(found)} "
    meant = {group for word in spoken for group in groups(name).get(word, ())}
    meant |= {group for phrase, group in phrases(name) if phrase in spaced or (phrase.strip() in text)}
    return _Bearing(spoken, frozenset(meant), _values(text, found, name), _names(text, name), name)


def _names(text: str, name: str) -> frozenset[str]:
    if language(name).capital_nouns:
        return frozenset()
    capitals = (match[0] for match in _CAPITAL.finditer(text))
    return frozenset(word for one in capitals for word in words(one) if len(word) > 1 and day_of(word) is None)


def _values(text: str, found: Sequence[str], name: str) -> dict[str, frozenset[str]]:
    days = {day for word in found if (day := day_of(word))}
    days |= {f"d{match[1]}" for match in _HAN_DAY.finditer(text)}
    counted = {str(number) for word in found if (number := language(name).numbers.get(word)) is not None}
    kinds = {
        "number": frozenset(_DIGITS.findall(text)),
        "counted": frozenset((*counted, *_HAN_NUMBER.findall(text))),
        "weekday": frozenset(day for day in days if day.startswith("d")),
        "month": frozenset(day for day in days if day.startswith("m")),
    }
    return {kind: values for kind, values in kinds.items() if values}


def _split(found: Sequence[str], joins: frozenset[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in found:
        if word in joins:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def bears(about: str, denied: str, name: str, sentence: str) -> bool:
    """Whether a sentence bears a word that tells what some words are about."""
    borne = _bearing(sentence, name)
    return any(borne.of(token) for token in (*telling(about, name), *telling(denied, name)))


_ONE_FACT = 14
"""Words of a sentence that says one thing."""
_ONE_FACT_HAN = 20
"""The same in signs, where words are not spaced."""


def says_only(sentence: str, newer: str, name: str, *, is_over: bool) -> bool:
    """Whether a sentence says nothing but what a newer one puts something in the place of.

    It is short, of about one clause, and has one value or name that the newer one lacks. Of what ended (an address that
    somebody moved from) such a clause says the whole.
    """
    told = sentence.strip().rstrip(".!?\u3002\uff01\uff1f")
    length, most = (len(told), _ONE_FACT_HAN) if HAN.search(told) else (len(words(told)), _ONE_FACT)
    if length > most or len(_PARTS.split(told)) > 2:
        return False
    old, new = _bearing(told, name), _bearing(newer, name)
    numbers = {kind: old.values.get(kind, frozenset()) - new.values.get(kind, frozenset()) for kind in _COUNTED}
    days = any(kind not in _COUNTED and some - new.values.get(kind, frozenset()) for kind, some in old.values.items())
    counted = sum(map(len, numbers.values()))
    return is_over or len(old.names - new.words) + (counted or days) <= 1


_COUNTED = ("number", "counted")
"""Kinds of values of which each is one; the 12th, its month and its weekday are one date."""


def adds(said: Sequence[str], known: str, name: str) -> bool:
    """Whether a clause states a value or a name that a text lacks; "…, 4471" states nothing, it only says which."""
    old = _bearing(known, name)
    stated = (text for text in said if HAN.search(text) or len(words(text)) > len(telling(text, name)))
    borne = [_bearing(text, name) for text in stated]
    values = (some - old.values.get(kind, frozenset()) for one in borne for kind, some in one.values.items())
    return any(values) or any(one.names - old.words for one in borne)


def tells_more(said: Sequence[str], known: str, name: str) -> bool:
    """Whether clauses have a telling word that a text does not."""
    old = _bearing(known, name)
    return any(not old.of(token) for text in said for token in telling(text, name))


@dataclass(frozen=True, slots=True)
class Stated:
    """What a passage names, without reading what it says of it."""

    telling: frozenset[str]
    values: Mapping[str, frozenset[str]]
    names: frozenset[str]

    def gives_another(self, older: Stated) -> bool:
        """Whether it has another value of a kind, or another name, and shares words with the older one."""
        if len(self.telling & older.telling) < _SHARED:
            return False
        differs = any(self.values[kind] - older.values[kind] for kind in self.values.keys() & older.values.keys())
        return differs or bool(older.names and self.names - older.telling)


_SHARED = 2
"""Telling words that two passages about the same thing share."""


def stated(text: str) -> Stated:
    """What a passage names, in whichever language it is."""
    found = words(text)
    name = "zh" if HAN.search(text) else language_of(found).name
    told = frozenset(word for word in telling(text, name) if len(word) > 2 or not word.isascii())
    return Stated(told, _values(text, found, name), _names(text, name))
