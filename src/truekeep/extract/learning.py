"""Learning: what was said in a session becomes passages of the owner's, with gists that stand beside them.

What is remembered is what the owner said, verbatim. What a strategy found in it, worded by a model, is bound to the
passage its quote stands in as a gist: it helps to find the passage and proves nothing. What
rests on anybody else's words stands no higher than the lowest of them; what rests on nothing is hearsay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from truekeep.errors import InputError
from truekeep.extract import events
from truekeep.extract.conversation import Extraction, Message, Support, locate
from truekeep.extract.smalltalk import is_small_talk
from truekeep.extract.topics import Topics
from truekeep.sessions.passages import asked_before, passage_of, passages, quoted
from truekeep.trust.origin import AGENT
from truekeep.types import Candidate, Gist, Origin, Standing

if TYPE_CHECKING:
    from truekeep.config import Settings
    from truekeep.extract.conversation_view import Talk
    from truekeep.sessions.transcripts import Observation
    from truekeep.write.intake import Intake

VERBATIM = "verbatim"
_LONGEST_GIST = 1_000  # a reading longer than this is no gist of a passage


@dataclass(frozen=True, slots=True)
class Learned:
    """Something on its way to the gate, and whether it is the owner's own words."""

    extraction: Extraction
    candidate: Candidate
    is_owners: bool


class Learner:
    """Binds what is found in the sessions of one keep to where it came from, whatever a model says about that."""

    def __init__(self, intake: Intake, settings: Settings) -> None:
        self._intake = intake
        self._longest = settings.passage_chars
        self._topics = Topics(settings.learn_topics)
        self._retention = timedelta(days=settings.retention_days)

    def learned(self, talk: Talk, messages: Sequence[Message], found: Iterable[Extraction]) -> list[Learned]:
        """The passages in a batch of a session's messages, and what else was found in it."""
        said = {(one.candidate.origin.message, one.candidate.text): one for one in self._passages(talk, messages)}
        left_out = {message.id for message in messages}
        read: list[Learned] = []
        for extraction in found:
            place = self._passage(extraction, talk)
            if place is None:
                read += self._read(extraction, talk)
                continue
            before = said.get((place[0].id, place[1]))
            if before is not None or place[0].id not in left_out:
                before = before or _verbatim(place[0], place[1])
                said[place[0].id, place[1]] = _with_gist(before, extraction)
        return [*said.values(), *read]

    def _passages(self, talk: Talk, messages: Sequence[Message]) -> Iterator[Learned]:
        asked: Observation | None = None
        wanted = {message.id for message in messages}
        for seen in talk.seen:
            if seen.channel == AGENT:
                asked = seen if talk.state.was_clean_at(seen.order) else None
            elif talk.is_owners(seen):
                for text in passages(seen.text, seen.own, self._longest) if seen.id in wanted else ():
                    question = asked_before(text, asked.text) if asked is not None else ""
                    says = not is_small_talk(text) or (question and not is_small_talk(question))
                    if says and self._topics.include(f"{question} {text}"):
                        yield self._kept(_verbatim(seen, text, question), seen)
                asked = None

    def _kept(self, said: Learned, seen: Observation) -> Learned:
        """With the end that the settings give it, if they do."""
        if not self._retention:
            return said
        return replace(said, candidate=replace(said.candidate, expires_at=seen.at + self._retention))

    def _passage(self, extraction: Extraction, talk: Talk) -> tuple[Observation, str] | None:
        """The owner's passage that all quotes of an extraction rest on the first of; none if one is not the owner's."""
        places = [self._place(support.quote, talk) for support in extraction.supports]
        return places[0] if places and all(places) else None

    def _place(self, quote: str, talk: Talk) -> tuple[Observation, str] | None:
        return quoted(quote, filter(talk.is_owners, talk.seen), self._longest)

    def _read(self, extraction: Extraction, talk: Talk) -> list[Learned]:
        try:
            candidate = self._found(extraction, talk)
        except InputError as refused:
            events.emit(events.MEMORY_FILTERED, code=refused.code, strategy=extraction.strategy)
            return []
        return [Learned(extraction, candidate, is_owners=False)]

    def _found(self, form: Extraction, talk: Talk) -> Candidate:
        """Not the owner's words: it stands as low as the lowest of what it was found in."""
        form = replace(form, supports=tuple(locate(support.quote, talk.conversation) for support in form.supports))
        places = [support.message_id for support in form.supports]
        sources = [message for place in places if place and (message := talk.conversation.message(place))]
        lowest = min(sources, key=lambda message: talk.standings[message.id], default=None)
        candidate = self._agents(form, talk, lowest)
        if lowest is None or len(sources) < len(places):
            return replace(candidate, standing=Standing.HEARSAY)
        standing = min(candidate.standing, talk.standings[lowest.id])
        origin = _read_in(candidate.origin, lowest) if standing is Standing.HEARSAY else candidate.origin
        return replace(candidate, standing=standing, origin=origin)

    def _agents(self, form: Extraction, talk: Talk, message: Message | None) -> Candidate:
        made_by = {"strategy": form.strategy, "model": form.model}
        candidate = self._intake.candidate(
            form.text,
            via=AGENT,
            session=talk.conversation.session,
            kind=form.kind,
            topics=form.topics,
            entities=form.entities,
            metadata={name: value for name, value in made_by.items() if value is not None},
        )
        origin = replace(
            candidate.origin,
            message=message.id if message is not None else None,
            quote=form.quote if form.is_located else None,
            prompt=form.prompt,
        )
        return replace(candidate, origin=origin)


def _verbatim(seen: Observation, text: str, question: str = "") -> Learned:
    extraction = Extraction(text, (Support(text, seen.id),), VERBATIM)
    return Learned(extraction, passage_of(seen, text, question), is_owners=True)


def _with_gist(said: Learned, found: Extraction) -> Learned:
    """The passage with one more reading of it. Readings that do not fit are left out; the words are all there."""
    candidate = said.candidate
    text = f"{candidate.gist.text}; {found.text}" if candidate.gist is not None else found.text
    if len(text) > _LONGEST_GIST:
        return said
    return replace(said, candidate=replace(candidate, gist=Gist(text, prompt=found.prompt)))


def _read_in(origin: Origin, source: Message) -> Origin:
    """What was read somewhere comes from there, whoever carried it here, so that it is counted and revoked with it."""
    if source.channel == origin.channel:
        return origin
    return replace(origin, channel=source.channel, principal=source.principal, carrier=AGENT)
