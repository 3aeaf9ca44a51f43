"""Trace one wanted value to where this session could have got it, the best source first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from truekeep.action.arguments import Leaf
from truekeep.action.freshness import is_stale
from truekeep.action.index import Hit, Source, ValueIndex
from truekeep.action.kinds import answers, looks_like_year
from truekeep.action.model import Evidence, Provenance
from truekeep.action.pointing import was_pointed_at
from truekeep.action.requests import tables
from truekeep.action.segments import Segment
from truekeep.action.settings import ActionSettings, Grant
from truekeep.action.subject import Context, conflicts, is_about
from truekeep.action.wanted import Wanted, words_of
from truekeep.text.language import function_words
from truekeep.text.lexemes import lexeme
from truekeep.text.salient import Kind, scan

_MOST_CHECKED = 256
_SENTENCE = re.compile(r"[^.!?;\n]+\??")
_WHOLE_SENTENCE = 3
_UNITS = frozenset({"euro", "euros", "eur", "dollar", "dollars", "usd", "pounds", "k", "percent"})
_UNTELLING_NAMES = frozenset({"is", "the", "use", "enable", "enabled", "flag", "do", "with", "should", "be", "to", "a"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call while it is traced: what was asked, by whom it is covered, and what it is about."""

    settings: ActionSettings
    evidence: Evidence
    verbs: frozenset[str]
    focus: tuple[Segment, ...]
    """The owner's requests that this call answers."""
    context: Context
    grant: Grant | None = None
    pointed: dict[tuple[str, str | None], bool] = field(default_factory=dict)
    told: dict[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)
    """The words of each argument's name and value, by its path: they are asked for with every sentence looked at."""
    related: dict[tuple[str, int], tuple[Segment, bool]] = field(default_factory=dict)
    """Which sentences speak of an argument or of the call. A long one with many values is met many times."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a value came from."""

    provenance: Provenance
    memory_id: str | None = None


def find(want: Wanted, leaf: Leaf, call: Call) -> Found:
    """The best source of a wanted value."""
    if call.grant is not None and _is_granted(leaf, call.grant):
        return Found(Provenance.OPERATOR)
    if _owner_said(want, leaf, call):
        return Found(Provenance.OWNER)
    remembered = _remembered(want, leaf, call)
    if remembered.provenance is not Provenance.COMPUTED:
        return remembered
    seen = {_points_at(source, call) for source in _heard(want, leaf, call, call.evidence.observed)}
    if True in seen:
        return replace(remembered, provenance=Provenance.DOCUMENT)
    heard = next(_heard(want, leaf, call, call.evidence.hearsay), None)
    if heard is not None:
        return Found(Provenance.HEARSAY, heard.id)
    return replace(remembered, provenance=Provenance.HEARSAY) if seen else remembered


def is_known(key: str, loose_key: str, evidence: Evidence) -> bool:
    """Whether a value stands anywhere; asked first of the many ways to put pieces together."""
    return bool(
        evidence.owner.count(key)
        or evidence.memories.count(key)
        or evidence.observed.count(loose_key)
        or evidence.hearsay.count(loose_key)
    )


def _is_granted(leaf: Leaf, grant: Grant) -> bool:
    """A grant proves the values it lists; a limit only bounds them."""
    allowed = grant.arguments.get(leaf.path)
    return allowed is not None and allowed.most is None and allowed.covers(leaf.value)


def _owner_said(want: Wanted, leaf: Leaf, call: Call) -> bool:
    owner = call.evidence.owner
    if want.is_choice:
        told = (s for s in _choice_segments(want, owner) if not s.is_asked or s in call.focus)
        return any(_chooses(segment, want) for segment in told)
    if want.passage:
        return _said_all(want, call)
    hits = list(islice(_exact(want, owner), _MOST_CHECKED))
    usable = [h for h in hits if not h.segment.is_negated and not h.segment.is_history and _fits(want, h, call)]
    if any(hit.segment in call.focus for hit in usable):
        return True
    if _focus_answers(want, call):
        # The request itself gives a value of this kind, so one from elsewhere was not what was asked for.
        return False
    # Whoever asks whether a value is right has not said that it is.
    return any(_belongs(hit, want, leaf, call) for hit in usable if not hit.segment.is_asked)


