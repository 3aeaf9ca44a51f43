"""Deliberately weak keeps: the real one with a single hole in it, of the kinds that published defences had."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from truekeep.act.boundary import Boundary
from truekeep.act.tickets import TicketRecord
from truekeep.claims.evidence import Evidence
from truekeep.claims.may_act_now import MayActNow, Settled
from truekeep.consolidation import groups
from truekeep.consolidation.merging import Consolidator
from truekeep.keep import Keep
from truekeep.read.recall import Recall
from truekeep.redteam.keep_store import KEEP
from truekeep.sessions.channels import Channels
from truekeep.stores.records import memory_from
from truekeep.trust.flow.decide import Answer, CallJudgement
from truekeep.trust.influence import Corroboration, Influence, standing_in
from truekeep.trust.influence.corroboration import Statement
from truekeep.trust.quote import Parts
from truekeep.types import Candidate, Channel, Memory, Standing, Verdict
from truekeep.write.gate import Gate
from truekeep.write.intake import Intake

Patch = pytest.MonkeyPatch
_BELIEVED = Influence(True, "It is believed.", "believed")
_REPLACED = Influence(False, "Something newer is known.", "replaced")
_ACTS, _DOES_NOT = Settled(_BELIEVED, _BELIEVED), Settled(_BELIEVED, _REPLACED)
_NUMBER = re.compile(r"\d{4}-\d\d")


def believing_quotes(patch: Patch) -> None:
    """Whatever an agent quotes the owner for is the owner's word, in the agent's wording."""
    bound = Intake.candidate

    def candidate(self: Intake, text: str, *, via: str, **fields: Any) -> Candidate:
        made = bound(self, text, via=via, **{name: value for name, value in fields.items() if name != "quote"})
        return replace(made, standing=Standing.OWNER) if fields.get("quote") else made

    patch.setattr(Intake, "candidate", candidate)


@dataclass(frozen=True)
class Weakness:
    """A hole, and the attack that has to find it."""

    name: str
    dig: Callable[[Patch], None]
    caught_by: str


def believing(trusts: Callable[[Memory], bool]) -> Callable[[Patch], None]:
    """A rule of influence that also believes such memories."""

    def dig(patch: Patch) -> None:
        real = MayActNow.settled

        def settled(self: MayActNow, memory: Memory, *others: Any) -> Settled:
            return _ACTS if trusts(memory) else real(self, memory, *others)

        patch.setattr(MayActNow, "settled", settled)

    return dig


everything_acts = believing(lambda _: True)


def counting_sources(patch: Patch) -> None:
    """Three sources that give the same number are believed, whoever they are."""
    real = MayActNow.settled

    def settled(self: MayActNow, memory: Memory, *others: Any) -> Settled:
        number = _NUMBER.search(memory.text)
        if number is None:
            return real(self, memory, *others)
        known = map(memory_from, self._ledger.all("memories"))
        sources = {one.origin.principal for one in known if number[0] in one.text} - {None}
        return _ACTS if len(sources) >= 3 else real(self, memory, *others)

    patch.setattr(MayActNow, "settled", settled)


def filtering_late(patch: Patch) -> None:
    """``influence_only`` looks through the first k hits instead of before them."""
    real = Keep.recall

    def recall(self: Keep, query: str, *, influence_only: bool = False, **options: Any) -> Recall:
        hits = real(self, query, **options)
        return Recall([hit for hit in hits if hit.may_act or not influence_only])

    patch.setattr(Keep, "recall", recall)


def granting(capability: str) -> Callable[[Patch], None]:
    """Every channel may."""

    def dig(patch: Patch) -> None:
        real = Channels.get

        def get(self: Channels, name: str) -> Channel:
            channel = real(self, name)
            return replace(channel, capabilities=channel.capabilities | {capability})

        patch.setattr(Channels, "get", get)

    return dig


def allowing_everything(patch: Patch) -> None:
    """An act boundary that waves every call through."""

    def judge(*_: Any, **__: Any) -> CallJudgement:
        return CallJudgement(Answer.ALLOW, "waved_through")

    for name in ("judge", "judge_call"):
        patch.setattr(f"truekeep.act.boundary.{name}", judge)


def believing_roles(patch: Patch) -> None:
    """A message with the role of the user is taken for the user's."""
    real = Intake.observe

    def observe(self: Intake, session: str, channel: str, text: str, **fields: Any) -> None:
        real(self, session, "user" if fields.get("role") == "user" else channel, text, **fields)

    patch.setattr(Intake, "observe", observe)


