"""Wishes: what an owner's own message asks of the memory itself, to forget something or to take a newer word for it.

Read clause by clause from one table of words per language (``data/languages/XX/forget.toml``). A verb of forgetting
counts where it is asked of the listener: as an order, or after words that ask ("could you", "bitte"); never behind a
"don't" or somebody's "I". All other words of the clause are what it is about. What stands in quotation marks is
nobody's wish, and what somebody else may have said is only shown. Which memories are meant is found elsewhere, among
the owner's alone. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import islice

from truekeep.text.language import language, language_of
from truekeep.text.topics import groups_of, is_unspaced, is_value, telling
from truekeep.text.words import said_sentences, words
from truekeep.trust.flow import requests
from truekeep.trust.wish_words import (
    MARK,
    NONE,
    Forms,
    Words,
    all_forms,
    closes,
    cut,
    ends,
    holds,
    is_parted,
    joined,
    without,
)

_LONGEST_MESSAGE = 8_000
"""Characters of a message that are looked through; whoever writes more than that is not giving a command."""
_MOST_SENTENCES = 300
"""Sentences that are looked through, in every language that the message may be in; a list of more holds no command."""
_LONGEST_AROUND = 1_000
"""Characters before a wish among which it may have named what it means."""
_LONGEST_CLAUSE = 60
"""Words of a clause that can be a wish."""
_BREAK = re.compile("[,;:()\uff0c\uff1b\uff1a\uff08\uff09\u2014\u2026]| [-\u2013] |\\.{2,}")
_QUOTED = re.compile(
    '"[^"]*"?|\u201c[^\u201d]*\u201d?|\u201e[^\u201c\u201d]*[\u201c\u201d]?|\u00ab[^\u00bb]*\u00bb?|\u00bb[^\u00ab]*\u00ab'
    "|\u300c[^\u300d]*\u300d?|\u2018[^\u2019]{12,}\u2019|(?<![^\\s(])'[^']{2,}'(?!\\w)"
)
_UNSPACED = re.compile("[\u3400-\u9fff]")
_NEAR = 2
"""Words next to a verb within which a "not" or an "I" belongs to it."""
_SUBJECT = 4
"""Words before a verb of saying among which its subject stands."""
_LEAST_SPOKEN = 0.6
"""How many small words of a language a message has, against the language of which it has most."""
_TO, _MAY_GO = 2, 4
_WEAK = frozenset({1, 3, 4})
"""Kinds of verbs, in the order in which they are looked for: which of them are said of files as often."""


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
    around: str = ""
    """What else the message says, by lines, the nearest last: "The wedding is off. Wipe all of it." """
    beside: tuple[str, ...] = ()
    """The other clauses of its sentence, verbatim: "delete my old address, the new one is …"."""
    news: tuple[str, ...] = ()
    """Those of them that say that something is new, folded and without the words that say so."""
    denied: str = ""
    """Of a correction: what it says no longer holds ("not Paula")."""
    is_plain: bool = False
    """Whether the memory is surely meant ("what I told you about"), and not a file or a manner of speaking."""
    is_weak: bool = False
    """Whether the verb is as often said of files and meetings ("delete")."""
    wants_all: bool = False
    """Whether everything about it is meant, however much that is."""
    is_slip: bool = False
    """Of a correction: whether it puts right what was said just before ("no wait", "typo")."""
    is_over: bool = False
    """Of a correction: whether it says that something ended ("no longer", "moved to"), which needs no other value."""
    is_reported: bool = False
    """Whether somebody else may be the one who said so, or somebody's file be meant."""


@dataclass(frozen=True, slots=True)
class _Verb:
    """A verb of forgetting that is asked of the listener, and where it stands."""

    start: int
    end: int
    is_weak: bool
    points: bool = False
    has_topic_before: bool = True


def read_wishes(own: str) -> list[OwnerWish]:
    """The wishes in an owner's own words, in order; at most one of a sentence."""
    return list(_read(own[:_LONGEST_MESSAGE]))


