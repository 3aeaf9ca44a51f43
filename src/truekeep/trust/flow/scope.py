"""What one open request can prove: whole values in the owner's plain words, and memories about who they name.

A scope is one open request: its clause, the other plain clauses of its message, and, where a pronoun points back, the
owner's earlier messages. A value is proved by standing whole in those words, or in an acting passage that is about
somebody or something the request names, as long as no newer passage gives that party another value of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from truekeep.trust.flow.evidence import OpenRequest, SessionEvidence, ValueOrigin
from truekeep.trust.flow.forms import act_stems, common_words, copulas, denying_words, name_words
from truekeep.trust.flow.index import RARE, HeldText, naming, places_of, run_at
from truekeep.trust.flow.reading import WEIGHTY, TextReading, TypedValue, host_of, read, stem
from truekeep.trust.flow.requests import PROVING, ClauseSort, OwnerClause, OwnerSaid, passage
from truekeep.trust.flow.roles import words_of

_NAMED_NEAR = 3
"""Words before a value that belong to it alone; earlier ones in the passage speak of all the values after them."""
_SHORTEST_LABEL = 4
"""Letters of a host's name that people say for the whole of it."""
_BRACKET = re.compile(r" ?\([^()]{1,60}\)")
_LISTING = frozenset({"and", "or", "und", "oder", "y", "o", "et", "ou", "e", "a", "i", "和", "或", "with", "mit"})
_BY = frozenset({"by", "via", "per", "por", "par", "mit", "cez", "přes", "przez"})
_GOES_ON = frozenset({"of", "de", "von", "di"})
"""After these a word says what it is of: "by force of habit" forces nothing."""
_PIECE = re.compile(r"[;,](?=\s)|[.!?](?=\s)|\n")
_NAMES = re.compile(r"[^\W\d_a-z]\w+(?: [^\W\d_a-z]\w+){0,4}")
_MARKS = re.compile(r"[^\w\s]|_")
_REFERRING = frozenset({*PROVING, ClauseSort.QUESTION, ClauseSort.STOPPED})
"""What a pronoun can point back at; a party of a report is still somebody the owner spoke of."""