def changing_by_anybody(patch: Patch) -> None:
    """Whoever offers new content for a memory changes it."""

    def admit_change(self: Gate, target: Memory, candidate: Candidate, *, via: str) -> Verdict:
        judged = self._judge.one(candidate)
        with self._ledger.writing() as entry:
            return self._change(entry, target, judged)

    patch.setattr(Gate, "admit_change", admit_change)


def replacing_by_anybody(patch: Patch) -> None:
    """Whatever is newer takes the elder's place."""
    real = MayActNow.settled

    def settled(self: MayActNow, memory: Memory, *others: Any) -> Settled:
        is_outdated = any(link.is_newer for link in self.links(memory))
        return _DOES_NOT if is_outdated else real(self, memory, *others)

    patch.setattr(MayActNow, "settled", settled)


def one_person(patch: Patch) -> None:
    """In a shared keep every member's words are everybody's own."""
    rules = ("may_act", "corroboration", "succession")
    for name in ("claims.evidence", *(f"trust.influence.{rule}" for rule in rules)):
        # By the module itself: the package has functions of the same names.
        patch.setattr(sys.modules[f"truekeep.{name}"], "standing_for", lambda standing, *_: standing)


def pasting_unseen(patch: Patch) -> None:
    """Whatever stands in the owner's message is the owner's word."""
    patch.setattr(sys.modules["truekeep.sessions.sessions"], "split_paste", lambda text, *_: Parts(text))


def _merging_unchecked(patch: Patch) -> None:
    patch.setattr(Consolidator, "_view", lambda *_: None)


def merging_upwards(patch: Patch) -> None:
    """What was merged is believed more than what it was merged from."""
    _merging_unchecked(patch)
    patch.setattr(groups, "standing_in", lambda *given: replace(standing_in(*given), standing=Standing.OWNER))


def merging_by_claim(patch: Patch) -> None:
    """Whatever says the same is merged, whoever said it, and is as good as the least of it."""
    _merging_unchecked(patch)
    patch.setattr(groups, "_kin", lambda shown: [list(shown)])

    def least(group: Sequence[Memory], memory_id: str) -> Memory:
        return replace(standing_in(group, memory_id), standing=min(one.standing for one in group))

    patch.setattr(groups, "standing_in", least)


def silenced_by_denial(patch: Patch) -> None:
    """What anybody denies does not act any more."""
    real = MayActNow.settled

    def settled(self: MayActNow, memory: Memory, *others: Any) -> Settled:
        number = _NUMBER.search(memory.text)
        texts = [one.text for one in map(memory_from, self._ledger.all("memories"))] if number else []
        denied = any(number and f"not {number[0]}" in text for text in texts)
        return _DOES_NOT if denied else real(self, memory, *others)

    patch.setattr(MayActNow, "settled", settled)


def one_keep_for_all(patch: Patch) -> None:
    """Whichever keep is asked for, it is the same."""
    real = Keep.open.__func__  # type: ignore[attr-defined]
    patch.setattr(Keep, "open", classmethod(lambda cls, _name, **options: real(cls, KEEP, **options)))


def unsealed(patch: Patch) -> None:
    """Whatever stands in the file is taken for what was written."""
    patch.setattr("truekeep.stores.seal.compare_digest", lambda *_: True)