@lru_cache(maxsize=16)
def _read(text: str) -> tuple[OwnerWish, ...]:
    """What a message is read for several times while it is taken in."""
    told = frozenset(words(text))
    spoken_in = {forms.name: len(told & forms.spoken) for forms in all_forms()}
    chosen: dict[int, tuple[tuple[int, ...], OwnerWish]] = {}
    for forms in all_forms():
        spoken = spoken_in[forms.name]
        is_foreign = not is_unspaced(forms.name) and spoken + 1 < _LEAST_SPOKEN * max(spoken_in.values())
        for start, wish in _wishes(text, forms) if not is_foreign and _may_hold(text, told, forms) else ():
            rank = (wish.kind is not WishKind.CORRECT, wish.is_plain, spoken, bool(wish.denied))
            if start not in chosen or rank > chosen[start][0]:
                chosen[start] = rank, wish
    return tuple(chosen[start][1] for start in sorted(chosen))


def may_wish(text: object) -> bool:
    """Whether something in a text may ask to forget or correct."""
    return isinstance(text, str) and bool(read_wishes(text))


def asked_to_forget(what: str) -> OwnerWish:
    """What somebody asks to have forgotten outside a conversation: a whole wish, or only what it is about."""
    for wish in read_wishes(what):
        if wish.kind is WishKind.FORGET:
            return replace(wish, is_weak=False, is_reported=False)
    name = language_of(words(what)).name if not _UNSPACED.search(what) else "zh"
    forms = next((one for one in all_forms() if one.name == name), all_forms()[0])
    said = cut(what, forms.name)
    wants_all = holds(said, forms.everything)
    return OwnerWish(WishKind.FORGET, what, forms.name, joined(said, forms), is_plain=True, wants_all=wants_all)


def _may_hold(text: str, told: frozenset[str], forms: Forms) -> bool:
    if is_unspaced(forms.name):
        return any(cue in text for cue in forms.cues)
    return not told.isdisjoint(forms.cues)


def _wishes(text: str, forms: Forms) -> Iterator[tuple[int, OwnerWish]]:
    before = ""
    for start, end in islice(said_sentences(text), _MOST_SENTENCES):
        sentence = text[start:end]
        parts = _parts(sentence, forms)
        wish = _asked(sentence.strip(), [cut(part, forms.name) for part in parts], before, forms)
        if wish is not None:
            yield start, wish
        before = f"{before}\n{sentence.strip()}"[-_LONGEST_AROUND:]


def _parts(sentence: str, forms: Forms) -> list[str]:
    return [part for part in _BREAK.split(_QUOTED.sub(f" {MARK} ", sentence)) if cut(part, forms.name)]


def _asked(sentence: str, clauses: Sequence[Words], before: str, forms: Forms) -> OwnerWish | None:
    """The wish in one sentence: to forget something, or else a correction."""
    bare: OwnerWish | None = None
    for place, clause in enumerate(clauses):
        if clause in forms.unsaid or without(clause, forms.polite) in forms.unsaid:
            beside, news = _beside(sentence, place, forms)
            return OwnerWish(WishKind.LAST, sentence, forms.name, beside=beside, news=news, is_plain=True)
        verb = _verb(clause, forms) if len(clause) <= _LONGEST_CLAUSE else None
        wish = _forgets(sentence, clauses, place, verb, forms) if verb is not None else None
        if wish is not None and (wish.kind is WishKind.LAST or not wish.around):
            return wish
        bare = bare or wish
    if bare is not None:
        after, _, own = bare.around.partition(MARK)
        return replace(bare, around="\n".join((after, before, own)))
    is_reported = any(_is_reported(clause, forms) for clause in clauses)
    return _corrects(sentence, clauses, forms) if not is_reported else None


def _verb(clause: Words, forms: Forms) -> _Verb | None:
    """The first verb of forgetting in a clause that is asked of whoever reads it."""
    kinds = (forms.forget, forms.delete, forms.to_forget, forms.to_delete, forms.may_go)
    for start in range(len(clause)):
        for kind, phrases in enumerate(kinds):
            end = ends(phrases, clause, start)
            if end and _is_asked(clause, start, end, kind, forms):
                points = clause[start:end] in forms.pointing
                opens = not forms.is_first or points or kind == _MAY_GO
                has_topic = opens or bool(ends(forms.topics, without(clause[:start], forms.polite), 0))
                return _Verb(start, end, kind in _WEAK, points, has_topic)
        rest = forms.parted.get(clause[start], NONE)
        if not rest.isdisjoint(clause[start + 1 :]) and _is_asked(clause, start, len(clause), 1, forms):
            return _Verb(start, start + 1, is_weak=True)
    return None