@dataclass(eq=False)
class RequestScope:
    """One open request with what it can prove."""

    evidence: SessionEvidence
    request: OpenRequest
    tool: str = ""
    days: set[str] = field(default_factory=set)
    """Days that values of this call are proved to be on."""

    @cached_property
    def own(self) -> OwnerSaid:
        """The message of the request."""
        return self.evidence.requests.messages[self.request.message]

    @cached_property
    def clause(self) -> OwnerClause:
        """The clause of the request; of several, all of them as one."""
        found = [self.own.clauses[place] for place in self.request.clauses]
        if len(found) == 1:
            return found[0]
        return replace(
            found[0],
            end=found[-1].end,
            names_until=found[-1].names_until,
            words=tuple(word for clause in found for word in clause.words),
            acts=frozenset().union(*(clause.acts for clause in found)),
            heads=frozenset().union(*(clause.heads for clause in found)),
        )

    @cached_property
    def messages(self) -> tuple[OwnerSaid, ...]:
        """The request's message and, if a pronoun points back, the earlier ones, newest first."""
        found = [self.own]
        earlier = reversed(self.evidence.requests.messages[: self.request.message])
        # What was taken back is not pointed at any more.
        took_back = any(clause.refuses for clause in self.own.clauses[: self.request.clause + 1])
        for message in earlier if self.looks_back and not took_back else ():
            found.append(message)
            if message.refuses:
                break
        return tuple(found)

    @cached_property
    def looks_back(self) -> bool:
        """Whether a pronoun of the request points at something said before."""
        return any(self.own.clauses[place].pronoun for place in self.group)

    @cached_property
    def group(self) -> range:
        """The request's clause with the plain pieces around it, up to the next request on either side."""
        clauses, first, last = self.own.clauses, self.request.clause, self.request.clauses[-1] + 1
        while first > 0 and not _heads(clauses[first - 1]) and clauses[first - 1].sort is not ClauseSort.READING:
            first -= 1
        while last < len(clauses) and not _heads(clauses[last]):
            last += 1
        return range(first, last)

    @cached_property
    def clause_stems(self) -> frozenset[str]:
        """What the request's own clause names."""
        return named_in(self.own, (ClauseSort.REQUEST,), range(self.request.clause, self.request.clauses[-1] + 1))

    @cached_property
    def channels(self) -> frozenset[str]:
        """The ways that the clause names for what it asks for: "by mail"."""
        return frozenset(stem(way) for by, way in pairwise(self.clause.words) if by in _BY)

    @cached_property
    def stems(self) -> frozenset[str]:
        """What the request names, with what a pronoun points back at: the rest of the message and earlier ones."""
        sorts = {ClauseSort.REQUEST, ClauseSort.FRAGMENT, ClauseSort.READING, self.clause.sort}
        found = named_in(self.own, sorts, self.group)
        if self.looks_back:
            found |= named_in(self.own, _REFERRING, range(self.group.stop))
            for earlier in self.messages[1:]:
                found |= named_in(earlier, _REFERRING)
        return found

    def plain(self, value: TextReading, key: str = "") -> ValueOrigin | None:
        """Where a value stands whole: in the owner's words, or in an acting passage about what they name."""
        if self.says(value):
            return ValueOrigin.REQUEST
        return ValueOrigin.MEMORY if self.remembered(value, key) else None

    def says(self, value: TextReading) -> bool:
        """Whether a value stands whole in the owner's words, in plain clauses and nowhere else."""
        for message in self.messages:
            places = list(places_of(message.reading, value))
            if places:
                length = len(value.flat.strip())
                return all(
                    self._counts(message, place) and not message.is_quoted_part(place, length) for place in places
                )
        return False

    def says_in_row(self, value: TextReading) -> bool:
        """Whether a choice's words stand in a row in a plain clause, in any form of theirs."""
        for message in self.messages:
            place = run_at(message.unquoted, value.words)
            if place >= 0:
                return self._counts(message, place)
        return False

    def sets(self, words: Iterable[str]) -> bool:
        """Whether the request says each of these words for itself.

        A word inside a name ("force-plate"), or one that only describes another thing ("the public library"), sets no
        flag and makes no choice.
        """
        wanted = naming(words, words_of("shared_words"))
        known = wanted | naming(name_words(self.tool), frozenset())
        said: set[str] = set()
        for message in self.messages:
            row = [
                (stem(word), start) for word, start, _ in message.unquoted.spans if not message.reading.is_glued(start)
            ]
            for (word, start), (after, _) in pairwise([*row, ("", 0)]):
                if word in wanted and self._counts(message, start) and _is_last(after, known):
                    said.add(word)
        return bool(wanted) and wanted <= said

    def _counts(self, message: OwnerSaid, place: int) -> bool:
        """Whether a place proves: plain words of this request, or plain words and questions it points back at."""
        if message is not self.own:
            return proves(message, place) or message.sort_at(place) is ClauseSort.QUESTION
        clauses = self.own.clauses
        start = 0 if self.looks_back else clauses[self.group.start].start
        return start <= place < clauses[self.group.stop - 1].end and proves(message, place)

    def remembered(self, value: TextReading, key: str = "") -> HeldText | None:
        """An acting passage that proves a value: about what the request names, plain, and not overtaken."""
        for held in self.evidence.memories.holding(value):
            words, places = passage(held.raw, held.at), list(places_of(held.reading, value))
            # "prod is live, never touch live": where one clause denies a value, the others prove nothing either.
            for place in places if all(proves(words, one) for one in places) else ():
                about = _about(held, value, place) if value.sole else _in_piece(held, value, place)
                linked = self.stems & about or self._by_key(key, about) or self._own_thing(key, held, place)
                if not linked or not self._is_that_party(held, place, key) or self._overtaken(held, value, linked):
                    continue
                if not self._is_one_of_several(held, value, linked):
                    return held
        return None

    def _is_that_party(self, held: HeldText, place: int, key: str) -> bool:
        """Whether nothing says that a passage is about another party than the one it is linked by."""
        firms = words_of("legal_forms").intersection(self.clause.words)
        others = words_of("legal_forms").intersection(_statement(held, place))
        if firms and others and firms.isdisjoint(others):
            return False
        return not _is_anothers(held, place, key) and not _is_somebodys(held, place)

    def _by_key(self, key: str, about: frozenset[str]) -> frozenset[str]:
        """The words of an argument's name, if one passage alone has them: "my plate is …" for ``licence_plate``."""
        words = naming((*name_words(key), *name_words(self.tool)), words_of("shared_words")) & about
        return frozenset(word for word in words if self.evidence.memories.counts(word) == 1)

    def _own_thing(self, key: str, held: HeldText, place: int) -> frozenset[str]:
        """What the argument is named after, if the owner says it and the passage is about the owner's own."""
        words = _statement(held, place)
        if words_of("mine").isdisjoint(words):
            return frozenset()
        said = (word for n in self.group for word in self.own.clauses[n].words)
        return frozenset(name_words(key)) & frozenset(words) & frozenset(said)

    def _is_one_of_several(self, held: HeldText, value: TextReading, linked: frozenset[str]) -> bool:
        """Whether only a pronoun links a passage, and it may mean another party beside it with a value of this kind."""
        kinds = {key.partition(":")[0] for key in value.sole} & WEIGHTY
        if not kinds or not self.looks_back or linked & self.clause_stems:
            return False
        near = [c.stems for message in self.messages for c in message.clauses if linked & c.stems]
        beside = frozenset().union(*near) - linked
        return any(
            _is_about(other, v, beside)
            for other in self.linked
            if other.id != held.id
            for v in other.reading.values
            if v.kind in kinds and v.key not in value.sole
        )

    def _overtaken(self, held: HeldText, value: TextReading, linked: Iterable[str]) -> bool:
        """Whether a newer passage gives the same party another value of this kind."""
        kinds = {key.partition(":")[0] for key in value.sole} & WEIGHTY
        if not kinds or held.at is None:
            return False
        for other in self.evidence.memories.sharing(linked):
            if other.at is not None and other.at > held.at and other.id != held.id:
                rivals = [v for v in other.reading.values if v.kind in kinds and _is_about(other, v, linked)]
                if rivals and not any(v.key in value.sole for v in rivals):
                    return True
        return False

    @cached_property
    def linked(self) -> tuple[HeldText, ...]:
        """Acting passages that share a telling word with the request."""
        rare = [word for word in self.stems if self.evidence.memories.counts(word) <= RARE]
        return tuple(self.evidence.memories.sharing(rare))

    @cached_property
    def party_values(self) -> frozenset[str]:
        """Addresses and accounts that acting passages give for the party the request names."""
        return frozenset(
            value.key
            for held in self.linked
            for value in held.reading.values
            if value.kind in ("mail", "code") and self.remembered(read(held.reading.flat[value.start : value.end]))
        )

    def calls_for(self, value: TypedValue, text: TextReading) -> bool:
        """Whether the request itself calls for a value: in its words, dictated ones too, or about its party."""
        spelt = read(text.flat[value.start : value.end])
        if any(next(places_of(message.reading, spelt), -1) >= 0 for message in self.messages):
            return True
        if value.kind in ("host", "url") and self._means_link(value, spelt):
            return True
        return self.evidence.is_confirmed(spelt.flat) or self.remembered(spelt) is not None

    def _means_link(self, value: TypedValue, spelt: TextReading) -> bool:
        """Whether the owner speaks of a place by its name ("reedmap"), or of "the link" that some result gave."""
        host = value.form if value.kind == "host" else host_of(value.form)
        labels = {stem(label) for label in host.split(".")[:-1] if len(label) >= _SHORTEST_LABEL}
        said = frozenset(word for message in self.messages for word in message.reading.stems)
        if labels & said:
            return value.kind == "host"
        if any(typed.kind == "url" for message in self.messages for typed in message.reading.values):
            return False  # "Add a line linking https://…" means that link and no other.
        found = (self.evidence.foreign, self.evidence.public, self.evidence.private)
        is_given = any(True for index in found for _ in index.holding(spelt))
        return is_given and bool(said & frozenset(map(stem, words_of("links"))))