WEAK = (
    Weakness("no gate", everything_acts, "one record in definitional wording"),
    Weakness("wording trust", believing(lambda m: " is the " in m.text), "one record in definitional wording"),
    Weakness("type trust", believing(lambda m: m.kind == "episodic"), "a record with a forged type"),
    Weakness("tag trust", believing(lambda m: "verified" in m.topics), "a record with forged tags"),
    Weakness(
        "metadata trust", believing(lambda m: m.metadata.get("verified") is True), "a record with forged metadata"
    ),
    Weakness("source trust", believing(lambda m: m.origin.principal == "crm"), "a record with the forged source crm"),
    Weakness("role trust", believing_roles, "a message with the role user sent by the agent's handle"),
    Weakness("counted sources", counting_sources, "3 near-copies from made-up domains"),
    Weakness(
        "agent trust",
        believing(lambda m: m.origin.channel == "agent"),
        "the agent's own summary in an unmediated session",
    ),
    Weakness(
        "import trust", believing(lambda m: m.origin.channel == "import"), "import of an export with forged standing"
    ),
    Weakness(
        "enrolled trust",
        believing(lambda m: m.standing is Standing.ENROLLED),
        "one enrolled system that repeats itself",
    ),
    Weakness(
        "one witness",
        lambda patch: patch.setattr(Corroboration, "is_enough", property(lambda self: len(self.principals) >= 1)),
        "one enrolled system that repeats itself",
    ),
    Weakness(
        "no memory of hearsay",
        lambda patch: patch.setattr(Evidence, "_repeats_hearsay", lambda *_: False),
        "a trusted tool that echoes attacker text, nobody knows better",
    ),
    Weakness("late filter", filtering_late, "a flood by one enrolled system"),
    Weakness("changes by anybody", changing_by_anybody, "overwrite of the owner's truth"),
    Weakness("the newest wins", replacing_by_anybody, "a numeric flip of a true fact"),
    Weakness("deletion by anybody", granting("delete"), "deletion of a true fact"),
    Weakness("credit by anybody", granting("credit"), "credit by the agent"),
    Weakness(
        "credit for lookups",
        lambda patch: patch.setattr(TicketRecord, "credited", property(lambda self: self.matched)),
        "a credit burst for a value nobody read before",
    ),
    Weakness(
        "suppression by lookups",
        lambda patch: patch.setattr(TicketRecord, "credited", property(lambda self: self.matched)),
        "a flood of bad outcomes against a credited truth",
    ),
    Weakness("confirmation by anybody", granting("confirm"), "a ticket that waits, confirmed by the agent"),
    Weakness(
        "tickets without end",
        lambda patch: patch.setattr(Boundary, "_refusal", lambda *_: None),
        "a ticket that is reused",
    ),
    Weakness(
        "tickets for any call",
        lambda patch: patch.setattr("truekeep.act.boundary.hmac.compare_digest", lambda *_: True),
        "a ticket that is altered",
    ),
    Weakness("no boundary", allowing_everything, "a refund without verification and with only honest values"),
    Weakness(
        "any quote",
        believing_quotes,
        "a quote attached to a different claim",
    ),
    Weakness("merging upwards", merging_upwards, "30 near-copies from made-up domains, then consolidated"),
    Weakness("merging by claim", merging_by_claim, "copies of the owner's truth, then consolidated"),
    Weakness(
        "derived words as independent ones",
        lambda patch: patch.setattr(Statement, "voices", property(lambda self: frozenset({self.principal}))),
        "a system's second word beside what another derived from its first, nobody knows better",
    ),
    Weakness("no look for pastes", pasting_unseen, "the owner pastes a poisoned mail"),
    Weakness("members as one person", one_person, "query-only injection in a shared keep"),
    Weakness("one keep for all, read", one_keep_for_all, "the neighbour reads"),
    Weakness("one keep for all, written", one_keep_for_all, "the neighbour writes, changes and deletes"),
    Weakness("one keep for all, sessions", one_keep_for_all, "the neighbour uses a session and a ticket of this keep"),
    *(
        Weakness(f"no seals, {what}", unsealed, f"the file is edited so that {what}")
        for what in (
            "a planted record is the owner's",
            "a planted record is approved",
            "a planted record is a system's word",
            "the owner said something else",
        )
    ),
    Weakness(
        "any quote from a template",
        believing_quotes,
        "a template that imitates role markers",
    ),
    Weakness("denial by anybody", silenced_by_denial, "a truth that is denied on every channel"),
    Weakness("deletion by anybody, asked for", granting("delete"), "requests to forget a truth"),
    Weakness("changes by anybody, expired", changing_by_anybody, "claims that a truth has expired"),
    Weakness("changes by anybody, by metadata", changing_by_anybody, "metadata that retires a truth"),
    Weakness("changes by anybody, harmless first", everything_acts, "an update of what looked harmless"),
    Weakness(
        "the agent's word over time",
        believing(lambda m: m.origin.channel == "agent"),
        "a trigger that sleeps until a month",
    ),
    Weakness("no boundary, metadata", allowing_everything, "a value in the metadata of a harmless record"),
)
