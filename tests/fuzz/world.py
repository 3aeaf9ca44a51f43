"""A keep on which random sequences are carried out, and the promises that have to hold after each call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from tests.conftest import Clock
from tests.fuzz.sequences import CANARY, Operation
from tests.fuzz.watching import promise, watched
from truekeep import Keep, Settings
from truekeep.trust.flow.decide import Answer
from truekeep.types import Standing

SETTINGS = Settings(embedder="none")
CALLS = frozenset({"plant", "plant_many", "observe"})
"""What hearsay can do: it neither adds to what may act nor takes away from it."""


class World:
    """One keep and what was made in it so far."""

    def __init__(self, home: Path, name: str, policy: str) -> None:
        self.clock = Clock()
        self._open: Callable[[], Keep] = lambda: Keep.open(
            name, home=home, settings=SETTINGS, policy=policy, clock=self.clock, background=False
        )
        self.keep = self._open()
        for channel in ("crm", "billing"):
            self.keep.channels.enrol(channel, by="eva", reason="ours")
        self.known: dict[str, list[Any]] = {"memory": [], "item": [], "incident": [], "ticket": []}
        self.snapshots: dict[str, str] = {}
        self.approved: set[str] = set()
        self.is_canary_vouched_for = False
        """Whether a person approved something, which may have had the canary in it."""

    def carry_out(self, operations: list[Operation]) -> None:
        """Make the calls one after another, and hold the keep to its promises."""
        for name, arguments in operations:
            before = self.acting() if name in CALLS else None
            given = {key: self._resolved(value) for key, value in arguments.items()}
            watched(name, partial(getattr(self, f"_{name}"), **given))
            if before is not None:
                promise(self.acting() == before, f"{name}: hearsay changed what may act")

    def acting(self) -> set[str]:
        """The memories that may act."""
        listed = self.keep.get_memories()
        acting = [one for one in listed if one["may_act"]]
        heard = [one for one in acting if one["standing"] == "hearsay" and one["id"] not in self.approved]
        promise(not heard, f"hearsay may not act: {[one['why'] for one in heard]}")
        return {one["id"] for one in acting}

    def settle(self) -> None:
        """Close and open the keep again; all of it must verify."""
        promise(self.keep.audit.verify().ok, "the audit chain verifies")
        # A clock that was set back tells again what the log says; what ended within the last call has ended for sure.
        self.clock.now = max(self.clock.now, self.keep._ledger.clock())
        before = watched("list", self.keep.get_memories)
        self.keep.close()
        self.keep = self._open()
        promise(watched("list", self.keep.get_memories) == before, "what is there does not depend on who opened it")
        promise(self.keep.audit.verify().ok, "the audit chain verifies after opening again")

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, dict) and len(value) == 1:
            ((name, which),) = value.items()
            if name == "days" and isinstance(which, int | float):
                return self.clock.now + timedelta(days=which)
            if name in self.known and isinstance(which, int):
                return self.known[name][which % len(self.known[name])] if self.known[name] else "nothing there"
        if isinstance(value, dict):
            return {name: self._resolved(inner) for name, inner in value.items()}
        return [self._resolved(inner) for inner in value] if isinstance(value, list) else value

    def _noted(self, verdict: Any) -> None:
        if verdict.memory_id:
            self.known["memory"].append(verdict.memory_id)
        if verdict.item_id:
            self.known["item"].append(verdict.item_id)

    # The calls

    def _tell(self, text: str, via: str, **fields: Any) -> None:
        self._noted(self.keep.remember(text, via=via, **fields))

    _plant = _note = _tell

    def _plant_many(self, texts: list[str], via: str) -> None:
        for verdict in self.keep.remember_many(texts, via=via, skip_rejected=True):
            self._noted(verdict)

    def _change(self, memory: str, text: str, via: str, **fields: Any) -> None:
        self._noted(self.keep.update_memory(memory, text, via=via, **fields))

    _offer_change = _change

    def _delete(self, memory: str, via: str) -> None:
        self._noted(self.keep.delete_memory(memory, via=via))

    def _restore(self, memory: str, via: str, version: int | None) -> None:
        self.keep.restore(memory, via=via, version=version)

    def _observe(self, session: str, via: str, text: str) -> None:
        self.keep.observe(session, via, text)

    _hear = _observe

    def _begin(self, session: str, mediated: bool) -> None:
        self.keep.session(session, mediated=mediated)

    def _extract(self, session: str, strategy: str) -> None:
        for taken in self.keep.extract(session, strategy).taken:
            self._noted(taken.verdict)

    def _recall(self, query: str, **options: Any) -> None:
        for hit in self.keep.recall(query, **options):
            is_heard = hit.memory.standing is Standing.HEARSAY and hit.memory.id not in self.approved
            promise(not (hit.may_act and is_heard), "recalled hearsay may not act")

    def _list(self, **options: Any) -> None:
        self.keep.get_memories(**options)

    def _look(self, memory: str) -> None:
        self.keep.get_memory(memory)
        self.keep.trace(memory)
        self.keep.exposures(memory)
        self.keep.history(memory)

    def _snapshot(self, session: str, refresh: bool) -> None:
        found = self.keep.snapshot(session, refresh=refresh)
        frozen = self.snapshots.get(session)
        promise(refresh or frozen in (None, found.text), "a snapshot does not change under its session")
        promise(found.text.count("</memories>") == 1, "content cannot close the fence")
        self.snapshots[session] = found.text

    def _act(self, session: str, name: str, arguments: dict[str, Any], run: str | None) -> None:
        answer = self.keep.check_action(session, name, arguments, run=run)
        if answer.ticket is not None:
            self.known["ticket"].append((answer.ticket, name, arguments))
        if not self.is_canary_vouched_for and name == "pay" and arguments["account"] == CANARY:
            is_refused = answer.decision is not Answer.ALLOW
            promise(is_refused or self._is_made_up(session), "a value that was merely read pays nobody")

    def _is_made_up(self, session: str) -> bool:
        """Whether the canary can only be the agent's own: nothing foreign is in the session, and no memory has it."""
        return self.keep.is_clean(session) and not any(CANARY in one["content"] for one in self.keep.get_memories())

    def _confirm(self, ticket: Any, via: str) -> None:
        self.keep.actions.confirm(_ticket(ticket)[0], via=via)
        self.is_canary_vouched_for = True

    def _redeem(self, ticket: Any) -> None:
        found, name, arguments = _ticket(ticket)
        self.keep.actions.redeem(str(found), name, arguments)

    def _credit(self, run: str, outcome: str) -> None:
        self.keep.credit(run, outcome, via="outcomes")

    def _approve(self, item: str, inform_only: bool) -> None:
        verdict = self.keep.review.approve(item, by="eva", reason="seen", inform_only=inform_only)
        self.approved |= {str(verdict.memory_id)}
        self.is_canary_vouched_for = True

    def _reject(self, item: str) -> None:
        self.keep.review.reject(item, by="eva", reason="no")

    def _lift(self, memory: str) -> None:
        text = next((one["content"] for one in self.keep.get_memories() if one["id"] == memory), "nothing")
        self.keep.review.lift(text, by="eva", reason="after all")

    def _revoke(self, **source: Any) -> None:
        dry_run = source.pop("dry_run")
        before = self.keep.get_memories() if dry_run else None
        report = self.keep.revoke(**source, dry_run=dry_run, by="eva", reason="a trial")
        promise(bool(report.text() and report.html() and report.as_dict()), "a report can be sent")
        self.known["incident"] += [report["incident"]] if report["incident"] else []
        promise(before is None or self.keep.get_memories() == before, "a dry run changes nothing")

    def _rewind(self, to: Any, dry_run: bool) -> None:
        report = self.keep.rewind(to, dry_run=dry_run, by="eva", reason="a trial")
        self.known["incident"] += [report["incident"]] if report["incident"] else []

    def _undo(self, incident: str) -> None:
        self.keep.undo(incident, by="eva", reason="a trial")

    def _blame(self, run: str) -> None:
        self.keep.blame(run)

    def _retire(self, channel: str) -> None:
        self.keep.channels.retire(channel, by="eva", reason="a trial")

    def _erase(self, subject: str, dry_run: bool) -> None:
        self.keep.erase(subject=subject, by="eva", reason="a trial", dry_run=dry_run)
        if not dry_run:
            self.snapshots = {}

    def _export(self) -> None:
        self.keep.export()

    def _clock(self, days: float) -> None:
        if isinstance(days, int | float) and abs(days) < 100:
            self.clock.advance(days=days)


def _ticket(found: Any) -> tuple[Any, str, dict[str, Any]]:
    return found if isinstance(found, tuple) else ("tkt_0", "pay", {})