def _is_asked(clause: Words, start: int, end: int, kind: int, forms: Forms) -> bool:
    before, after = clause[:start], clause[end:]
    plain = without(before, forms.polite)
    if _guarded(plain, forms) or any(ends(forms.denials, after, place) for place in range(min(_NEAR, len(after)))):
        return False
    if kind == _MAY_GO:
        return bool(plain)
    if kind < _TO:
        is_led = not plain or ends(forms.topics, plain, 0) or clause[start:end] in forms.pointing
        if is_led or not forms.is_first:
            return True
    if forms.is_first:
        return _is_asked_for(before, forms)
    return kind >= _TO and (holds(before, forms.ask) or holds(after, forms.ask))


def _guarded(plain: Words, forms: Forms) -> bool:
    """Whether a "not", an "I" or a "how to" stands before a verb, or one word further."""
    gaps = (0,) if is_unspaced(forms.name) else range(min(_NEAR, len(plain) + 1))
    return any(closes(forms.guards, plain[: len(plain) - gap]) for gap in gaps)


def _is_asked_for(before: Words, forms: Forms) -> bool:
    """Whether words that ask lead to the verb, with nothing but small words between."""
    while before:
        if closes(forms.ask, before):
            return True
        if before[-1] not in forms.polite:
            return False
        before = before[:-1]
    return False


def _forgets(sentence: str, clauses: Sequence[Words], place: int, verb: _Verb, forms: Forms) -> OwnerWish:
    clause = clauses[place]
    about = _topic(clauses, place, verb, forms)
    surely = holds(about, forms.topics)
    others = [*clauses[:place], clause[: verb.start], *clauses[place + 1 : place + 2]]
    is_reported = any(_is_reported(one, forms) for one in others)
    beside, news = _beside(sentence, place, forms)
    tells = bool(telling(joined(about, forms), forms.name))
    if not tells and (holds(clause, forms.this) or (verb.points and surely)):
        return OwnerWish(
            WishKind.LAST, sentence, forms.name, beside=beside, news=news, is_plain=True, is_reported=is_reported
        )
    around = (*clauses[place + 1 :], (MARK,), *clauses[:place], clause[: verb.start])
    return OwnerWish(
        WishKind.FORGET,
        sentence,
        forms.name,
        joined(about, forms),
        "" if tells else "\n".join(joined(one, forms) for one in around if one),
        beside,
        news,
        is_plain=surely and not is_reported,
        is_weak=verb.is_weak and not surely,
        wants_all=holds(clause, forms.everything),
        is_reported=is_reported
        or (verb.is_weak and any(holds(one, forms.things) for one in ((about,) if tells else (*around, clause)))),
    )


