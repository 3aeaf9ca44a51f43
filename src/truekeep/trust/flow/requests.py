"""What the owner asked for: clauses of a message, taken at their opening words and stopped by stop words.

Nothing here understands a sentence. A clause is a request when an opening form heads it, and it proves nothing as soon
as a negation, report, condition, question or quotation stands in it; negations are never counted. After a verb of
saying, what shall be said is dictated: it may be full of negations, and it names no target.

Inside one message, what is negated stays out of reach of that message's requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache

from truekeep.trust.flow.forms import OpeningForms, act_words, bare_letters, common_words, copulas, spoken
from truekeep.trust.flow.reading import TextReading, TypedValue, read, stem


class ClauseSort(StrEnum):
    """What a clause is for the boundary."""

    REQUEST = "request"
    READING = "reading"
    """A request that only asks for something to be looked at."""
    STATEMENT = "statement"
    FRAGMENT = "fragment"
    QUESTION = "question"
    STOPPED = "stopped"
    REFUSAL = "refusal"


PROVING = frozenset({ClauseSort.REQUEST, ClauseSort.READING, ClauseSort.STATEMENT, ClauseSort.FRAGMENT})
_SENTENCE = re.compile(r"[.!?;\u2026]+(?=\s|$)|[\u3002\uff01\uff1f\uff1b]|\n+")
_COMMA = re.compile(r",(?=[\s\u3400-\u9fff])|[\uff0c\u3001]|:(?=\s)| [-\u2013\u2014] |\(|\)(?=\s)")
_QUOTED = re.compile(r"\"[^\"\n]{1,2000}\"|(?<!\w)'[^'\n]{1,400}'(?!\w)")
# Marks that turn a sentence into its opposite.
_IRONY = re.compile("[\U0001f644\U0001f643\U0001f60f\U0001f612\U0001f921]|(?<!\\S)/s(?!\\S)")
_FEW_WORDS = 4
# Words between a thing and where it goes: "the minutes to Jo and the invoice to Ed" are two acts.
_DIRECTIONS = frozenset({"to", "for", "an", "für", "para", "pour", "per", "pre", "pro", "do", "dla", "à"})
_NEAR_JOIN = 8  # words on either side of a joining word that are looked at
_FREE_ORDER = ("sk", "cs", "pl")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
# A name and how much it gets: "Quince Foods 50 euros". What follows the amount belongs to it.
_NAMED_AMOUNT = re.compile(r"(?:[^\W\d_a-z][\w'&.-]*\s+){1,4}[^\w\s]?\d")


@dataclass(frozen=True, slots=True)
class OwnerClause:
    """A piece of a message: what sort it is, which acts its verb can mean, and up to where it names targets."""

    sort: ClauseSort
    start: int
    end: int
    words: tuple[str, ...]
    acts: frozenset[str] = frozenset()
    names_until: int = 0
    refuses: bool = False
    pronoun: bool = False
    goes_on: bool = False
    """Whether a joining word ties it to the clause before."""
    dictates: bool = False
    """Whether what follows in the sentence is what shall be said, and names nothing."""
    polite: bool = False
    """Whether a form of asking stands in it: "please", "bitte"."""
    denies: bool = False
    """Whether a negation or exclusion stands in it; a report or a condition excludes nothing."""
    heads: frozenset[str] = frozenset()
    """Stems of the word that opens it, after greetings and forms of asking."""
    adds: bool = False
    """Whether something is joined to it that no table knows, and that may ask for more."""
    hesitates: bool = False
    """Whether it opens with a word of second thoughts and asks for nothing: "but …", "actually …", "mejor …"."""

    @property
    def stems(self) -> frozenset[str]:
        """Stems of the words that name something."""
        return frozenset(stem(word) for word in self.words if word not in common_words() and len(word) > 1)


@dataclass(frozen=True, slots=True)
class OwnerSaid:
    """A message of the owner's, read: its clauses, and whether its language has tables."""

    reading: TextReading
    clauses: tuple[OwnerClause, ...]
    is_understood: bool
    unquoted: TextReading
    """The same without the sentences in quotation marks, which say nothing of the owner's."""
    quoted: tuple[tuple[int, int], ...] = ()

    def is_quoted_part(self, place: int, length: int) -> bool:
        """Whether something stands inside a quoted sentence and is not the whole of it."""
        return any(a <= place < b and length + 2 < b - a for a, b in self.quoted)

    @property
    def refuses(self) -> bool:
        """Whether it takes back what was asked before."""
        return not self.is_understood or any(clause.refuses for clause in self.clauses)

    def values_in(self, clause: OwnerClause) -> tuple[TypedValue, ...]:
        """The typed values that a clause names, leaving out what it only dictates."""
        end = clause.names_until or clause.end
        return tuple(value for value in self.reading.values if clause.start <= value.start and value.end <= end)

    def sort_at(self, place: int) -> ClauseSort:
        """The sort of the clause at a place; what a clause dictates is a statement to others, not a name."""
        for clause in self.clauses:
            if clause.start <= place < clause.end:
                return clause.sort
        return ClauseSort.STOPPED

    def quotes_in(self, clauses: Iterable[OwnerClause]) -> tuple[str, ...]:
        """What stands in quotation marks in those clauses and is more than a name, without its marks."""
        spans = [(clause.start, clause.end) for clause in clauses]
        return tuple(
            self.reading.flat[match.start() + 1 : match.end() - 1].strip(" .,!")
            for match in _QUOTED.finditer(self.reading.flat)
            if any(start <= match.start() < end for start, end in spans) and " " in match[0].strip()
        )

    def is_dictated(self, place: int) -> bool:
        """Whether a place lies in what shall be said to somebody."""
        return any(0 < clause.names_until <= place < clause.end for clause in self.clauses)


