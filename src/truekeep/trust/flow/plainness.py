"""Whether a request is nothing but a request: every word of it is accounted for, or it is in doubt.

A value that others wrote and the owner names is the one an attacker waits for: whoever warns of it, reports it, laughs
at it or takes it back names it, too. So there no list of what spoils a request is enough. The whole message has to be
read: the verb at its head, the values of the call, what belongs around them, and nothing else; and what the owner said
afterwards has to be understood. What is left over means that the owner is asked. The same holds for an address or
account that something goes to, and for a place where something is taken away, whoever named it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from truekeep.trust.flow.calls import ToolCall
from truekeep.trust.flow.evidence import ValueOrigin
from truekeep.trust.flow.forms import (
    LANGUAGES,
    OpeningForms,
    act_stems,
    act_words,
    bare_letters,
    forms,
    name_words,
    spoken,
)
from truekeep.trust.flow.index import places_of, stands_whole
from truekeep.trust.flow.moments import HALF_DAY, is_moment
from truekeep.trust.flow.reading import TextReading, TypedValue, read, stem
from truekeep.trust.flow.requests import ClauseSort, OwnerClause, OwnerSaid, after_polite
from truekeep.trust.flow.roles import money_words, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from truekeep.trust.flow.scope import RequestScope

_SLIGHT = 3
"""Letters of the shortest value that is recognised in foreign text; a shorter one stands anywhere by accident."""
_ACCOUNT_DIGITS = 6
"""Digits of the shortest account; shorter codes are numbers of orders and tickets."""
_DESCRIBING = 2
"""Words that may say what a thing is and that the call does not take up: "the monthly report"."""
_MARKS = re.compile(
    r"[\w\s,.!;:?'\"`()\u00a1\u00bf\u2013\u2014\u3001\u3002\uff0c\uff01\uff1f\uff1a$\u20ac\u00a3%#/@+-]*"
)
"""What may be written in a plain request: no signs of irony, quotation or markup."""
_TRAILING_OFF = re.compile(r"\.\.|\s/\s*\w$")
_QUOTED = re.compile(r"([\"`])(.*?)\1|(?<!\w)(')([^']*)'(?!\w)")
_THAT = frozenset({"that", "dass", "daß", "que", "che", "že"})
"""What opens words that shall be said, and never a condition."""
_OUTGOING = {"mail": frozenset({"say", "pay", "share"}), "code": frozenset({"pay"}), "path": frozenset({"remove"})}
"""By the kind of a value: the acts for which it is who gets something, or what is gone afterwards."""


def words_left_over(scope: RequestScope, call: ToolCall, origins: Mapping[str, ValueOrigin]) -> bool:
    """Whether the request proves a value that an attacker may wait for, and the owner's words hold more than that."""
    said = [leaf for leaf in call.targets if origins.get(leaf.path) is ValueOrigin.REQUEST]
    awaited = [value for leaf in said if _is_awaited(scope, call, value := read(leaf.text))]
    return bool(awaited) and not _PlainRequest(scope, call).is_plain(awaited)


def _is_awaited(scope: RequestScope, call: ToolCall, value: TextReading) -> bool:
    """Whether others wrote a value, in this session or before, or something goes to it or is gone with it."""
    if len(value.flat.strip()) < _SLIGHT:
        return False
    is_heard = any(True for index in (scope.evidence.foreign, scope.evidence.hearsay) for _ in index.hinting(value))
    return is_heard or any(_goes_to(call, *key.split(":", 1)) for key in value.sole)


def _goes_to(call: ToolCall, kind: str, form: str) -> bool:
    is_short = kind == "code" and sum(map(str.isdigit, form)) < _ACCOUNT_DIGITS
    return not is_short and bool(_OUTGOING.get(kind, frozenset()) & call.acts)


