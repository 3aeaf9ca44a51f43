"""Gates that are broken on purpose, each as some design is or could be; ``holes`` says which promise falls with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from truekeep.claims.contradictions import tag
from truekeep.claims.evidence import Evidence
from truekeep.quarantine.tombstones import Burial
from truekeep.read.recall import Recall, Recaller, RecallQuery
from truekeep.records.rows import MemoryRows
from truekeep.sessions.channels import Channels
from truekeep.sessions.sessions import Sessions
from truekeep.stores.entry import Entry
from truekeep.stores.records import memory_body, memory_from
from truekeep.trust.influence import Reader
from truekeep.trust.influence.corroboration import Statement
from truekeep.types import Candidate, Channel, Finding, Memory, Standing, Verdict
from truekeep.write.gate import Gate
from truekeep.write.intake import Intake

Patch = pytest.MonkeyPatch


# Where standing comes from


def _promoting(patch: Patch, when: Callable[[Candidate], Any]) -> None:
    whole = Intake.candidate

    def candidate(self: Intake, text: str, **fields: Any) -> Candidate:
        made = whole(self, text, **fields)
        return replace(made, standing=Standing.OWNER) if when(made) else made

    patch.setattr(Intake, "candidate", candidate)


def labels_are_believed(patch: Patch) -> None:
    """Metadata that says ``verified`` makes it so."""
    _promoting(patch, lambda candidate: candidate.metadata.get("verified"))


def wording_is_believed(patch: Patch) -> None:
    """What says "is the" is a fact."""
    _promoting(patch, lambda candidate: " is the " in candidate.text)


def the_memory_type_is_believed(patch: Patch) -> None:
    """What calls itself episodic was lived through."""
    _promoting(patch, lambda candidate: candidate.kind == "episodic")


def relayed_text_is_its_carriers(patch: Patch) -> None:
    """A system vouches for what its customers wrote."""
    patch.setattr("truekeep.write.intake.relays", lambda *_: False)


def parents_are_forgotten(patch: Patch) -> None:
    """What is derived stands as its channel does, not as the lowest of its parents."""
    from truekeep.trust.origin import standing_of

    def standing(channel: Channel, **known: Any) -> Standing:
        return standing_of(channel, **(known | {"parents": ()}))

    patch.setattr("truekeep.write.intake.standing_of", standing)


# What counts as a proof


def sources_are_counted(patch: Patch) -> None:
    """Two sources that agree are two witnesses, whoever they are."""

    def stated(self: Evidence, memory: Memory, reader: Reader) -> Iterator[Memory]:
        return map(memory_from, self._ledger.all("memories"))

    patch.setattr(Evidence, "_stated", stated)
    patch.setattr(sys.modules["truekeep.trust.influence.corroboration"], "_why_no_witness", lambda *_: "")


def echoes_are_witnesses(patch: Patch) -> None:
    """Nobody remembers what was first met as hearsay."""
    patch.setattr(Evidence, "_repeats_hearsay", lambda *_: False)


def copies_add_up(patch: Patch) -> None:
    """Two systems are independent even if one only passes on what the other said."""
    patch.setattr(Statement, "lineage", property(lambda self: frozenset({self.memory_id})))
    patch.setattr(Statement, "voices", property(lambda self: frozenset({self.principal})))


def _allowing(patch: Patch, capability: str) -> None:
    held = Channels.get

    def get(self: Channels, name: str) -> Channel:
        channel = held(self, name)
        return replace(channel, capabilities=channel.capabilities | {capability})

    patch.setattr(Channels, "get", get)


def the_agent_holds_credit(patch: Patch) -> None:
    """Whoever acts also says how it went."""
    _allowing(patch, "credit")


def a_quote_proves_the_wording(patch: Patch) -> None:
    """What the agent says is the owner's word as soon as a part of it can be quoted."""
    whole = Intake.candidate

    def candidate(self: Intake, text: str, **fields: Any) -> Candidate:
        made = whole(self, text, **fields)
        return replace(made, text=text) if fields.get("quote") and made.standing is Standing.OWNER else made

    patch.setattr(Intake, "candidate", candidate)