def passage(text: str, at: datetime | None = None) -> OwnerSaid:
    """A remembered passage, read: a fact keeps its sense before a condition that only follows it."""
    return said(text, at, (), True)


@lru_cache(maxsize=1024)
def said(
    text: str, at: datetime | None = None, foreign: tuple[tuple[int, int], ...] = (), is_passage: bool = False
) -> OwnerSaid:
    """A message, read; foreign spans are blanked before anything looks at it."""
    own = "".join("\n" if any(a <= i < b for a, b in foreign) else c for i, c in enumerate(text)) if foreign else text
    reading = read(own, at)
    quoted = tuple(span for match in _QUOTED.finditer(reading.flat) if _is_sentence(span := match.span(), reading))
    unquoted = reading.without(quoted) if quoted else reading
    words = tuple(word for word in _between(unquoted, 0, len(reading.flat)) if word.isalpha() or "'" in word)
    languages = spoken(words)
    clauses: list[OwnerClause] = []
    for sentence in _cut(unquoted.flat, 0, len(reading.flat), _SENTENCE):
        clauses += _sentence(unquoted, sentence, languages, is_passage)
    if _IRONY.search(reading.flat):
        clauses = [_as(clause, ClauseSort.STOPPED) for clause in clauses]
    return OwnerSaid(reading, tuple(clauses), bool(languages) or not reading.words, unquoted, quoted)


def _is_sentence(span: tuple[int, int], reading: TextReading) -> bool:
    """Whether something in quotation marks is a clause somebody said; a quoted value has few words."""
    return len(_between(reading, *span)) > _FEW_WORDS


def _between(reading: TextReading, start: int, end: int) -> tuple[str, ...]:
    return tuple(word for word, _, _ in _inside(reading, start, end))


def _inside(reading: TextReading, start: int, end: int) -> list[tuple[str, int, int]]:
    """The words between two places; what a path, address or identifier is made of are no words of a sentence."""
    return [item for item in reading.between(start, end) if item[2] <= end and not reading.is_glued(item[1])]


def _cut(text: str, start: int, end: int, marks: re.Pattern[str]) -> list[tuple[int, int]]:
    pieces, begin = [], start
    for match in marks.finditer(text, start, end):
        pieces.append((begin, match.end()))
        begin = match.end()
    pieces.append((begin, end))
    return [(a, b) for a, b in pieces if text[a:b].strip()]