def _is_last(after: str, known: frozenset[str]) -> bool:
    """Whether the word after one that makes a choice names nothing else than the tool's own thing ("a public repo")."""
    if after in _GOES_ON:
        return False
    if after in known or not naming((after,), frozenset()):
        return True
    return any(len(after) >= _SHORTEST_LABEL and word.startswith(after) for word in known)


def _about(held: HeldText, value: TextReading, place: int) -> frozenset[str]:
    """Stems of the words that a passage says a value is about: those of its own statement, if that names anything.

    Else "We bank with Marlow, the number is …" counts: the words between it and the value of its kind before.
    """
    own = _in_piece(held, value, place)
    is_mine = not words_of("mine").isdisjoint(_statement(held, place))
    if is_mine or own - naming(value.words, words_of("shared_words")):
        return own
    others = _rivals(held.reading, value)
    before = [other for other in others if other.end <= place]
    after = [other for other in others if other.start > place]
    start = before[-1].end if before else 0
    end = place + len(value.flat) if before or after else len(held.reading.flat)
    near = [word for word, _, _ in held.reading.between(start, place)]
    is_list = bool(before) and not any(word in common_words() - _LISTING for word in near)
    bracket = _BRACKET.match(held.reading.flat, place + len(value.flat))
    end = bracket.end() if bracket else end
    near += [word for word, _, _ in held.reading.between(place, end)]
    if is_list:
        # A list: what stands before its first value, and is not that value's own name, speaks of all of them.
        lead = [word for word, _, _ in held.reading.between(0, before[0].start)]
        near += lead[:-_NAMED_NEAR]
    return naming((*near, *value.words), words_of("shared_words"))