@dataclass(frozen=True)
class _PlainRequest:
    """One request and one call, compared word by word."""

    scope: RequestScope
    call: ToolCall

    def is_plain(self, awaited: Sequence[TextReading]) -> bool:
        """Whether the message is understood as a whole, and so is what came after it."""
        own = self.scope.own
        later = self.scope.evidence.requests.messages[self.scope.request.message + 1 :]
        return (
            all(_is_clear(clause) for message in later for clause in message.clauses)
            and self._is_cleanly_written(awaited)
            and not _is_denying(own)
            and all(self._is_understood(place, clause) for place, clause in enumerate(own.clauses))
            and all(any(map(self._is_asked_at, places_of(own.reading, value))) for value in awaited)
        )

    def _is_cleanly_written(self, awaited: Sequence[TextReading]) -> bool:
        """Whether nothing is a quotation, trails off, or asks without a form of asking for something."""
        flat = self.scope.own.reading.flat
        given = {read(leaf.text).flat for leaf in self.call.leaves}
        quoted = {match[2] or match[4] or "" for match in _QUOTED.finditer(flat)} - given
        is_quoting = any(stands_whole(read(text), value) for text in quoted for value in awaited)
        is_asking = "?" in flat and not any(clause.polite for clause in self.scope.own.clauses)
        return bool(_MARKS.fullmatch(flat)) and not (_TRAILING_OFF.search(flat) or is_quoting or is_asking)

    def _is_understood(self, place: int, clause: OwnerClause) -> bool:
        """Whether a clause asks for the call, or for something else by a verb at its head, or adds to the call."""
        if _is_broken_off(self.scope.own.reading.flat[clause.start : clause.end]) and not (
            clause.dictates and "say" in self.call.acts
        ):
            return False
        if self._is_request(clause) or _is_clear(clause, self._known):
            return True
        return place in self.scope.group and all(map(self._is_taken_up, self._words(clause)))

    def _is_asked_at(self, place: int) -> bool:
        return any(clause.start <= place < clause.end and self._is_request(clause) for clause in self.scope.own.clauses)

    def _is_request(self, clause: OwnerClause) -> bool:
        """Whether a clause asks for this act, and every word of it is the call's or belongs around its values."""
        words = tuple(self._words(clause))
        return any(self._is_accounted(words, clause, forms(name)) for name in LANGUAGES)

    def _is_accounted(self, words: tuple[str, ...], clause: OwnerClause, language: OpeningForms) -> bool:
        begin = after_polite(words, language)
        head = _head(words, begin, language)
        is_another = clause.goes_on and bool(clause.acts & self.call.acts)  # "pay Jo 3 and Ed 5"
        if not (is_another if head < 0 else self._is_this_act(words[head], clause, language)):
            return False
        places = [at for at in range(begin, len(words)) if at != head and not self._belongs(words[at], language)]
        if any(words[at] in language.known or stem(words[at]) in act_stems() for at in places):
            return False
        return len(places) <= _DESCRIBING and all(self._describes(words, at, head, clause) for at in places)

    def _describes(self, words: tuple[str, ...], at: int, head: int, clause: OwnerClause) -> bool:
        """Whether a word stands where things are named: after the verb or an article, and not at the very end."""
        before = words[at - 1] if at else ""
        is_named = at - 1 == head or any(before in forms(name).around for name in LANGUAGES)
        inside = self.scope.own.reading.between(clause.start, self._end(clause))
        return is_named and inside[-1][0] != words[at]

    def _is_this_act(self, head: str, clause: OwnerClause, language: OpeningForms) -> bool:
        """Whether the heading verb means the call, and no verb of the call's own name stands behind another one."""
        if stem(head) in self.call.words:
            return True
        acts = language.acts_at((head,), 0) or act_words().get(bare_letters(head), frozenset())
        return bool(acts & self.call.acts) and not self.call.words & act_stems() & frozenset(map(stem, clause.words))

    def _words(self, clause: OwnerClause) -> Iterator[str]:
        """The words of a clause that are part of no value which the call carries, without what shall be said."""
        reading = self.scope.own.reading
        carried = [v for v in reading.values if v.key in self._given or (self._has_moment and _is_timely(v))]
        for word, start, _ in reading.between(clause.start, self._end(clause)):
            if not any(value.start <= start < value.end for value in carried):
                yield word

    def _end(self, clause: OwnerClause) -> int:
        said = self.scope.own.reading.between(clause.names_until, clause.end) if clause.dictates else ()
        return clause.names_until if said and said[0][0] in _THAT and self.call.contents else clause.end

    def _belongs(self, word: str, language: OpeningForms) -> bool:
        is_timely = self._has_moment and word in words_of("clock")
        return word in language.around or stem(word) in self._known or is_timely

    def _is_taken_up(self, word: str) -> bool:
        return any(self._belongs(word, forms(name)) for name in LANGUAGES)

    @cached_property
    def _given(self) -> frozenset[str]:
        """Keys of the typed values that the call carries."""
        return frozenset(key for leaf in self.call.leaves for key in read(leaf.text).keys)

    @cached_property
    def _has_moment(self) -> bool:
        return any(is_moment(leaf.text) for leaf in self.call.leaves)

    @cached_property
    def _known(self) -> frozenset[str]:
        """Stems of the words that the call takes up, and of those in memories about what the request names."""
        words = (word for leaf in self.call.leaves for word in (*read(leaf.text).words, *name_words(leaf.key)))
        known = frozenset(map(stem, (*words, *name_words(self.call.name), *money_words())))
        return known.union(*(held.reading.stems for held in self.scope.linked))


def _is_clear(clause: OwnerClause, known: frozenset[str] = frozenset()) -> bool:
    """Whether a clause asks for something by a verb at its head, or is a greeting, a word of thanks and the like.

    What a pronoun points at may be what was asked before ("take that back"), unless the call takes up its verb.
    """
    begins = [(after_polite(clause.words, forms(name)), forms(name)) for name in LANGUAGES]
    if any(begin == len(clause.words) for begin, _ in begins):
        return True
    is_asking = clause.sort in (ClauseSort.REQUEST, ClauseSort.READING)
    is_tied = not clause.pronoun or not known.isdisjoint(clause.heads)
    return is_asking and is_tied and any(_head(clause.words, begin, language) >= 0 for begin, language in begins)


def _head(words: tuple[str, ...], begin: int, language: OpeningForms) -> int:
    """The place of the verb that heads a clause; after a form of asking the infinitive, first or last."""
    if begin < len(words) and language.acts_at(words, begin):
        return begin
    places = (begin, len(words) - 1) if 0 < begin < len(words) else ()
    return next((at for at in places if bare_letters(words[at]) in act_words()), -1)


def _is_denying(message: OwnerSaid) -> bool:
    words = message.reading.words
    return message.refuses or any(language.has("negation", words) for language in spoken(words))


def _is_broken_off(text: str) -> bool:
    """Whether a clause ends in a colon, or in the middle of a sentence that goes on in the next line."""
    return text.endswith("\n") or text.rstrip().endswith(":")


def _is_timely(value: TypedValue) -> bool:
    is_hour = value.kind == "num" and value.form.isdigit() and int(value.form) <= 2 * HALF_DAY
    return is_hour or value.kind in ("date", "time")