def a_quote_replaces_another_memory(patch: Patch) -> None:
    """Whoever quotes the owner changes what the owner may change."""
    whole = Gate.admit_change

    def change(self: Gate, target: Memory, candidate: Candidate, *, via: str) -> Verdict:
        owners = candidate.standing is Standing.OWNER
        return whole(self, target, candidate, via="user" if owners and via == "agent" else via)

    patch.setattr(Gate, "admit_change", change)


# What hearsay can take away


def anybody_deletes(patch: Patch) -> None:
    """A wish to delete is a deletion."""
    _allowing(patch, "delete")


def the_newest_word_wins(patch: Patch) -> None:
    """A newcomer retires its elders, whether or not it may act."""
    patch.setattr("truekeep.claims.contradictions.is_hearsay", lambda *_: False)
    for module in ("truekeep.claims.may_act_now", "truekeep.trust.influence.succession"):
        patch.setattr(f"{module}.replaces", lambda *_, **__: True)


def the_newest_word_ends_the_elders(patch: Patch) -> None:
    """A newcomer gives all that it is about an end."""
    whole = MemoryRows.store

    def store(self: MemoryRows, entry: Entry, memory: Memory, vector: Any, related: Iterable[Memory]) -> Memory:
        for elder in related:
            sealed = self._ledger.get("memories", elder.id)
            if sealed is not None and elder.expires_at is None:
                ended = replace(elder, expires_at=memory.created_at)
                entry.replace("memories", sealed.row, memory_body(ended), tag(ended))
        return whole(self, entry, memory, vector, related)

    patch.setattr(MemoryRows, "store", store)


def anybody_changes_anything(patch: Patch) -> None:
    """New content takes the place of the old, whoever offers it."""

    def change(self: Gate, target: Memory, candidate: Candidate, *, via: str) -> Verdict:
        judged = self._judge.one(candidate)
        with self._ledger.writing() as entry:
            return self._change(entry, target, judged)

    patch.setattr(Gate, "admit_change", change)


def one_queue_for_all(patch: Patch) -> None:
    """A full queue is full for everybody."""
    patch.setattr("truekeep.write.gate.open_tag", lambda *_: "open")


def a_rejected_lie_silences_the_owner(patch: Patch) -> None:
    """A tombstone lies over everybody's words."""
    over = Burial.over

    def lies_over(self: Burial, text: str, _: Standing) -> list[Finding]:
        return over(self, text, Standing.HEARSAY)

    patch.setattr(Burial, "over", lies_over)


def recall_filters_too_late(patch: Patch) -> None:
    """The best k are found first, and what may not act is left out of them then."""
    answer = Recaller.answer

    def answered(self: Recaller, query: RecallQuery) -> Recall:
        found = answer(self, replace(query, influence_only=False))
        return Recall([hit for hit in found if hit.may_act or not query.influence_only])

    patch.setattr(Recaller, "answer", answered)


# What a session took in


def shown_hearsay_leaves_no_trace(patch: Patch) -> None:
    """A session stays clean whatever it recalls."""
    patch.setattr(Sessions, "taint", lambda *_: None)


def read_hearsay_leaves_no_trace(patch: Patch) -> None:
    """A session stays clean whatever it reads."""
    patch.setattr(Sessions, "_taint", lambda *_: None)


def roles_are_believed(patch: Patch) -> None:
    """A message whose role is ``user`` is the owner's."""
    whole = Sessions.observe

    def observe(self: Sessions, session: str, channel: Channel, text: str, **fields: Any) -> Any:
        said = replace(channel, name="user", standing=Standing.OWNER) if fields.get("role") == "user" else channel
        return whole(self, session, said, text, **fields)

    patch.setattr(Sessions, "observe", observe)