def _belongs(hit: Hit, want: Wanted, leaf: Leaf, call: Call) -> bool:
    """Whether a sentence beside the request adds to it: it speaks of the call, or says little but the value."""
    if conflicts(hit.segment, call.context):
        return False
    if not call.focus or _is_related(hit.segment, leaf, call):
        return True
    said = {word for value in hit.segment.values for word in words_of(value.value)} | set(want.words)
    rest = [word for word in hit.segment.order if word not in function_words() and word not in said]
    is_loose_word = hit.salient is None or want.role == "party"
    return len([word for word in rest if not word.isdigit() and word not in _UNITS]) <= (0 if is_loose_word else 1)


def _fits(want: Wanted, hit: Hit, call: Call) -> bool:
    if hit.salient is None:
        return True
    if looks_like_year(hit.salient.value) and hit.salient.kind is Kind.NUMBER and want.role == "amount":
        return hit.segment in call.focus and not hit.salient.unit
    return answers(want.role, hit.salient, strictly=False)


def _focus_answers(want: Wanted, call: Call) -> bool:
    if not want.role:
        return False
    return any(
        answers(want.role, value, strictly=False) and (value.kind is not Kind.NAME or value.sure)
        for segment in call.focus
        for value in segment.values
    )


def _exact(want: Wanted, index: ValueIndex) -> Iterator[Hit]:
    for hit in _anywhere(want, index):
        if want.verbatim in index.sources[hit.segment.source].text:
            yield hit


def _anywhere(want: Wanted, index: ValueIndex) -> Iterator[Hit]:
    for key in want.keys:
        yield from index.find(key)
    for segment in index.phrase(want.words):
        yield Hit(segment)


def _said_all(want: Wanted, call: Call) -> bool:
    """Whether every sentence of a longer text was said by the owner in just these words, and meant so.

    A few words prove nothing out of their place: line by line anything could be put together from what somebody said.
    They have to follow a whole sentence of the text in the same message.
    """
    owner = call.evidence.owner
    if want.verbatim and not any(want.verbatim in source.text for source in owner.sources.values()):
        return False
    told: set[tuple[str, int]] = set()
    for part in sorted(_SENTENCE.findall(want.passage), key=_is_scrap):
        row = words_of(part)
        places = {(s.source, s.number) for s in islice(owner.phrase(row), _MOST_CHECKED) if _is_meant(s, part, call)}
        if _is_scrap(part):
            places &= {(source, number + step) for source, number in told for step in (-1, 0, 1)}
        if row and not places:
            return False
        told |= places
    return True


def _is_scrap(sentence: str) -> bool:
    return len(words_of(sentence)) < _WHOLE_SENTENCE


def _is_meant(segment: Segment, sentence: str, call: Call) -> bool:
    """Whether a sentence says what the owner said: no denial or question became a statement."""
    if segment.is_asked and segment not in call.focus and not sentence.endswith("?"):
        return False
    return not segment.is_negated or any(value.kind is Kind.NEGATION for value in scan(sentence).values)


def _remembered(want: Wanted, leaf: Leaf, call: Call) -> Found:
    """A memory that may act and speaks of the same subject, fresh if there is one.

    One that may not act proves nothing, but is named: an outcome may speak for it one day.
    """
    best = Found(Provenance.COMPUTED)
    if want.passage:
        return best
    hits = _choice_hits(want, call.evidence.memories) if want.is_choice else _exact(want, call.evidence.memories)
    for hit in islice(hits, _MOST_CHECKED):
        if not want.is_choice and not _proves(want, hit, leaf, call):
            continue
        source = hit.segment.source
        trust = call.evidence.trust(source)
        if trust is None:
            continue
        if not trust.may_act:
            best = best if best.memory_id else Found(Provenance.COMPUTED, source)
        elif not is_stale(hit, trust, call.evidence.now, call.settings):
            return Found(Provenance.MEMORY, source)
        elif best.provenance is Provenance.COMPUTED:
            best = Found(Provenance.STALE, source)
    return best


def _proves(want: Wanted, hit: Hit, leaf: Leaf, call: Call) -> bool:
    segment = hit.segment
    if segment.is_negated or segment.is_history or segment.is_asked:
        return False
    if hit.salient is not None and not answers(want.role, hit.salient, strictly=True):
        return False
    if hit.salient is None and want.role != "party" and not _names_call(segment, leaf, call):
        # A word that merely occurs in a memory is no choice of this argument.
        return False
    return is_about(segment, call.context, want.words if hit.salient is None else ())