def _beside(sentence: str, place: int, forms: Forms) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The clauses beside the one that wishes, without "what I told you about …"; and those with something new."""
    others = [part for number, part in enumerate(_parts(sentence, forms)) if number != place]
    beside = [part for part in others if not ends(forms.topics, _bared(cut(part, forms.name), forms.polite), 0)]
    new = [said for part in beside if holds(said := cut(part, forms.name), forms.now)]
    return tuple(beside), tuple(joined(_cueless(said, forms), forms) for said in new)


def _topic(clauses: Sequence[Words], place: int, verb: _Verb, forms: Forms) -> Words:
    """What a verb is about: the other words of its clause, else what stands beside it ("Vergiss, was ich …")."""
    clause = clauses[place]
    before = clause[: verb.start] if verb.has_topic_before else ()
    own = (*_bared(before, forms.polite), *_bared(clause[verb.end :], forms.polite))
    if telling(joined(own, forms), forms.name):
        return own
    for beside in (*clauses[place + 1 : place + 2], *clauses[max(place - 1, 0) : place]):
        plain = _bared(beside, forms.polite)
        if ends(forms.topics, plain, 0) and telling(joined(plain, forms), forms.name):
            return (*plain, *own)
    return own


def _bared(said: Words, small: frozenset[str]) -> Words:
    """Words without the small ones before and behind them."""
    kept = [place for place, word in enumerate(said) if word not in small]
    return said[kept[0] : kept[-1] + 1] if kept else ()


def _is_reported(clause: Words, forms: Forms) -> bool:
    """Whether somebody else says something in a clause: "she told me", not "I told you"."""
    for place in range(len(clause)):
        end = ends(forms.says, clause, place)
        if end and forms.mine.isdisjoint(clause[max(place - _SUBJECT, 0) : end + 1]):
            return True
    return False


def _corrects(sentence: str, clauses: Sequence[Words], forms: Forms) -> OwnerWish | None:
    """A correction says that it is one ("no wait", "actually", "now") or that something ended ("no longer")."""
    if sentence.rstrip().endswith(("?", "\uff1f")):
        return None
    ended = [clause for clause in clauses if holds(clause, forms.over) or is_parted(clause, forms.over_parted)]
    is_over = bool(ended)
    nots = (_denied(clause, forms) for clause in clauses)
    denied = next((rest for rest in nots if rest), ())
    is_new = any(holds(clause, forms.now) for clause in clauses) or (len(clauses) > 1 and clauses[0] in forms.nay)
    if not is_over and not is_new and not _is_name(denied, sentence, forms.name):
        return None
    if not is_over and not denied and _asks_for_an_act(sentence):
        return None
    left = ended if is_over and not denied else [one for one in clauses if not denied or denied != _denied(one, forms)]
    told = [word for clause in left or clauses for word in _cueless(clause, forms)]
    about, no = joined(told, forms), joined(denied, forms)
    is_slip = any(holds(clause, forms.slips) for clause in clauses)
    return OwnerWish(
        WishKind.CORRECT, sentence, forms.name, about, denied=no, is_plain=True, is_slip=is_slip, is_over=is_over
    )


def _cueless(clause: Words, forms: Forms) -> Iterator[str]:
    """A clause without the words by which it is a correction: they say nothing of what it corrects."""
    place = 0
    while place < len(clause):
        end = max(ends(forms.now, clause, place), ends(forms.over, clause, place))
        cue = clause[place : end or place + 1]
        if not end or any(groups_of(word, forms.name) for word in (*cue, joined(cue, forms))):
            yield from cue
        place += len(cue)


def _asks_for_an_act(sentence: str) -> bool:
    """Whether something is to be done with what it names: "Now pay Northwind 60" says nothing of an account."""
    return any(
        clause.sort is requests.ClauseSort.REQUEST and bool(clause.acts) for clause in requests.said(sentence).clauses
    )


def _is_name(denied: Words, sentence: str, name: str) -> bool:
    """Whether what is denied is a name or a number: "Paola, not Paula" corrects, "tea, not coffee" need not."""
    if any(map(is_value, denied)):
        return True
    if language(name).capital_nouns or is_unspaced(name):
        return False
    spelt = {part: words(part) for part in sentence.split()[1:] if part[:1].isupper()}
    return any(found == list(denied[:1]) for found in spelt.values())


_MOST_DENIED = 4
"""Words of "not Paula" after the "not"; more is another sentence."""


def _denied(clause: Words, forms: Forms) -> Words:
    """What a clause denies, where it does nothing else, or a value behind another one ("Saturday not Friday")."""
    for no in forms.no:
        if no[0] not in clause:
            continue
        but = next((place for place, word in enumerate(clause) if place > len(no) and word in forms.but), None)
        rest = clause[len(no) : but]
        if clause[: len(no)] == no and 0 < len(rest) <= _MOST_DENIED and not ends(forms.now, rest, 0):
            return rest
        for place in range(max(len(clause) - _MOST_DENIED, 1), len(clause) - len(no)):
            rest = clause[place + len(no) :]
            if clause[place : place + len(no)] == no and is_value(rest[-1]) and is_value(clause[place - 1]):
                return rest
    return ()
