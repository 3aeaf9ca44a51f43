"""Review: a person looks at what was held back and lets it in, or rejects it for good.

A decision can be taken back by whoever made it, for ten minutes and as long as nothing was built on it.
"""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from truekeep.claims.lineage import Ancestry, Chain
from truekeep.config import REASON_CAP
from truekeep.errors import InvalidRequest, NotAllowed, UnknownId
from truekeep.quarantine.noted import NotedGroup, is_plain, noted_key
from truekeep.quarantine.queue import Facets, QueueFilter, QueueGroup, QueueView
from truekeep.read.reader import RecordReader, Shown
from truekeep.screens.credentials import redact
from truekeep.stores.records import item_body, item_from, memory_from
from truekeep.stores.table_view import TableView
from truekeep.trust import fence
from truekeep.trust.candidate import checked_flag, checked_moment, checked_reason, checked_text
from truekeep.trust.origin import is_moved, person_name
from truekeep.types import Approval, Decision, Effects, Item, Memory, Verdict, utc_text
from truekeep.write.secrets import SECRET_APART

if TYPE_CHECKING:
    from truekeep.quarantine.removal import Removal
    from truekeep.quarantine.tombstones import Burial
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed
    from truekeep.write.gate import Gate

UNDO_WINDOW = timedelta(minutes=10)
"""How long a decision can be taken back."""
MOVED_WINDOW = timedelta(days=30)
"""The same for what was moved in: whoever took over hundreds finds out later what was not theirs."""
_TOGETHER = 500
"""Decisions that share one write of the anchor."""
EDITABLE = frozenset({"memory", "change", "derived", "revoked"})
"""The kinds of item that hold a text of their own, which a reviewer may change before letting it in."""
STATES = ("open", "approved", "rejected", "expired", "lifted")


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would be if an item were approved."""

    may_act: bool
    why: str
    concerned: tuple[Shown, ...] = ()
    """The memories that it is about: those it contradicts, would change or would delete."""


class Review:
    """The review queue of one keep."""

    def __init__(
        self,
        ledger: Ledger,
        gate: Gate,
        removal: Removal,
        burial: Burial,
        reader: RecordReader,
        clock: Callable[[], datetime],
        text_cap: int,
    ) -> None:
        self._ledger = ledger
        self._gate = gate
        self._removal = removal
        self._burial = burial
        self._reader = reader
        self._clock = clock
        self._text_cap = text_cap
        self._waiting = QueueView(ledger, clock)
        self._ancestry = Ancestry(ledger)
        self._decided = TableView(ledger, "queue", _decided_after)

    def list(self, state: str | None = "open") -> list[Item]:
        """Items in that state (all for ``None``), oldest first."""
        if state is not None and state not in STATES:
            raise InvalidRequest("No such review state.", hint=f"States: {', '.join(STATES)}.")
        items = (item_from(sealed) for sealed in self._ledger.all("queue"))
        current = [self._current(item) for item in items if item]
        return [item for item in current if state is None or item.state == state]

    def count(self, wanted: QueueFilter | None = None) -> int:
        """How many open items there are, or how many of those that are looked for."""
        return len(self._waiting.cards(wanted))

    def groups(self, wanted: QueueFilter | None = None) -> builtins.list[QueueGroup]:
        """Open items grouped by claim and source, those first that have waited longest."""
        return self._waiting.groups(wanted)

    def noted(self) -> builtins.list[NotedGroup]:
        """What waits for the owner's own word, in groups by the day and the place it was noted at."""
        return self._waiting.noted()

    def approve_group(self, key: str, *, by: str, reason: str, excepted: Iterable[str] = ()) -> dict[str, str]:
        """Confirm what ``noted`` has under that key, but for what has to be looked at one by one; a code for each.

        ``excepted`` go on waiting. Of what was moved in each is looked at again, after those before it: two that
        contradict each other are never confirmed together.
        """
        group = next((group for group in self.noted() if group.key == key), None)
        if group is None:
            raise UnknownId("No such group waits.", hint="List them with 'truekeep review groups'.")
        left = frozenset(excepted)
        if not left <= {one.id for one in group.items}:
            raise UnknownId("An exception is not among what this group confirms.", hint="Name items of the group.")
        chosen = [(one.id, item_etag(one)) for one in group.items if one.id not in left]
        told: dict[str, str] = {}
        for start in range(0, len(chosen), _TOGETHER):
            told |= self.decide(chosen[start : start + _TOGETHER], approve=True, by=by, reason=reason)
        return told

    def undo_group(self, key: str, *, by: str, reason: str) -> dict[str, str]:
        """Take back what somebody confirmed of what was moved in under that key; a code for each."""
        decided = [one for one in self.list("approved") if is_moved(one.memory.origin) and noted_key(one) == key]
        if not decided:
            raise UnknownId("Nothing of such a group was taken over.", hint="List them with 'truekeep migrate groups'.")
        told: dict[str, str] = {}
        with self._ledger.group():
            for item in decided:
                try:
                    self.undo(item.id, by=by, reason=reason)
                    told[item.id] = "done"
                except (InvalidRequest, NotAllowed) as error:
                    told[item.id] = error.code
        return told

    def known(self, text: str, *, member: str | None = None) -> Memory | None:
        """What says the same already, whatever its spaces, capitals and marks: the owner's words, or a note.

        What is over, because it was replaced or its time is past, may be said again.
        """
        found = self._gate.known(checked_text(text, self._text_cap), member)
        return found if found is not None and not self._reader.shown(found).is_over(self._clock()) else None

    def note_waits(self, memory_id: str) -> Item | None:
        """Have a note of the agent's wait for the owner's word, until it is said; once, whatever became of it.

        Approving it makes the note something that may act. Nothing for what is no note, and where no more fits.
        """
        return self._gate.note_waits(memory_id)

    def leave(self, item_id: str, *, by: str, reason: str) -> None:
        """Leave a note what it is: it goes on informing, no longer waits, and is not asked about again."""
        person_name(by)
        checked_reason(reason)
        with self._ledger.writing() as entry:
            sealed, item = self._open_item(item_id)
            if not is_note(item):
                raise InvalidRequest("Only a note can be left as it is.", code="not_a_note")
            self._settle(
                entry, sealed, replace(item, state="rejected", decided_by=by, decided_reason=reason), Effects()
            )
            entry.event("review.left", item=item.id, by=by, reason=reason)

    def facets(self) -> Facets:
        """How many open items there are of each reason, channel, principal and severity."""
        return self._waiting.facets()

    def decision_times(self) -> builtins.list[tuple[datetime, timedelta]]:
        """When each decision that stands was taken, and how long its item had waited for it."""
        return [*self._decided.now().values()]

    def show(self, item_id: str) -> Item:
        """One item, with the raw text: for a person's eyes, never for a prompt."""
        return self._find(item_id)[1]

    def chain(self, item_id: str) -> Chain:
        """Where an item came from: what was read, by which session, and what was made of it."""
        return self._ancestry.of(self.show(item_id).memory)

    def outlook(self, item_id: str, *, by: str, inform_only: bool = False) -> Outlook:
        """What an item could do once it is approved, and whom it would contradict then. Nothing is changed."""
        item = self.show(item_id)
        rules = tuple(dict.fromkeys(finding.rule_id for finding in item.findings))
        approval = Approval(person_name(by), "", self._clock(), inform_only=inform_only, rules=rules)
        would = self._reader.shown(replace(item.memory, approval=approval, screened=""))
        concerned = dict.fromkeys((*item.contests, *([item.target] if item.target else [])))
        found = [sealed for one in concerned if (sealed := self._ledger.get("memories", one)) is not None]
        return Outlook(would.may_act, would.why, tuple(self._reader.shown(memory_from(one)) for one in found))

    def approve(
        self,
        item_id: str,
        *,
        by: str,
        reason: str,
        until: datetime | None = None,
        inform_only: bool = False,
        purpose: str | None = None,
        text: str | None = None,
    ) -> Verdict:
        """Let an item in. The approval names who and why, and may be limited in time, purpose or to informing.

        Approving a proposed deletion deletes; approving a memory in doubt leaves it as it is; approving one that
        contests another lets it take the other's place. With ``text`` other words are let in than were held, if the
        gate would accept them from the owner; if not, the verdict says why, and the item goes on waiting.
        """
        approval = Approval(
            by=person_name(by),
            reason=checked_reason(reason),
            at=self._clock(),
            until=checked_moment("until", until),
            inform_only=checked_flag("inform_only", inform_only),
            purpose=checked_text(purpose, REASON_CAP) if purpose is not None else None,
        )
        amended = self._amended(item_id, text) if text is not None else None
        if amended is not None and not amended[1].accepted:
            return amended[1]
        with self._ledger.writing() as entry:
            sealed, item = self._open_item(item_id)
            item = replace(item, memory=amended[0].memory, findings=amended[0].findings) if amended else item
            approval = replace(approval, rules=tuple(dict.fromkeys(finding.rule_id for finding in item.findings)))
            verdict, effects = self._let_in(entry, item, approval)
            self._settle(entry, sealed, replace(item, state="approved", decided_by=by, decided_reason=reason), effects)
            entry.event(
                "review.approved",
                item=item.id,
                memory=verdict.memory_id,
                by=by,
                reason=reason,
                until=utc_text(approval.until) if approval.until else None,
                inform_only=inform_only,
                purpose=purpose,
                **({"edited": True} if amended else {}),
            )
            entry.told.append(verdict)
        return verdict

    def _let_in(self, entry: Entry, item: Item, approval: Approval) -> tuple[Verdict, Effects]:
        if item.kind == "deletion":
            took = self._delete(entry, item.target or "", approval.by)
            verdict = Verdict(Decision.ACCEPT, "deleted", "Deleted.", memory_id=item.target, item_id=item.id)
            return verdict, Effects(took=took)
        if item.kind == "doubt":
            return Verdict(Decision.ACCEPT, "kept", "Kept.", memory_id=item.target, item_id=item.id), Effects()
        memory, effects = self._gate.admit_approved(entry, item, approval)
        return Verdict(Decision.ACCEPT, "approved", "Approved.", memory_id=memory.id, item_id=item.id), effects

    def _amended(self, item_id: str, text: str) -> tuple[Item, Verdict]:
        _, item = self._open_item(item_id)
        if item.kind not in EDITABLE:
            raise InvalidRequest("This item has no text of its own to change.", code="not_editable")
        return self._gate.amended(item, checked_text(text, self._text_cap))

    def reject(self, item_id: str, *, by: str, reason: str) -> None:
        """Turn an item down. Its claim leaves a tombstone: planting it again is refused without asking twice.

        Rejecting a proposed deletion keeps the memory; rejecting a memory in doubt, or one that contests another, takes
        it out of the keep. So does rejecting a note of the agent's.
        """
        person_name(by)
        checked_reason(reason)
        with self._ledger.writing() as entry:
            sealed, item = self._open_item(item_id)
            effects = Effects()
            is_stored = item.kind in ("doubt", "contest") or (is_note(item) and self._is_there(item.memory.id))
            took = self._delete(entry, item.memory.id, by) if is_stored else None
            if item.kind != "deletion" and item.code != SECRET_APART:
                effects = self._burial.bury(entry, item.memory, by=by, reason=reason)
            settled = replace(item, state="rejected", decided_by=by, decided_reason=reason)
            if item.code == SECRET_APART:  # a secret that is not to be kept is not kept here, either
                settled = replace(settled, memory=replace(item.memory, text=text_of(item)))
            self._settle(entry, sealed, settled, replace(effects, took=took))
            entry.event("review.rejected", item=item.id, by=by, reason=reason)

    def decide(
        self, wanted: Iterable[tuple[str, str]], *, approve: bool, by: str, reason: str, inform_only: bool = False
    ) -> dict[str, str]:
        """Approve or reject several items, each by its id and the tag of the version that was looked at.

        Gives a code for each: ``done``, or why it was left as it is. What somebody else decided meanwhile stays so.
        Of what was moved in, what has to be looked at one by one is not approved together with others.
        """
        told: dict[str, str] = {}
        listed = list(wanted)
        with self._ledger.group():
            for item_id, etag in listed:
                try:
                    item = self.show(item_id)
                    if item_etag(item) != etag:
                        told[item_id] = "item_settled"
                        continue
                    if approve and len(listed) > 1 and not self._goes_with_others(item):
                        told[item_id] = "one_by_one"
                        continue
                    if approve:
                        self.approve(item_id, by=by, reason=reason, inform_only=inform_only)
                    else:
                        self.reject(item_id, by=by, reason=reason)
                    told[item_id] = "done"
                except (InvalidRequest, UnknownId) as error:
                    told[item_id] = error.code
        return told

    def _goes_with_others(self, item: Item) -> bool:
        """What was moved in, looked at once more, after those before it: what it contradicts may just have come in."""
        if not is_moved(item.memory.origin):
            return True
        contests = [one for one in self._gate.disagreeing(item.memory) if one != item.target]
        return is_plain(item.memory.text, item.findings, contests)

    def undo(self, item_id: str, *, by: str, reason: str) -> Item:
        """Take a decision back: the item waits again, and the keep is as it was before.

        Only whoever decided may, for ten minutes, and not once something else has changed what the decision made.
        """
        person_name(by)
        checked_reason(reason)
        with self._ledger.writing() as entry:
            sealed, item = self._find(item_id)
            effects = self._undoable(item, by)
            made = self._ledger.get("memories", effects.made[0]) if effects.made else None
            self._removal.exchange(entry, [made] if made else [], [effects.took] if effects.took else [], item.id)
            self._burial.take_back(entry, effects, by=by, reason=reason)
            again = replace(item, state="open", decided_by=None, decided_reason=None, decided_at=None, effects=None)
            entry.replace("queue", sealed.row, item_body(again), effects.tag)
            entry.event("review.reopened", item=item.id, was=item.state, by=by, reason=reason)
        return again

    def _undoable(self, item: Item, by: str) -> Effects:
        effects, decided_at = item.effects, item.decided_at
        if effects is None or decided_at is None or item.state not in ("approved", "rejected"):
            raise InvalidRequest("There is no decision to take back.", code="nothing_to_undo")
        if item.decided_by != by:
            raise NotAllowed("Somebody else decided this.", code="undo_not_yours", hint="Only they can take it back.")
        window = MOVED_WINDOW if is_moved(item.memory.origin) else UNDO_WINDOW
        if self._clock() - decided_at > window:
            raise InvalidRequest("It is too late to take this decision back.", code="undo_too_late")
        if not self._is_as_left(effects):
            raise InvalidRequest("What was decided has been changed since.", code="changed_since")
        return effects

    def _is_as_left(self, effects: Effects) -> bool:
        """Whether the memory is still what the decision made of it, or still gone."""
        concerned = effects.made or effects.took
        sealed = self._ledger.get("memories", concerned[0]) if concerned else None
        if effects.made is None:
            return sealed is None
        return sealed is not None and sealed.verified and memory_from(sealed).version == effects.made[1]

    def lift(self, text: str, *, by: str, reason: str) -> bool:
        """Remove the tombstone of a claim, so that it may be said again; says whether there was one.

        What was derived from it, fell with it and still waits goes back to what it was.
        """
        person_name(by)
        checked_reason(reason)
        with self._ledger.writing() as entry:
            return self._burial.unbury(entry, text, by=by, reason=reason)

    def _find(self, item_id: str) -> tuple[Sealed, Item]:
        sealed = self._ledger.get("queue", item_id) if isinstance(item_id, str) else None
        item = item_from(sealed) if sealed else None
        if sealed is None or item is None:
            raise UnknownId("No such review item.", hint="List them with keep.review.list() or 'truekeep review list'.")
        return sealed, self._current(item)

    def _open_item(self, item_id: str) -> tuple[Sealed, Item]:
        sealed, item = self._find(item_id)
        if item.state != "open":
            raise InvalidRequest(f"The item is {item.state} already.", code="item_settled")
        return sealed, item

    def _current(self, item: Item) -> Item:
        lapsed = item.state == "open" and item.expires_at <= self._clock()
        return replace(item, state="expired") if lapsed else item

    def _settle(self, entry: Entry, sealed: Sealed, settled: Item, effects: Effects) -> None:
        done = replace(effects, tag=sealed.row.tag)
        entry.replace("queue", sealed.row, item_body(replace(settled, decided_at=self._clock(), effects=done)))

    def _is_there(self, memory_id: str) -> bool:
        return self._ledger.get("memories", memory_id) is not None

    def _delete(self, entry: Entry, memory_id: str, by: str) -> tuple[str, int] | None:
        sealed = self._ledger.get("memories", memory_id)
        if sealed is None:
            raise UnknownId("The memory that this item wants deleted is gone already.")
        self._removal.delete(entry, sealed, by=by)
        return (memory_id, memory_from(sealed).version) if sealed.verified else None


