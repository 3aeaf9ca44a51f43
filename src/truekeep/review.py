"""Review: a person looks at what was held back and lets it in, or rejects it for good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from truekeep import fence
from truekeep.candidate import checked_moment, checked_text
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.gate import Gate
from truekeep.origin import person_name
from truekeep.screens.credentials import redact
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import item_body, item_from
from truekeep.types import Approval, Decision, Item, Verdict, utc_text

STATES = ("open", "approved", "rejected", "expired", "lifted")
_REASON_CAP = 2_000


class Review:
    """The review queue of one keep."""

    def __init__(self, ledger: Ledger, gate: Gate, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._gate = gate
        self._clock = clock

    def list(self, state: str | None = "open") -> list[Item]:
        """Items in that state (all for ``None``), oldest first."""
        if state is not None and state not in STATES:
            raise InvalidRequest("No such review state.", hint=f"States: {', '.join(STATES)}.")
        items = (item_from(sealed) for sealed in self._ledger.all("queue"))
        current = [self._current(item) for item in items if item]
        return [item for item in current if state is None or item.state == state]

    def show(self, item_id: str) -> Item:
        """One item, with the raw text: for a person's eyes, never for a prompt."""
        return self._find(item_id)[1]

    def approve(
        self,
        item_id: str,
        *,
        by: str,
        reason: str,
        until: datetime | None = None,
        inform_only: bool = False,
        purpose: str | None = None,
    ) -> Verdict:
        """Let an item in. The approval names who and why, and may be limited in time, purpose or to informing.

        Approving a proposed deletion deletes; approving a memory in doubt leaves it as it is; approving one that
        contests another lets it take the other's place.
        """
        approval = Approval(
            by=person_name(by),
            reason=checked_text(reason, _REASON_CAP),
            at=self._clock(),
            until=checked_moment("until", until),
            inform_only=_checked_flag(inform_only),
            purpose=checked_text(purpose, _REASON_CAP) if purpose is not None else None,
        )
        with self._ledger.writing() as entry:
            sealed, item = self._open_item(item_id)
            approval = replace(approval, rules=tuple(dict.fromkeys(finding.rule_id for finding in item.findings)))
            if item.kind == "deletion":
                self._delete(entry, item.target or "", by)
                verdict = Verdict(Decision.ACCEPT, "deleted", "Deleted.", memory_id=item.target, item_id=item.id)
            elif item.kind == "doubt":
                verdict = Verdict(Decision.ACCEPT, "kept", "Kept.", memory_id=item.target, item_id=item.id)
            else:
                memory = self._gate.admit_approved(entry, item, approval)
                verdict = Verdict(Decision.ACCEPT, "approved", "Approved.", memory_id=memory.id, item_id=item.id)
            self._settle(entry, sealed, replace(item, state="approved", decided_by=by, decided_reason=reason))
            entry.event(
                "review.approved",
                item=item.id,
                memory=verdict.memory_id,
                by=by,
                reason=reason,
                until=utc_text(approval.until) if approval.until else None,
                inform_only=inform_only,
                purpose=purpose,
            )
            entry.told.append(verdict)
        return verdict

    def reject(self, item_id: str, *, by: str, reason: str) -> None:
        """Turn an item down. Its claim leaves a tombstone: planting it again is refused without asking twice.

        Rejecting a proposed deletion keeps the memory; rejecting a memory in doubt, or one that contests another, takes
        it out of the keep.
        """
        person_name(by)
        checked_text(reason, _REASON_CAP)
        with self._ledger.writing() as entry:
            sealed, item = self._open_item(item_id)
            self._settle(entry, sealed, replace(item, state="rejected", decided_by=by, decided_reason=reason))
            if item.kind in ("doubt", "contest"):
                self._delete(entry, item.memory.id, by)
            if item.kind != "deletion":
                self._gate.bury(entry, item.memory, by=by, reason=reason)
            entry.event("review.rejected", item=item.id, by=by, reason=reason)

    def lift(self, text: str, *, by: str, reason: str) -> bool:
        """Remove the tombstone of a claim, so that it may be said again; says whether there was one.

        What was derived from it, fell with it and still waits goes back to what it was.
        """
        person_name(by)
        checked_text(reason, _REASON_CAP)
        with self._ledger.writing() as entry:
            return self._gate.unbury(entry, text, by=by, reason=reason)

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

    def _settle(self, entry: Entry, sealed: Sealed, settled: Item) -> None:
        entry.replace("queue", sealed.row, item_body(replace(settled, decided_at=self._clock())))

    def _delete(self, entry: Entry, memory_id: str, by: str) -> None:
        sealed = self._ledger.get("memories", memory_id)
        if sealed is None:
            raise UnknownId("The memory that this item wants deleted is gone already.")
        self._gate.remove(entry, sealed, by=by)


def _checked_flag(inform_only: bool) -> bool:
    if not isinstance(inform_only, bool):
        raise InvalidRequest("Whether an approval is to inform only is true or false.", code="invalid_inform_only")
    return inform_only


def text_of(item: Item) -> str:
    """What is held, without passwords, keys and codes: whoever decides need not see them."""
    return redact(item.memory.text) if item.findings else item.memory.text


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
