"""What is meant by a wish: among the owner's memories, and what the owner said in a session and nobody learned yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

from truekeep.search.about import Found, bears, named, replaced, told_of
from truekeep.sessions.passages import passages
from truekeep.stores.records import item_from, memory_from
from truekeep.stores.table_view import TableView
from truekeep.text.language import language
from truekeep.text.words import said_sentences, words
from truekeep.trust.flow.roles import words_of
from truekeep.trust.wishes import WishKind
from truekeep.types import Standing

if TYPE_CHECKING:
    from truekeep.sessions.transcripts import Observation
    from truekeep.stores.ledger import Ledger, Sealed
    from truekeep.trust.wishes import OwnerWish


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something that the owner said: a memory, what is held in review, or a message that was not learned yet."""

    text: str
    at: datetime
    place: int
    memory: str | None = None
    message: str | None = None
    principal: str | None = None
    question: str = ""
    until: datetime | None = None
    item: str | None = None

    @property
    def words(self) -> str:
        """What it is looked for by."""
        return f"{self.question} {self.text}" if self.question else self.text

    def part(self, wish: OwnerWish) -> str:
        """The sentences of it that a wish is about, one after the other; all of it if they cannot be told apart."""
        spans = said_sentences(self.text)
        if len(spans) < 2 or wish.kind is WishKind.LAST:
            return self.text
        cut = [self.text[slice(*span)] for span in spans]
        bearing = [bears(wish.about, wish.denied, wish.language, sentence) for sentence in cut]
        if not any(bearing):
            return self.text
        pronouns = _pronouns(wish.language)
        for place in range(1, len(cut)):
            # "It costs 34 a month": what goes on about the same thing says nothing without it.
            goes_on = bearing[place - 1] and (words(cut[place])[:1] or [""])[0] in pronouns
            bearing[place] = bearing[place] or goes_on
        return "".join(sentence for sentence, is_meant in zip(cut, bearing, strict=True) if is_meant).strip()


def _pronouns(name: str) -> frozenset[str]:
    roles = language(name).roles
    return frozenset(word for spelling, role in roles.items() if role == "pronouns" for word in words(spelling))


def meant_by(wish: OwnerWish, texts: Sequence[str]) -> Found:
    """Which texts, oldest first, a wish clearly means, or else may mean."""
    if wish.kind is WishKind.CORRECT:
        return replaced(
            wish.about,
            wish.denied,
            wish.language,
            texts,
            is_over=wish.is_over,
            is_slip=wish.is_slip,
            verbatim=wish.said,
        )
    if wish.around:
        found = told_of(wish.around, wish.language, texts, wants_all=wish.wants_all)
    else:
        found = named(wish.about, wish.language, texts, wants_all=wish.wants_all, is_plain=wish.is_plain)
    is_partial = wish.is_weak and not found.is_whole and words_of("mine").isdisjoint(wish.about.split())
    # "Delete the draft for Northwind" may be meant for a tool; "delete my old address" is for the memory.
    return Found(unsure=(*found.clear, *found.unsure)) if wish.is_reported or is_partial else found


class Meant:
    """Looks through what one keep's owner said."""

    def __init__(self, ledger: Ledger, longest: int, clock: Callable[[], datetime]) -> None:
        self._owners = TableView(ledger, "memories", _remembered)
        self._held = TableView(ledger, "queue", _held)
        self._longest = longest
        self._clock = clock

    def memories(self, principal: str | None, ids: Iterable[str] | None = None) -> list[Utterance]:
        """The owner's memories and what of the owner's words is held, oldest first; those of some ids only."""
        wanted = frozenset(ids) if ids is not None else None
        said = chain(self._owners.now().values(), self._held.now().values())
        mine = (one for one in said if one.principal == principal)
        chosen = [one for one in mine if wanted is None or one.memory in wanted]
        return sorted(chosen, key=lambda one: (one.at, one.place))

    def targets(self, principal: str | None, messages: Sequence[Observation]) -> list[Utterance]:
        """The owner's memories and what of a session's messages is none yet, oldest first."""
        known = self.memories(principal)
        told = {one.text for one in known}
        # A secret stands apart from what was learned, so its text tells nothing about whether it was.
        learned = {one.message for one in known}
        fresh = [
            Utterance(text, seen.at, place, message=seen.id, principal=principal)
            for place, seen in enumerate(messages)
            if seen.id not in learned
            for text in passages(seen.text, seen.own, self._longest)
            if text not in told
        ]
        return sorted([*known, *fresh], key=lambda one: (one.at, one.memory is None, one.place))

    def by(self, wish: OwnerWish, targets: Sequence[Utterance]) -> tuple[list[Utterance], list[Utterance]]:
        """What a wish clearly means, and what it may mean. What is over already needs no correction."""
        if wish.kind is WishKind.CORRECT:
            # Saying the same again puts nothing right: "I don't eat nuts" ends no "I don't eat nuts".
            said, now = frozenset(words(wish.said)), self._clock()
            targets = [one for one in targets if one.until is None or one.until > now]
            targets = [one for one in targets if not said.issubset(words(one.text))]
        found = meant_by(wish, [one.words for one in targets])
        return [targets[place] for place in found.clear], [targets[place] for place in found.unsure]

    def last(self, before: Observation, targets: Sequence[Utterance]) -> list[Utterance]:
        """What was said last before a message: everything of it."""
        spoken = passages(before.text, before.own, self._longest)
        return [one for one in targets if one.message == before.id or (one.memory and one.text in spoken)]


def _remembered(sealed: Sealed) -> Utterance | None:
    memory = memory_from(sealed)
    if memory.standing is not Standing.OWNER:
        return None
    origin = memory.origin
    return Utterance(
        memory.text,
        memory.as_of,
        memory.seq,
        memory.id,
        origin.message,
        origin.principal,
        memory.question,
        memory.expires_at,
    )


def _held(sealed: Sealed) -> Utterance | None:
    item = item_from(sealed)
    if item is None or item.state != "open" or item.kind != "memory" or item.memory.standing is not Standing.OWNER:
        return None
    memory, origin = item.memory, item.memory.origin
    return Utterance(
        memory.text, memory.as_of, sealed.row.seq, None, origin.message, origin.principal, memory.question, item=item.id
    )