def _decided_after(sealed: Sealed) -> tuple[datetime, timedelta] | None:
    item = item_from(sealed)
    if item is None or item.decided_at is None or item.decided_by is None:
        return None
    return item.decided_at, item.decided_at - item.created_at


def is_note(item: Item) -> bool:
    """Whether an item is about a note of the agent's that is in the keep, and waits for the owner's word."""
    return item.kind == "memory" and item.target is not None


def text_of(item: Item) -> str:
    """What is held, without passwords, keys and codes: whoever decides need not see them."""
    return redact(item.memory.text) if item.findings else item.memory.text


def item_etag(item: Item) -> str:
    """A tag that changes with whatever a person looks at before they decide."""
    return etag_of(item_as_dict(item))


def etag_of(members: Mapping[str, Any]) -> str:
    """The tag of an item's JSON members."""
    content = json.dumps(members, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:32]


def item_as_dict(item: Item) -> dict[str, Any]:
    """A review item as JSON members; its text is sanitised, because JSON is read by programs and models too."""
    return {
        "id": item.id,
        "kind": item.kind,
        "state": item.state,
        "content": fence.sanitised(text_of(item)),
        "code": item.code,
        "reason": item.reason,
        "findings": [finding.as_dict() for finding in item.findings],
        "standing": item.memory.standing.label,
        "origin": {name: value for name, value in item.memory.origin.as_dict().items() if name != "quote"},
        "created_at": utc_text(item.created_at),
        "expires_at": utc_text(item.expires_at),
        "target": item.target,
        "contests": list(item.contests),
        "decided_by": item.decided_by,
        "decided_reason": item.decided_reason,
        "decided_at": utc_text(item.decided_at) if item.decided_at else None,
    }
