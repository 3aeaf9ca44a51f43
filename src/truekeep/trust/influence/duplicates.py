"""Which memories say the same thing again, and the one memory that can stand for them. Pure.

Only equals are merged: the same claim with every value the same, dates as they were meant on the day they were said,
in wordings that differ by no more than order, inflection, articles and synonyms, never a statement with a question.
They are of the same standing, over the same channel, with the same end and the same labels by which they are filtered.
What can act also has the same speaker, so that merging neither lends an owner's or a witness's name to somebody else's
words nor makes one witness of two. Hearsay of several principals may be merged: it acts for nobody, under any name.

The text is one of theirs, never a new one: the wording with the most different words in it, because it is found by
most questions, and of equals the newest. What stands for them is as new as the newest, holds since the earliest and
fades with the latest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from truekeep.text.analysis import analysed
from truekeep.text.dates import resolved
from truekeep.text.language import language_of
from truekeep.text.tokens import Kind
from truekeep.text.words import asks
from truekeep.trust.influence.claims import claim_of, valid_time
from truekeep.types import Memory, Origin, Standing

_WORDS = re.compile(r"\w+")
_NEUTRAL = frozenset({"articles", "present", "of", "negations"})
"""What small words do that a claim compares, or that makes no difference to it."""


def kinship(memory: Memory) -> Hashable | None:
    """Equal for two memories that may become one, and nothing for one that is left as it is.

    What is about nobody ("his account is …") may be about somebody else each time, and what a person approved is that
    person's to change.
    """
    if not memory.claim or memory.approval is not None or not memory.verified:
        return None
    origin = memory.origin
    return (
        memory.claim,
        memory.keys,
        _values(memory),
        _manner(memory.text),
        memory.standing,
        origin.channel,
        origin.carrier,
        "" if memory.standing is Standing.HEARSAY else origin.principal,
        memory.kind,
        memory.expires_at,
        memory.valid_until,
        valid_time(claim_of(memory.text, speaker=origin.principal), memory.as_of)[0],
        json.dumps(dict(memory.metadata), sort_keys=True),
    )


def standing_in(group: Sequence[Memory], memory_id: str) -> Memory:
    """The memory of that id that can stand for a group of kin; its parents are the whole group."""
    newest = max(group, key=_when)
    best = max(group, key=lambda memory: (len(set(_WORDS.findall(memory.text.casefold()))), _when(memory)))
    begins = min(memory.begins for memory in group)
    topics, entities = _together(one.topics for one in group), _together(one.entities for one in group)
    is_known = set(topics) == set(best.topics) and set(entities) == set(best.entities)
    return replace(
        newest,
        id=memory_id,
        text=best.text,
        origin=_origin(group),
        created_at=max(memory.created_at for memory in group),
        valid_from=begins if begins != newest.as_of else None,
        topics=topics,
        entities=entities,
        screened=best.screened if is_known else "",
        pinned=any(memory.pinned for memory in group),
        version=1,
        seq=0,
    )


def _values(memory: Memory) -> tuple[str, ...]:
    """Every value but names, which the claim compares; "tomorrow" is another day each day."""
    found: set[str] = set()
    for value in analysed(memory.text).values:
        if value.kind is Kind.DATE:
            found |= {f"{value.kind}:{day}" for day in resolved(value.value, memory.as_of)}
        elif value.kind is not Kind.NAME:
            found.add(value.key)
    return tuple(sorted(found))


def _manner(text: str) -> tuple[bool, frozenset[str]]:
    """Whether it asks, and the small words that a claim does not tell apart: "in the house" is not "on the house"."""
    words = _WORDS.findall(text.casefold())
    roles = language_of(words).roles
    small = frozenset(word for word in words if word in roles and roles[word] not in _NEUTRAL)
    return asks(text), small


def _origin(group: Sequence[Memory]) -> Origin:
    """What all have in common; the rest is in the originals, which are its parents."""

    def common(read: Callable[[Origin], str | None]) -> str | None:
        found = {read(memory.origin) for memory in group}
        return found.pop() if len(found) == 1 else None

    return Origin(
        channel=group[0].origin.channel,
        principal=common(lambda origin: origin.principal),
        session=common(lambda origin: origin.session),
        parents=tuple(memory.id for memory in group),
        carrier=group[0].origin.carrier,
        prompt=common(lambda origin: origin.prompt),
    )


def _when(memory: Memory) -> tuple[object, int]:
    return memory.as_of, memory.order


def _together(words: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for listed in words for word in listed))