def _sentence(
    reading: TextReading,
    span: tuple[int, int],
    languages: tuple[OpeningForms, ...],
    is_passage: bool,
) -> list[OwnerClause]:
    """The clauses of one sentence; conditions and reports reach over all of what follows them in it."""
    asks = reading.flat[span[0] : span[1]].rstrip(" \n\"')").endswith(("?", "\uff1f"))
    parts = [part for piece in _cut(reading.flat, *span, _COMMA) for part in _at_joins(reading, piece, languages)]
    found: list[OwnerClause] = []
    for start, end in parts:
        clause = _clause(reading, start, end, languages)
        is_asked = asks and not (found and found[0].dictates) and not clause.dictates
        if not languages and len(clause.words) > _FEW_WORDS:
            clause = _as(clause, ClauseSort.STOPPED)
        elif is_asked and clause.sort in PROVING and not _is_polite(clause, languages):
            # "Can you move it and assign it to Ana?" asks for both.
            is_more = clause.goes_on and found and found[-1].sort is ClauseSort.REQUEST and bool(clause.acts)
            clause = clause if is_more else _as(clause, ClauseSort.QUESTION)
        if found and clause.sort is ClauseSort.QUESTION and not asks and not copulas().isdisjoint(clause.words[:1]):
            clause = _as(clause, ClauseSort.STATEMENT)  # "her key, (the new one) is …" goes on and asks nothing
        if found and clause.sort is ClauseSort.FRAGMENT and _is_another(reading, found[-1], clause):
            # "Pay Northwind 300 and Quince Foods 50" asks for two acts, each with its own party and amount.
            clause = replace(clause, sort=found[-1].sort, acts=found[-1].acts)
        elif found and found[-1].dictates and clause.sort is not ClauseSort.REQUEST:
            clause = OwnerClause(ClauseSort.FRAGMENT, start, end, (), names_until=start, dictates=True)
        elif not found and clause.sort is ClauseSort.FRAGMENT and len(clause.words) > 1 and not asks and not is_passage:
            # An opening word that no table knows: it asks for nothing but a tool that bears one of its words.
            clause = _as(clause, ClauseSort.REQUEST)
        found.append(clause)
    return _reach(reading, found, languages, is_passage)


def _reach(
    reading: TextReading, clauses: list[OwnerClause], languages: tuple[OpeningForms, ...], is_passage: bool
) -> list[OwnerClause]:
    """What stops more than its own clause.

    A condition stops its whole sentence, unless "and" leads to it; a report stops all that follows it there, and so
    does whatever a colon ends that asks for nothing itself: "careful: …", "the sign reads: …".
    """
    stopped = not is_passage and any(
        _stops(clause, languages, "condition") and not _leads_to_condition(clause, languages) for clause in clauses
    )
    found: list[OwnerClause] = []
    for place, clause in enumerate(clauses):
        before = clauses[place - 1] if place else None
        if before and not is_passage and clause.sort is ClauseSort.REQUEST and _announces(reading, before, clause):
            stopped = True
        stopped = stopped or _stops(clause, languages, "report") or _stops(clause, languages, "condition")
        found.append(_as(clause, ClauseSort.STOPPED) if stopped and clause.sort in PROVING else clause)
    return found


def _announces(reading: TextReading, clause: OwnerClause, following: OwnerClause) -> bool:
    """Whether a clause that asks for nothing ends in a colon, and what follows it is no value ("the page: https…")."""
    is_open = reading.flat[clause.start : clause.end].rstrip().endswith((":", "\uff1a"))
    first = next((start for _, start, _ in reading.between(following.start, following.end)), -1)
    is_value = any(value.start <= first < value.end for value in reading.values)
    return is_open and bool(clause.stems) and not (clause.sort in PROVING and clause.acts) and not is_value


def _leads_to_condition(clause: OwnerClause, languages: tuple[OpeningForms, ...]) -> bool:
    """Whether a clause opens like "and if it fails": what stands before it is asked for in any case."""
    return any(
        (length := forms.at("joins", clause.words, 0)) and forms.at("condition", clause.words, length)
        for forms in languages
    )


def _stops(clause: OwnerClause, languages: tuple[OpeningForms, ...], sort: str) -> bool:
    return clause.sort is ClauseSort.STOPPED and any(forms.has(sort, clause.words) for forms in languages)


def _as(clause: OwnerClause, sort: ClauseSort) -> OwnerClause:
    return replace(clause, sort=sort)


def _is_polite(clause: OwnerClause, languages: tuple[OpeningForms, ...]) -> bool:
    return any(forms.at("polite", clause.words, _after_leads(clause.words, forms)) for forms in languages)


def _at_joins(
    reading: TextReading, span: tuple[int, int], languages: tuple[OpeningForms, ...]
) -> list[tuple[int, int]]:
    """A piece cut again where a joining word stands before an opening form, or before another name with an amount."""
    start, end = span
    inside = _inside(reading, start, end)
    words = tuple(word for word, _, _ in inside)
    places = {
        place
        for place in range(1, len(inside) - 1)
        if any(
            (length := forms.at("joins", words, place))
            and (
                forms.at("condition", words, place + length)
                or _opens(forms, words, place + 1)
                or _shares_out(reading, start, inside, place, place + length)
            )
            for forms in languages
        )
    }
    cuts = [inside[place][1] for place in sorted(places) if place - 1 not in places]  # "and then" is one join
    return list(zip([start, *cuts], [*cuts, end], strict=True))


