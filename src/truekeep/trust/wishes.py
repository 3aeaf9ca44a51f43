"""Wishes: what an owner's own message asks of the memory itself, to forget something or to take a newer word for it.

Read from one closed table of forms per language (``data/languages/XX/forget.toml``), clause by clause. What stands in
quotation marks is nobody's wish, and neither is what somebody else is said to have said. A form says what is wished
for; which memories that is about is found elsewhere, among the owner's alone. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any

from truekeep.text.language import language, language_of, language_table, languages_with
from truekeep.text.words import said_sentences, words
from truekeep.trust.flow import requests

TABLE = "forget"
_LONGEST_MESSAGE = 8_000
"""Characters of a message that are looked through; whoever writes more than that is not giving a command."""
_LONGEST_CLAUSE = 400
"""Characters of a clause that can be a wish."""
_BREAK = re.compile("[,;:()\uff0c\uff1b\uff1a\uff08\uff09\u2014]| [-\u2013] ")
_QUOTED = re.compile(
    '"[^"]*"?|\u201c[^\u201d]*\u201d?|\u201e[^\u201c\u201d]*[\u201c\u201d]?|\u00ab[^\u00bb]*\u00bb?|\u00bb[^\u00ab]*\u00ab'
    "|\u300c[^\u300d]*\u300d?|\u2018[^\u2019]{12,}\u2019|(?<![^\\s(])'[^']{2,}'(?!\\w)"
)
_UNSPACED = re.compile("[\u3400-\u9fff]")
_PARTS = re.compile(r"[()|?]|\{\}|<[A-Z]>|[^()|?{}<>]+")


class WishKind(StrEnum):
    """What is wished for."""

    FORGET = "forget"
    LAST = "forget_last"
    """To forget what was said just before."""
    CORRECT = "correct"
    """A newer word for something that was said before."""


@dataclass(frozen=True, slots=True)
class OwnerWish:
    """One wish, and the words it is told by."""

    kind: WishKind
    said: str
    """The sentence it stands in, verbatim."""
    language: str
    about: str = ""
    """What is to be forgotten, folded, or what a correction says."""
    denied: str = ""
    """Of a correction: what it says no longer holds ("not Paula")."""
    is_plain: bool = False
    """Whether the memory is surely meant ("what I told you about"), and not a file or a manner of speaking."""
    is_weak: bool = False
    """Whether the verb is as often said of files and meetings ("delete")."""
    wants_all: bool = False
    """Whether everything about it is meant, however much that is."""
    is_over: bool = False
    """Of a correction: whether it says that something ended ("no longer", "moved to"), which needs no other value."""
    is_reported: bool = False
    """Whether somebody else may be the one who said so."""


@dataclass(frozen=True, slots=True)
class _Forms:
    name: str
    leads: tuple[str, ...]
    tails: tuple[str, ...]
    fillers: frozenset[str]
    plain: tuple[re.Pattern[str], ...]
    everything: tuple[re.Pattern[str], ...]
    bare: tuple[re.Pattern[str], ...]
    weak: tuple[re.Pattern[str], ...]
    last: tuple[re.Pattern[str], ...]
    says: frozenset[str]
    now: tuple[str, ...]
    over: tuple[str, ...]
    no: tuple[str, ...]
    spoken: frozenset[str]
    """Words by which neighbouring languages are told apart."""
    cues: frozenset[str]
    """Words of which a message has one if it can be a wish at all."""


def read_wishes(own: str) -> list[OwnerWish]:
    """The wishes in an owner's own words, in order; at most one of a sentence."""
    text = own[:_LONGEST_MESSAGE]
    told = frozenset(words(text))
    chosen: dict[int, tuple[tuple[int, ...], OwnerWish]] = {}
    for forms in _all_forms():
        spoken = len(told & forms.spoken)
        for start, wish in _wishes(text, forms) if _may_hold(text, told, forms) else ():
            rank = (wish.kind is not WishKind.CORRECT, wish.is_plain, bool(wish.denied), spoken)
            if start not in chosen or rank > chosen[start][0]:
                chosen[start] = rank, wish
    return [chosen[start][1] for start in sorted(chosen)]


def may_wish(text: object) -> bool:
    """Whether something in a text may ask to forget or correct."""
    return isinstance(text, str) and bool(read_wishes(text))


def asked_to_forget(what: str) -> OwnerWish:
    """What somebody asks to have forgotten outside a conversation: a whole wish, or only what it is about."""
    for text in (what, *(f"{verb} {what}" for verb in _verbs())):
        for wish in read_wishes(text):
            if wish.kind is WishKind.FORGET and (wish.is_plain or text == what):
                return replace(wish, is_weak=False, is_reported=False)
    name = language_of(words(what)).name if not _UNSPACED.search(what) else "zh"
    return OwnerWish(WishKind.FORGET, what, name if name in languages_with(TABLE) else "en", what, is_plain=True)