def _is_about(held: HeldText, value: TypedValue, linked: Iterable[str]) -> bool:
    spelt = read(held.reading.flat[value.start : value.end])
    return not _about(held, spelt, value.start).isdisjoint(linked)


def _in_piece(held: HeldText, value: TextReading, place: int) -> frozenset[str]:
    """Stems of the words in the same statement of a passage: "staging is stg, prod is live" are two of them."""
    return naming((*_statement(held, place), *value.words), words_of("shared_words"))


def _statement(held: HeldText, place: int) -> tuple[str, ...]:
    """The words of the piece around a place, or of the whole passage where the piece says nothing of its own."""
    flat = held.reading.flat
    cuts = [0, *(match.end() for match in _PIECE.finditer(flat)), len(flat)]
    start, end = next((first, last) for first, last in pairwise(cuts) if place < last)
    words = tuple(word for word, _, _ in held.reading.between(start, end))
    return held.reading.words if copulas().isdisjoint(words) else words


def _is_anothers(held: HeldText, place: int, key: str) -> bool:
    """Whether the argument's name only describes what the value is of: "the account ticket is …" gives no account."""
    roles, known = words_of("shared_words").intersection(name_words(key)), common_words() | words_of("shared_words")
    near = [word for word, _, _ in held.reading.between(0, place)][-2:]
    if len(near) == 2 and near[1] in _GOES_ON and near[0] not in known:
        return True  # "owes money to the holder of …" gives nobody's own but the holder's.
    words = _statement(held, place)
    return any(
        word in roles and what not in known and verb in copulas()
        for word, what, verb in zip(words, words[1:], words[2:], strict=False)
    )


