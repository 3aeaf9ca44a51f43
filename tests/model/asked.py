"""Each row of the specification as something that the real code can be asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.model.spec import Answered, Approved, Facts, Place, Situation
from tests.trust.flow.world import NOW, evidence
from truekeep import Keep, Session
from truekeep.errors import TruekeepError
from truekeep.extract.jobs import LEASE, Job, Pace, Task, failed, finished, is_leased, is_ready, released, taken
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger
from truekeep.trust.flow.decide import Answer, judge
from truekeep.trust.flow.evidence import PlanEntry, StandingGrant
from truekeep.trust.flow.tools import Tool
from truekeep.trust.influence import Corroboration, Credits, MemoryFacts, Reader, may_act
from truekeep.trust.origin import AGENT, standing_of
from truekeep.types import Approval, Channel, Standing

_ANSWERS = {Answer.ALLOW: Answered.ALLOW, Answer.CONFIRM: Answered.CONFIRM, Answer.DENY: Answered.DENY}


def code_derives(channel: int, *, is_agent: bool, is_clean: bool, is_relayed: bool, parents: Iterable[int]) -> int:
    """What ``standing_of`` says."""
    bound = Channel(AGENT if is_agent else "crm", Standing(channel), frozenset({"write"}))
    return standing_of(
        bound, clean_mediated_session=is_clean, relayed=is_relayed, parents=[Standing(one) for one in parents]
    )


def code_acts(facts: Facts) -> bool:
    """What ``may_act`` says."""
    limits: dict[Approved, dict[str, Any]] = {
        Approved.YES: {},
        Approved.TO_INFORM: {"inform_only": True},
        Approved.FOR_THIS: {"purpose": "pay"},
        Approved.FOR_ANOTHER: {"purpose": "travel"},
        Approved.RUN_OUT: {"until": NOW - timedelta(days=1)},
    }
    approval = None
    if facts.approved is not Approved.NO:
        approval = Approval(by="eva", reason="seen", at=NOW - timedelta(days=2), **limits[facts.approved])
    known = MemoryFacts(
        standing=Standing(facts.standing),
        principal="bob",
        is_agents=facts.is_agents,
        is_active=True,
        is_verified=True,
        is_blocked=not facts.is_fit,
        approval=approval,
        repeats_hearsay=facts.repeats_hearsay,
        corroboration=Corroboration(tuple("ab"[: facts.witnesses])),
        credits=Credits(good=1) if facts.has_good_credit else Credits(bad=1),
    )
    reader = Reader("bob" if facts.is_readers_own else "eva", is_shared_keep=True, purpose="pay")
    return bool(may_act(known, reader, NOW))


_TARGET = "hedvika@stone.example"
_VISIT = "v-31"
_ASKING = {
    Place.REQUEST: f"invite {_TARGET}",
    Place.RECORD: "cancel the Larchwood survey",
    Place.OTHER_ACT: f"remove {_TARGET} from the list",
}
_MENTIONING = f"who is {_TARGET}?"
_OTHER = "what is new today?"


def answer_of_the_code(made: Situation) -> Answered:
    """What ``judge`` says to a call in a session made for the situation."""
    is_record = made.place is Place.RECORD
    target = _VISIT if is_record else _TARGET
    asking = _ASKING.get(made.place, "invite Hedvika")
    tool = Tool(
        ("cancel_visit" if is_record else "invite_user") if not made.is_reading else "find_user",
        reads=made.is_reading,
        own=True,
        confirm=made.operator_asks,
    )
    stands = [f"Hedvika Stone's mail is {target}"]
    session = evidence(
        memories=stands if made.place is Place.PARTY else None,
        notes=stands if made.place is Place.NOTE else None,
        hearsay=stands if made.place is Place.REMEMBERED else None,
        foreign=["The weather stays mild along the coast."] if made.is_tainted else None,
        messages=[
            *(["The details are at https://page.example"] if made.is_pointed else []),
            asking if made.is_asked else _MENTIONING if made.place is Place.MENTION else _OTHER,
        ],
        tools=[tool, Tool("list_visits", reads=True, own=True)],
        results=[("list_visits", [{"visit_id": _VISIT, "title": "Larchwood survey"}])] if is_record else None,
    )
    if made.is_in_foreign:
        session.foreign.add("f9", f"Our details: {target}.", origin="https://page.example", at=NOW)
    key = "visit_id" if is_record else "email"
    if made.place is Place.PLAN:
        session.plan = (PlanEntry("p1", tool.name, {key: {"literal": target}}),)
    if made.place is Place.OTHER_PLAN:
        session.plan = (PlanEntry("p1", tool.name, {key: {"literal": "karl@lang.example"}}),)
    if made.place is Place.GRANT:
        session.grants = (StandingGrant("g1", tool.name, {key: "*@stone.example"}),)
    return _ANSWERS[judge(session, tool.name, {key: target}).answer]


def lease_of_the_code(path: Iterable[str]) -> list[bool]:
    """What the functions of a job say to each step: whether it was possible."""
    job, now, done = Job(Task("s-1", "discrete"), NOW, NOW), NOW, []
    patience = Pace(debounce=2 * LEASE)
    for name in path:
        can = is_leased(job, now)
        if name.startswith("take"):
            can = is_ready(job, now)
            job = taken(job, now, name[-1]) if can else job
        elif name in ("a while", "a lease's time"):
            can, now = True, now + (0.6 * LEASE if name == "a while" else 1_000 * LEASE)
        elif can:
            job = _ended(job, name, now, patience)
        done.append(can)
    return done


def _ended(job: Job, name: str, now: datetime, patience: Pace) -> Job:
    if name == "fail":
        return failed(job, "model_failed", now, patience)
    return finished(job, job.asks) if name == "finish" else released(job)


class TicketsOfTheCode:
    """One keep; every path is walked in a session of its own."""

    def __init__(self, home: Path) -> None:
        self._now = datetime(2027, 3, 8, 10, tzinfo=UTC)
        self._keep = Keep.open("model", home=home, policy="inform", background=False, clock=lambda: self._now)
        self._count = 0

    def close(self) -> None:
        """Close the keep."""
        self._keep.close()

    def walk(self, path: Iterable[str], *, is_waiting: bool) -> list[bool]:
        """Whether each step succeeded."""
        self._count += 1
        session = self._keep.session(f"s-{self._count}", mediated=True)
        session.observe("web", "The weather stays mild.", principal="https://page.example")
        session.observe("user", _OTHER if is_waiting else f"invite {_TARGET}")
        answer = session.check_action("invite_user", {"email": _TARGET})
        assert answer.decision is (Answer.CONFIRM if is_waiting else Answer.ALLOW)
        return [self._step(session, str(answer.ticket), name) for name in path]

    def _step(self, session: Session, ticket: str, name: str) -> bool:
        actions = self._keep.actions
        try:
            if name == "wait":
                self._now += timedelta(days=2)
            elif name == "withdraw":
                session.observe("user", "stop")
            elif name in ("confirm", "decline"):
                getattr(actions, name)(ticket, via="user")
            else:
                email = "eve@strange.example" if name == "redeem another call" else _TARGET
                elsewhere = "s-0" if name == "redeem elsewhere" else session.name
                actions.redeem(ticket, "invite_user", {"email": email}, elsewhere)
        except TruekeepError:
            return False
        return True


class WritersOfTheCode:
    """Two openings of one store, each as a process of its own would have it; a transaction stays open between steps."""

    def __init__(self, opened: Callable[[], Ledger], cut: Callable[[Ledger], None]) -> None:
        self._ledgers = {who: opened() for who in "ab"}
        self._cut = cut
        self._open: dict[str, AbstractContextManager[Entry]] = {}
        self._is_cut: set[str] = set()

    def close(self) -> None:
        """Let go of both."""
        for who in list(self._open):
            self._end(who)
        for ledger in self._ledgers.values():
            ledger.close()

    def walk(self, path: Iterable[str]) -> tuple[list[bool], tuple[str, ...]]:
        """Whether each step succeeded, and who wrote the events that came of it."""
        with self._ledgers["a"].reading():
            before = self._ledgers["a"].head.seq
        done = [self._step(*name.split(" ", 1)) for name in path]
        for who in list(self._open):
            self._end(who)
        return done, tuple(json.loads(event.body)["by"] for event in self._ledgers["b"].events(after=before))

    def _step(self, who: str, what: str) -> bool:
        if what == "begins":
            return self._begins(who)
        if who not in self._open:
            return False
        if who in self._is_cut:
            return what == "commits" and self._commits(who)  # it believes that it has the keep; the store knows better
        if what == "is cut off":
            self._cut(self._ledgers[who])
            self._is_cut.add(who)
            return True
        return self._commits(who)

    def _begins(self, who: str) -> bool:
        if who in self._open:
            if who not in self._is_cut:
                return False  # it has the keep already
            self._end(who)
        writing = self._ledgers[who].writing()
        try:
            entry = writing.__enter__()
        except TruekeepError:
            return False
        entry.event("test.written", by=who)
        self._open[who] = writing
        return True

    def _commits(self, who: str) -> bool:
        self._is_cut.discard(who)
        try:
            self._open.pop(who).__exit__(None, None, None)
        except TruekeepError:
            return False
        return True

    def _end(self, who: str) -> None:
        self._is_cut.discard(who)
        left = RuntimeError("cut off")
        with suppress(RuntimeError, TruekeepError):
            self._open.pop(who).__exit__(RuntimeError, left, None)
