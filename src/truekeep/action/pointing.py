"""Say whether the owner pointed at what came in over a channel: by its kind, its site or its sender."""

from __future__ import annotations

from functools import cache

from truekeep.action.index import Source, ValueIndex
from truekeep.action.requests import tables
from truekeep.action.segments import Segment
from truekeep.text.language import function_words, read_table
from truekeep.text.salient import Kind

_SHORTEST_LABEL = 4


@cache
def _words() -> dict[str, frozenset[str]]:
    return {channel: frozenset(words) for channel, words in read_table("actions", "pointing.toml").items()}


def was_pointed_at(source: Source, owner: ValueIndex) -> bool:
    """Whether the owner spoke of such a thing, and not to warn of it; what the owner pasted is pointed at by that."""
    if source.channel == "paste":
        return True
    nouns = _words().get(source.channel, frozenset({source.channel}))
    if any(_speaks_of(noun, segment) for noun in nouns for segment in owner.word(noun)):
        return True
    if not source.principal:
        return False
    if any(not _warns(hit.segment) for hit in owner.find(f"host:{source.principal}")):
        return True
    label = source.principal.partition(".")[0]
    # Anybody can have a site called "please": only a name in what the owner says is meant as one.
    return len(label) >= _SHORTEST_LABEL and any(
        label in _names(segment) and not _warns(segment) for segment in owner.word(label)
    )


def _speaks_of(noun: str, segment: Segment) -> bool:
    return not _warns(segment) and not (noun in _words()["names"] and _is_called(noun, segment))


def _warns(segment: Segment) -> bool:
    """ "Ignore the page", "do not trust that mail"."""
    return segment.is_negated or not tables().denying.isdisjoint(segment.words)


def _is_called(noun: str, segment: Segment) -> bool:
    """Whether the word is a name there: "Pay Bill", but not "Pay the Bill"."""
    before = segment.order[segment.order.index(noun) - 1] if noun in segment.order[1:] else ""
    return noun in _names(segment) and before not in function_words()


def _names(segment: Segment) -> set[str]:
    """The words of surely meant names; the verb that opens a sentence is written large as well."""
    found: set[str] = set()
    for value in segment.values:
        if value.kind is Kind.NAME and value.sure:
            words = value.value.split()
            found |= set(words[1:] if len(words) > 1 and words[0] == segment.order[0] else words)
    return found