@cache
def _verbs() -> tuple[str, ...]:
    """One verb of forgetting in each language."""
    return tuple(language_table(name, TABLE)["forget"][0] for name in languages_with(TABLE))


def _may_hold(text: str, told: frozenset[str], forms: _Forms) -> bool:
    if _is_unspaced(forms.name):
        return any(cue in text for cue in forms.cues)
    return not told.isdisjoint(forms.cues)


def _wishes(text: str, forms: _Forms) -> Iterator[tuple[int, OwnerWish]]:
    for start, end in said_sentences(text):
        sentence = text[start:end]
        clauses = [_plain(part, forms.name) for part in _BREAK.split(_QUOTED.sub(" \u00a7 ", sentence))]
        wish = _asked(sentence.strip(), [one for one in clauses if one], forms)
        if wish is not None:
            yield start, wish


def _asked(sentence: str, clauses: Sequence[str], forms: _Forms) -> OwnerWish | None:
    """The wish in one sentence: to forget something, or else a correction."""
    is_reported = any(not forms.says.isdisjoint(clause.split()) for clause in clauses)
    for place, clause in enumerate(clauses):
        joined = (
            f"{clause}{'' if _is_unspaced(forms.name) else ' '}{clauses[place + 1]}" if clauses[place + 1 :] else ""
        )
        wish = _forgets(sentence, clause, joined, forms)
        if wish is not None:
            return replace(wish, is_reported=is_reported and not wish.is_plain)
    return _corrects(sentence, clauses, forms) if not is_reported else None


def _forgets(sentence: str, clause: str, joined: str, forms: _Forms) -> OwnerWish | None:
    """A wish to forget in a clause, or in two that belong together ("Vergiss, was ich dir gesagt habe")."""
    alone, both = _stripped(clause, forms), _stripped(joined, forms)
    further = _surely(sentence, both, forms)
    last = OwnerWish(WishKind.LAST, sentence, forms.name, is_plain=True)
    if _first(forms.last, alone) is not None and further is None:
        return last
    wish = _surely(sentence, alone, forms)
    if wish is None and _first(forms.last, both) is not None:
        return last
    return wish or further or _perhaps(sentence, alone, forms)


def _perhaps(sentence: str, said: str, forms: _Forms) -> OwnerWish | None:
    """A wish that may be about something else than the memory."""
    if (about := _first(forms.bare, said)) is not None:
        return OwnerWish(WishKind.FORGET, sentence, forms.name, about)
    if (about := _first(forms.weak, said)) is not None:
        return OwnerWish(WishKind.FORGET, sentence, forms.name, about, is_weak=True)
    return None


def _surely(sentence: str, said: str, forms: _Forms) -> OwnerWish | None:
    """A wish that is surely about the memory."""
    if (about := _first(forms.everything, said)) is not None:
        return OwnerWish(WishKind.FORGET, sentence, forms.name, about, is_plain=True, wants_all=True)
    if (about := _first(forms.plain, said)) is not None:
        return OwnerWish(WishKind.FORGET, sentence, forms.name, about, is_plain=True)
    return None


def _corrects(sentence: str, clauses: Sequence[str], forms: _Forms) -> OwnerWish | None:
    """A correction says that it is one ("no wait", "actually", "now") or that something ended ("no longer")."""
    if sentence.rstrip().endswith(("?", "\uff1f")):
        return None
    gap = "" if _is_unspaced(forms.name) else " "
    whole = f" {' , '.join(clauses)} " if gap else ",".join(clauses)
    is_over = _has(whole, forms.over, gap)
    denied = next(
        (rest for clause in clauses for no in forms.no if (rest := _after(clause, no, gap)) and rest not in forms.now),
        "",
    )
    if not is_over and not _has(whole, forms.now, gap) and not _is_name(denied, sentence, forms.name):
        return None
    if not is_over and not denied and _asks_for_an_act(sentence):
        return None
    about = gap.join(clause for clause in clauses if not denied or denied not in clause)
    return OwnerWish(WishKind.CORRECT, sentence, forms.name, about, denied, is_plain=True, is_over=is_over)


def _asks_for_an_act(sentence: str) -> bool:
    """Whether something is to be done with what it names: "Now pay Northwind 60" says nothing of an account."""
    return any(
        clause.sort is requests.ClauseSort.REQUEST and bool(clause.acts) for clause in requests.said(sentence).clauses
    )


