"""Provenance: binds what was extracted to where it came from, whatever the model says about that.

A candidate is the owner's word only if the owner's messages prove every quote it rests on. Otherwise it stands no
higher than the agent that extracts, nor than anything it was found in; what was found nowhere is hearsay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from truekeep.errors import InputError
from truekeep.extract import events
from truekeep.extract.conversation import Conversation, Extraction, Message, locate, owner_message
from truekeep.extract.promotion import proved
from truekeep.intake import Intake
from truekeep.origin import AGENT
from truekeep.quote import Proof
from truekeep.talks import Talk
from truekeep.text import folded
from truekeep.types import Candidate, Origin, Standing

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Bound:
    """An extraction in the wording that goes to the gate, what proves it, and the candidate it has become."""

    extraction: Extraction
    proof: Proof
    candidate: Candidate


class Provenance:
    """Binds extractions of one keep."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    def bound(self, found: Iterable[Extraction], talk: Talk) -> list[Bound]:
        """Each extraction bound to its origin; what cannot be kept at all is logged by code and left out."""
        located = (_located(extraction, talk.conversation) for extraction in found)
        forms = (form for one in located for form in proved(one, talk.conversation, talk.prove))
        made = (self._bound(form, proof, talk) for form, proof in forms)
        return [one for one in made if one is not None]

    def _bound(self, form: Extraction, proof: Proof, talk: Talk) -> Bound | None:
        try:
            candidate = self._owners(form, talk) if proof.ok is True else self._found(form, talk)
        except InputError as refused:
            events.emit(events.MEMORY_FILTERED, code=refused.code, strategy=form.strategy)
            return None
        return Bound(form, proof, candidate)

    def _owners(self, form: Extraction, talk: Talk) -> Candidate:
        """The owner's word. Of the labels that a model gave it, those stay that the owner's words hold as well."""
        message = owner_message(form.supports[0], talk.conversation) or talk.conversation.owner_messages()[0]
        said = frozenset(_WORD.findall(folded(" ".join([form.text, *(support.quote for support in form.supports)]))))
        own = replace(form, topics=_said(form.topics, said), entities=_said(form.entities, said))
        return self._candidate(own, message.channel, talk, message)

    def _found(self, form: Extraction, talk: Talk) -> Candidate:
        """Not proved to be the owner's: it stands as low as the lowest of what it was found in."""
        places = [locate(support.quote, talk.conversation).message_id for support in form.supports]
        sources = [message for place in places if place and (message := talk.conversation.message(place))]
        lowest = min(sources, key=lambda message: talk.standings[message.id], default=None)
        candidate = self._candidate(form, AGENT, talk, lowest)
        if lowest is None or len(sources) < len(places):
            return replace(candidate, standing=Standing.HEARSAY)
        standing = min(candidate.standing, talk.standings[lowest.id])
        origin = _read_in(candidate.origin, lowest) if standing is Standing.HEARSAY else candidate.origin
        return replace(candidate, standing=standing, origin=origin)

    def _candidate(self, form: Extraction, via: str, talk: Talk, message: Message | None) -> Candidate:
        """Without its quote: the way in proves one quote, and here every one has to be proved."""
        made_by = {"strategy": form.strategy, "model": form.model}
        candidate = self._intake.candidate(
            form.text,
            via=via,
            session=talk.conversation.session,
            kind=form.kind,
            topics=form.topics,
            entities=form.entities,
            metadata={name: value for name, value in made_by.items() if value is not None},
            as_of=message.at if message is not None and message.is_dated else None,
        )
        origin = replace(
            candidate.origin,
            message=message.id if message is not None else None,
            quote=form.quote if form.is_located else None,
            prompt=form.prompt,
        )
        return replace(candidate, origin=origin)


def _located(extraction: Extraction, conversation: Conversation) -> Extraction:
    """A batch is a part of a session: what a model quotes may stand in an earlier one."""
    supports = (one if one.message_id is not None else locate(one.quote, conversation) for one in extraction.supports)
    return replace(extraction, supports=tuple(supports))


def _said(labels: tuple[str, ...], words: frozenset[str]) -> tuple[str, ...]:
    return tuple(label for label in labels if words.issuperset(_WORD.findall(folded(label))))


def _read_in(origin: Origin, source: Message) -> Origin:
    """What was read somewhere comes from there, whoever carried it here, so that it is counted and revoked with it."""
    if source.channel == origin.channel:
        return origin
    return replace(origin, channel=source.channel, principal=source.principal, carrier=AGENT)