def _shares_out(
    reading: TextReading, start: int, inside: Sequence[tuple[str, int, int]], join: int, after: int
) -> bool:
    """Whether a name with an amount, or a thing with a word of direction, stands on both sides of a joining word."""
    if after >= len(inside):
        return False
    before = _DIRECTIONS.intersection(word for word, _, _ in inside[max(0, join - _NEAR_JOIN) : join])
    if before.intersection(word for word, _, _ in inside[after + 1 : after + 1 + _NEAR_JOIN]):
        return True
    if not _NAMED_AMOUNT.match(reading.cased, inside[after][1]):
        return False
    return bool(_NAMED_AMOUNT.search(reading.cased, start, inside[join][1]))


def _is_another(reading: TextReading, before: OwnerClause, clause: OwnerClause) -> bool:
    """Whether a piece goes on with a request: another name with another amount, another thing that goes elsewhere."""
    if before.sort is not ClauseSort.REQUEST:
        return False
    if clause.goes_on and _DIRECTIONS.intersection(before.words).intersection(clause.words[2:]):
        return True
    words = [first for _, first, _ in reading.spans if first >= clause.start][:2]
    is_named = bool(_NAMED_AMOUNT.search(reading.cased, before.start, before.end))
    return is_named and any(_NAMED_AMOUNT.match(reading.cased, first) for first in words)


def _opens(forms: OpeningForms, words: tuple[str, ...], place: int) -> bool:
    return bool(forms.acts_at(words, place) or forms.at("polite", words, place) or forms.at("refusal", words, place))


def _after_leads(words: tuple[str, ...], forms: OpeningForms) -> int:
    place = 0
    while place < len(words):
        length = forms.at("leads", words, place) or forms.at("joins", words, place)
        if not length:
            break
        place += length
    return place


def after_polite(words: tuple[str, ...], forms: OpeningForms) -> int:
    """Where a clause begins, after greetings and forms of asking."""
    place = _after_leads(words, forms)
    while place < len(words) and (length := forms.at("polite", words, place)):
        place += length
    return place


def _clause(reading: TextReading, start: int, end: int, languages: tuple[OpeningForms, ...]) -> OwnerClause:
    inside = _inside(reading, start, end)
    words = tuple(word for word, _, _ in inside)
    best = OwnerClause(ClauseSort.FRAGMENT, start, end, words)
    refuses = any(forms.at("refusal", words, _after_leads(words, forms)) for forms in languages)
    for forms in languages:
        acts, cut, sort = _opening(words, forms)
        until = inside[cut][1] if cut < len(words) else end
        if sort is ClauseSort.STOPPED or best.sort is ClauseSort.STOPPED:
            best = OwnerClause(ClauseSort.STOPPED, start, end, words, best.acts | acts, until)
        elif sort not in (ClauseSort.FRAGMENT, ClauseSort.STATEMENT) or best.sort is ClauseSort.FRAGMENT:
            pronoun = forms.has("pronouns", words[:cut])
            best = OwnerClause(sort, start, end, words, best.acts | acts, until, pronoun=pronoun or best.pronoun)
    dictates = "say" in best.acts and (
        0 < best.names_until < end or reading.flat[start:end].rstrip().endswith((":", "\uff1a"))
    )
    goes_on = any(forms.at("joins", words, 0) for forms in languages)
    is_bare = refuses and all(
        word in common_words() or _is_refusal(word, languages)
        for word in words[min((_after_leads(words, forms) for forms in languages), default=0) :]
    )
    sort = ClauseSort.REFUSAL if is_bare else best.sort
    # "when a station has no readings" tells of something; it forbids nothing.
    denies = sort is ClauseSort.STOPPED and any(
        forms.has("negation", words) and not forms.has("copulas", words) for forms in languages
    )
    polite = any(forms.has("polite", words) for forms in languages)
    heads = frozenset(stem(words[at]) for forms in languages if (at := after_polite(words, forms)) < len(words))
    return OwnerClause(
        sort, start, end, words, best.acts, best.names_until, refuses, best.pronoun, goes_on, dictates, polite, denies,
        heads, any(forms.has("joins", words[1:]) for forms in languages), _hesitates(words, sort, best.acts, languages),
    )  # fmt: skip