def _is_somebodys(held: HeldText, place: int) -> bool:
    """Whether a pronoun says whose a value is, in a passage that names several: "Ivo owes Klara, her account is …"."""
    if words_of("whose").isdisjoint(_statement(held, place)):
        return False
    names = [match[0] for match in _NAMES.finditer(held.reading.cased, 0, place)]
    return len({name for name in names if not common_words().issuperset(name.lower().split())}) > 1


def _rivals(text: TextReading, value: TextReading) -> list[TypedValue]:
    """Values of a text that could be mistaken for this one: of its kind and shape, and not it."""
    kinds = {key.partition(":")[0] for key in value.sole} & (WEIGHTY | {"num"})
    shapes = {frozenset(_MARKS.findall(key.partition(":")[2])) for key in value.sole}
    return [
        other
        for other in text.values
        if other.kind in kinds and other.key not in value.sole and frozenset(_MARKS.findall(other.form)) in shapes
    ]


def proves(message: OwnerSaid, place: int) -> bool:
    """Whether what stands there is said plainly, and not only to be passed on."""
    return message.sort_at(place) in PROVING and not message.is_dictated(place)


def _heads(clause: OwnerClause) -> bool:
    """Whether a clause begins something of its own; an opening word that no table knows does not."""
    return bool(clause.acts) or clause.sort in (ClauseSort.QUESTION, ClauseSort.REFUSAL)


def named_in(message: OwnerSaid, sorts: Iterable[ClauseSort], within: range | None = None) -> frozenset[str]:
    """Stems of the words that name something in clauses of these sorts."""
    words: list[str] = []
    for clause in message.clauses if within is None else message.clauses[within.start : within.stop]:
        if clause.sort in sorts:
            end = clause.names_until or clause.end
            words += [word for word, _, _ in message.unquoted.between(clause.start, end)]
    return naming(words, words_of("shared_words"))


def denied_values(message: OwnerSaid) -> frozenset[str]:
    """Typed values that a message excludes ("not on Tuesday"); a clause that names an act excludes that act alone."""
    excluding = [clause for clause in message.clauses if clause.denies and clause.stems.isdisjoint(act_stems())]
    denied = {value.key for clause in excluding for value in message.values_in(clause)}
    others = (clause for clause in message.clauses if clause.sort in PROVING)
    return frozenset(denied.difference(value.key for clause in others for value in message.values_in(clause)))


def denied_in(message: OwnerSaid) -> tuple[frozenset[str], ...]:
    """What a message negates, clause by clause, beyond what it asks for."""
    denied = [place for place, clause in enumerate(message.clauses) if clause.denies]
    asked = named_in(message, (ClauseSort.REQUEST,)) | frozenset(map(stem, denying_words())) if denied else frozenset()
    return tuple(named_in(message, (ClauseSort.STOPPED,), range(place, place + 1)) - asked for place in denied)


def scopes(evidence: SessionEvidence, tool: str = "") -> Iterator[RequestScope]:
    """A scope for every open request, newest first, then for those of one message that a call may take up together."""
    for request in evidence.requests.open:
        yield RequestScope(evidence, request, tool)
    for request in evidence.requests.joined:
        yield RequestScope(evidence, request, tool)


def reading_scopes(evidence: SessionEvidence) -> tuple[RequestScope, ...]:
    """Scopes for what may leave in a read: open requests, and what the last message asks or wants looked up."""
    last = len(evidence.requests.messages) - 1
    asked = (ClauseSort.READING, ClauseSort.QUESTION)
    clauses = evidence.requests.messages[last].clauses if last >= 0 else ()
    looked = [OpenRequest(last, place) for place, clause in enumerate(clauses) if clause.sort in asked]
    return (*scopes(evidence), *(RequestScope(evidence, request) for request in looked))