def _is_name(denied: str, sentence: str, name: str) -> bool:
    """Whether what is denied is a name or a number: "Paola, not Paula" corrects, "tea, not coffee" need not."""
    if any(letter.isdigit() for letter in denied):
        return True
    if language(name).capital_nouns or _is_unspaced(name):
        return False
    spelt = {part: words(part) for part in sentence.split()[1:] if part[:1].isupper()}
    return any(found == denied.split()[:1] for found in spelt.values())


def _has(whole: str, markers: Iterable[str], gap: str) -> bool:
    return any(f"{gap}{marker}{gap}" in whole for marker in markers)


_MOST_DENIED = 4
"""Words of "not Paula" after the "not"; more is another sentence."""


def _after(clause: str, no: str, gap: str) -> str:
    """What a clause denies, where it does nothing else."""
    start = f"{no}{gap}"
    rest = clause[len(start) :] if clause.startswith(start) else ""
    return rest if len(rest.split()) <= _MOST_DENIED and len(rest) <= 60 else ""


def _first(patterns: Iterable[re.Pattern[str]], said: str) -> str | None:
    for pattern in patterns if 0 < len(said) <= _LONGEST_CLAUSE else ():
        match = pattern.fullmatch(said)
        if match is not None:
            return match["about"].strip() if pattern.groups else ""
    return None


def _stripped(clause: str, forms: _Forms) -> str:
    """A clause without what may stand before and behind a wish; the longest first, each once after the other."""
    gap = "" if _is_unspaced(forms.name) else " "
    text = gap.join(word for word in clause.split() if word not in forms.fillers) if gap else clause
    while (lead := next((one for one in forms.leads if text.startswith(f"{one}{gap}")), None)) is not None:
        text = text[len(lead) + len(gap) :]
    while (tail := next((one for one in forms.tails if text.endswith(f"{gap}{one}")), None)) is not None:
        text = text[: len(text) - len(tail) - len(gap)]
    return text


def _plain(text: str, name: str) -> str:
    """A clause as the forms are written: folded, one space between words, or none where a language has none."""
    if _is_unspaced(name):
        return "".join(unicodedata.normalize("NFKC", text).casefold().split())
    marked = " \u00a7 " if "\u00a7" in text else ""
    return f"{marked}{' '.join(words(text))}".strip()


@cache
def _is_unspaced(name: str) -> bool:
    return not language_table(name, TABLE).get("spaced", True)


@cache
def _all_forms() -> tuple[_Forms, ...]:
    return tuple(_forms(name) for name in languages_with(TABLE))


def _forms(name: str) -> _Forms:
    table = language_table(name, TABLE)

    def listed(key: str) -> tuple[str, ...]:
        return tuple(sorted((_plain(one, name) for one in table.get(key, ())), key=len, reverse=True))

    def patterns(key: str) -> tuple[re.Pattern[str], ...]:
        return tuple(_pattern(one, table, name) for one in table.get(key, ()))

    heads = [one for key in ("forget", "delete", "now", "over", "no", "cues") for one in listed(key)]
    return _Forms(
        name,
        listed("leads"),
        listed("tails"),
        frozenset(listed("fillers")),
        patterns("plain"),
        patterns("everything"),
        patterns("bare"),
        patterns("weak"),
        patterns("last"),
        frozenset(listed("says")),
        listed("now"),
        listed("over"),
        listed("no"),
        frozenset(word for key in ("vague", "leads", "now") for one in listed(key) for word in one.split()),
        frozenset(heads if _is_unspaced(name) else (one.split()[0] for one in heads)),
    )


def _pattern(form: str, table: dict[str, Any] | Any, name: str) -> re.Pattern[str]:
    """One form as a pattern: ``{}`` is what it is about, ``<F>`` any verb of forgetting, ``<D>`` any of deleting."""
    made = []
    for part in _PARTS.findall(form):
        if part == "{}":
            made.append("(?P<about>.+?)")
        elif part in ("<F>", "<D>", "<V>"):
            keys = {"<F>": ("forget",), "<D>": ("delete",), "<V>": ("forget", "delete")}[part]
            spelt = sorted((_plain(one, name) for key in keys for one in table[key]), key=len, reverse=True)
            made.append(f"(?:{'|'.join(map(re.escape, spelt))})")
        elif part in "()|?":
            made.append("(?:" if part == "(" else part)
        else:
            gaps = (" " if part[0] == " " else "", " " if part[-1] == " " else "")
            made.append(f"{gaps[0]}{re.escape(_plain(part, name))}{gaps[1]}" if part.strip() else " ")
    return re.compile("".join(made))