def _hesitates(
    words: tuple[str, ...], sort: ClauseSort, acts: frozenset[str], languages: Iterable[OpeningForms]
) -> bool:
    is_asking = sort is ClauseSort.REQUEST and bool(acts)
    return not is_asking and any(
        forms.at("second_thoughts", words, place) for forms in languages for place in range(min(2, len(words)))
    )


def _is_refusal(word: str, languages: Iterable[OpeningForms]) -> bool:
    return any(word in phrase for forms in languages for some in forms.phrases["refusal"].values() for phrase in some)


def _without_polite(words: tuple[str, ...], place: int, forms: OpeningForms) -> tuple[str, ...]:
    """The words from a place on without forms of asking: "would you" at the end is no condition."""
    rest: list[str] = []
    while place < len(words):
        length = forms.at("polite", words, place)
        rest += () if length else (words[place],)
        place += length or 1
    return tuple(rest)


def _opening(words: tuple[str, ...], forms: OpeningForms) -> tuple[frozenset[str], int, ClauseSort]:
    """The acts of a clause's heading verb, the place where dictation begins, and the clause's sort."""
    begin = after_polite(words, forms)
    polite = begin > _after_leads(words, forms)
    place, acts = _verb(words, begin, forms)
    if "do" in acts:
        # "Make a transfer", "zrób przelew": such a verb pays if the noun after it says so.
        noun = next((word for word in words[place + 1 :] if word not in common_words()), "")
        acts |= act_words().get(bare_letters(noun), frozenset()) & {"pay"}
    cut = len(words)
    if "say" in acts:
        cut = next((at for at in range(place + 1, len(words)) if forms.at("dictating", words, at)), len(words))
    if _is_stopped(words[:cut], begin, acts, forms):
        sort = ClauseSort.STOPPED
    elif not acts and polite and forms.has("question", tuple(word for word in words if word not in copulas())):
        sort = ClauseSort.QUESTION  # "can you tell me how to pay"
    elif acts or (polite and not forms.has("wishes", words[:begin])):
        sort = ClauseSort.READING if acts and acts <= {"reads"} else ClauseSort.REQUEST
    elif forms.at("question", words, begin):
        sort = ClauseSort.QUESTION
    else:
        sort = ClauseSort.STATEMENT if forms.has("copulas", words[:cut]) else ClauseSort.FRAGMENT
    return acts - {"reads"}, cut, sort


def _verb(words: tuple[str, ...], begin: int, forms: OpeningForms) -> tuple[int, frozenset[str]]:
    """Where a clause's verb stands, and the acts that it can mean.

    A command heads its clause, except in languages whose tables hold nothing but imperatives, and where a pronoun is
    written onto it ("la de la luz ponla …"). After a form of asking stands the infinitive, as in names of tools, or in
    German the clause ends in it; Chinese puts the object of "把" before the verb.
    """
    is_asking = forms.has("polite", words)
    is_free = (forms.name in _FREE_ORDER and not forms.has("copulas", words)) or (is_asking and forms.name == "zh")
    for at in range(begin, len(words)):
        if (at == begin or is_free or forms.is_enclitic(words[at])) and (acts := forms.acts_at(words, at)):
            return at, acts
    for at in (begin, len(words) - 1) if is_asking and begin < len(words) else ():
        infinitive = bare_letters(words[at].translate(_UMLAUTS) if at > begin else words[at])
        if infinitive in act_words():
            return begin, act_words()[infinitive]
    return begin, frozenset()


def _is_stopped(words: tuple[str, ...], begin: int, acts: frozenset[str], forms: OpeningForms) -> bool:
    """Whether a negation, report or condition stands in a clause, or it refuses something without a verb for it."""
    if acts and forms.has("negation", words[begin : begin + 1]) and not act_words().keys() & set(words[begin + 1 :]):
        words = (*words[:begin], *words[begin + 1 :])  # "stop the server" stops it, "stop sending mails" sends none
    # "check what the page says" passes nothing on: a report is what is asked about there.
    sorts = ("negation",) if acts and acts <= {"reads"} else ("negation", "report")
    if any(forms.has(sort, words) for sort in sorts) or forms.has("condition", _without_polite(words, begin, forms)):
        return True
    return not acts and bool(forms.at("refusal", words, begin)) and not forms.has("copulas", words)