def _choice_hits(want: Wanted, index: ValueIndex) -> Iterator[Hit]:
    return (Hit(segment) for segment in _choice_segments(want, index) if _chooses(segment, want))


def _choice_segments(want: Wanted, index: ValueIndex) -> Iterator[Segment]:
    telling = [word for word in want.words if word not in _UNTELLING_NAMES and len(word) > 2]
    if not telling:
        return iter(())
    first, *others = telling
    found = index.beginning(first)
    return (segment for segment in found if all(_begins(word, segment) for word in others))


def _begins(word: str, segment: Segment) -> bool:
    start = word[:5]
    return any(said.startswith(start) for said in segment.order)


def _chooses(segment: Segment, want: Wanted) -> bool:
    """Whether a sentence affirms or denies the argument's name the way the value does."""
    denies = bool((tables().denying - set(want.words)) & segment.words) or any(
        value.kind is Kind.BOOLEAN and value.value == "false" for value in segment.values
    )
    return (segment.is_negated != denies) != want.choice


def _heard(want: Wanted, leaf: Leaf, call: Call, index: ValueIndex) -> Iterator[Source]:
    """The hearsay sources that a value could have come from."""
    for segment in islice(_heard_segments(want, leaf, call, index), _MOST_CHECKED):
        yield index.sources[segment.source]


def _heard_segments(want: Wanted, leaf: Leaf, call: Call, index: ValueIndex) -> Iterator[Segment]:
    if want.is_choice:
        yield from (segment for segment in _choice_segments(want, index) if _chooses(segment, want))
        return
    for key in want.loose_keys:
        if key.startswith("loosehost:") and _is_known_host(want, call):
            continue
        for hit in islice(index.find(key), _MOST_CHECKED):
            telling = want.is_telling and not key.startswith(("amount:", "number:"))
            if telling or _is_related(hit.segment, leaf, call):
                yield hit.segment
    if want.words and not want.passage:
        segments = islice(index.phrase(want.words), _MOST_CHECKED)
        is_command = want.is_run and len(want.words) > 1
        yield from (segment for segment in segments if is_command or _is_related(segment, leaf, call))
    if want.passage:
        yield from index.copies(want.passage)


def _is_known_host(want: Wanted, call: Call) -> bool:
    """A host that the owner or a higher memory also uses, such as a mail provider, gives nobody away."""
    hosts = [key for key in want.keys if key.startswith("host:")]
    return any(key in call.evidence.owner or key in call.evidence.memories for key in hosts)


def _is_related(segment: Segment, leaf: Leaf, call: Call) -> bool:
    """Whether a sentence speaks of the action, the argument or another party of the call."""
    key = (leaf.path, id(segment))
    if key not in call.related:
        # The segment is kept with the answer: as long as it is there, nothing else has its identity.
        call.related[key] = segment, _speaks_of(segment, leaf, call)
    return call.related[key][1]


def _speaks_of(segment: Segment, leaf: Leaf, call: Call) -> bool:
    if _names_call(segment, leaf, call):
        return True
    _, own = _told(leaf, call)
    return any(party <= segment.words for party in call.context.parties if party and party != own)


def _names_call(segment: Segment, leaf: Leaf, call: Call) -> bool:
    """Whether a sentence has the action's verb or the argument's name in it."""
    named, _ = _told(leaf, call)
    return not (call.verbs.isdisjoint(segment.order) and named.isdisjoint(segment.order))


def _told(leaf: Leaf, call: Call) -> tuple[frozenset[str], frozenset[str]]:
    if leaf.path not in call.told:
        named = frozenset((*leaf.name_words, *(lexeme(word) for word in leaf.name_words))) - _UNTELLING_NAMES
        own = frozenset(words_of(leaf.value)) if isinstance(leaf.value, str) else frozenset()
        call.told[leaf.path] = named, own
    return call.told[leaf.path]


def _points_at(source: Source, call: Call) -> bool:
    key = (source.channel, source.principal)
    if key not in call.pointed:
        call.pointed[key] = was_pointed_at(source, call.evidence.owner)
    return call.pointed[key]
