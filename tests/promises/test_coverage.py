"""The machine lives the whole life of a keep: every public operation is among its rules, or left out for a reason."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from tests.promises.acting import Answering, Ask, CarryOut, Confirm, CreditRun, Permit, Plan, Redeem
from tests.promises.agreement import Operation
from tests.promises.comparison import compare
from tests.promises.deciding import (
    Approve,
    DecideSeveral,
    Enrol,
    Erase,
    Lift,
    Maintain,
    Mute,
    Pass,
    Reconsider,
    Reject,
    Revoke,
    Rewind,
    Undo,
    Wait,
)
from tests.promises.distilling import CUSTOM, Distil
from tests.promises.elsewhere import Elsewhere
from tests.promises.leaking import WAYS, Leak
from tests.promises.looking import Freeze, ListAll, LookAround, LookAt, Recall
from tests.promises.machine import EVERYTHING
from tests.promises.merging import Consolidate
from tests.promises.operations import OPERATIONS
from tests.promises.quoting import TWISTS, USES, Misquote
from tests.promises.screening import Rule
from tests.promises.talking import Begin, Jot, LetGo, Observe, Return, Segment
from tests.promises.twins import Twins
from tests.promises.vocabulary import HONEST, INJECTION, PAY, PLANT, POISON, call_for, wordings
from tests.promises.world import ALONE
from tests.promises.writing import Agree, BringBack, Delete, ForgetAndBringBack, Pin, Remember, RememberMany, Update
from truekeep import Keep
from truekeep.act.boundary import Boundary
from truekeep.act.grants import Grants
from truekeep.audit.log import Audit
from truekeep.extract.library import PromptLibrary
from truekeep.extract.schedule import Extractions
from truekeep.extract.working_memory import WorkingSessions
from truekeep.handles import Handle, Session
from truekeep.review.decisions import Review
from truekeep.sessions.channels import Channels

SURFACE = (
    Keep,
    Handle,
    Session,
    Review,
    Boundary,
    Grants,
    Channels,
    WorkingSessions,
    Extractions,
    PromptLibrary,
    Audit,
)
LEFT_OUT = {
    "Keep.destroy": "nothing is left of the keep that could be compared",
    "Extractions.start": "runs what ``run`` does on a thread of its own, at moments that a machine cannot choose",
    "Extractions.learn_in_background": "the same thread, begun by what waits",
    "Extractions.work": "one round of that thread",
    "Review.approve_group": "approves one after the other, as ``approve`` does, what a person chose as a group",
    "Review.undo_group": "takes back one after the other, as ``undo`` does",
    "Keep.move_in": "goes through the same gate as a load over ``import``; tests/protect moves the whole battery in",
    "Boundary.declared": "what the proxy compares a server's tools with; it reads what ``session`` wrote",
    "Review.decision_times": "two moments of each decision, for a chart; it reads what a decision wrote",
    "Boundary.together": "one write of the anchor for several answers; it writes nothing itself",
    "Boundary.weigh": "what the proxy's shadow mode counts by; it judges as ``check`` does, reads and writes nothing",
    "Boundary.took_in": "what adapters resume a conversation by; it reads what ``observe`` wrote",
}
TRUE, OTHER = wordings(HONEST[0]), wordings(HONEST[1])
CALL = call_for(HONEST[0])
LIFE: tuple[Operation, ...] = (
    Begin("s-1", True),
    *(Remember("owner", TRUE[0], way, "s-1") for way in ("keep", "session", "handle")),
    *(RememberMany("crm", TRUE[1:2], True, way) for way in ("keep", "handle", "load")),
    Agree(HONEST[0], (0, 1)),
    *(Observe("s-1", "owner", TRUE[0], way=way) for way in ("keep", "session", "handle", "working")),
    *(Update(0, "owner", OTHER[0], None, way) for way in ("keep", "handle")),
    *(Recall("s-1", "Northwind account", way=way) for way in ("keep", "session", "handle")),
    *(ListAll("s-1", way) for way in ("keep", "session", "handle")),
    *(LookAt("s-1", 0, way) for way in ("keep", "handle")),
    *(Freeze("s-1", True, way) for way in ("keep", "session", "handle")),
    *(Ask("s-1", (PAY,), CALL, way) for way in ("keep", "session", "handle")),
    *(Confirm(which, agrees, way) for which, (agrees, way) in enumerate(((True, "keep"), (False, "keep")))),
    Confirm(2, True, "handle"),
    *(Redeem(0, way) for way in ("keep", "session", "handle", "guard")),
    CreditRun(0, True),
    *(Plan("s-1", HONEST[0], way) for way in ("keep", "session")),
    *(Answering("s-1", "1180-22", way) for way in ("keep", "session")),
    Permit("Northwind", False),
    Permit("Northwind", True),
    *(Return("s-1", OTHER[0], way) for way in ("keep", "session")),
    *(Segment("s-1", way) for way in ("keep", "session")),
    CarryOut("s-1", 0, True),
    *(Distil("s-1", PAY, ((TRUE[0], TRUE[0]),), "discrete", way) for way in ("keep", "session", "handle", "queue")),
    Distil("s-1", PAY, ((TRUE[1], TRUE[0]),), CUSTOM),
    *(Misquote("s-2", twist, use) for twist, use in zip(TWISTS, USES, strict=False)),
    Remember("web", wordings(POISON[0])[0]),
    Remember("owner", PLANT),
    Remember("web", INJECTION),
    LookAround(0, "s-1"),
    Reconsider(0, True),
    Reconsider(0, False),
    Begin("s-9", True),
    Remember("agent", OTHER[0], "keep", "s-9"),
    Wait(False),
    Wait(True),
    DecideSeveral((0,)),
    Mute("evil.example", False),
    Mute("evil.example", True),
    Approve(0),
    Reject(1),
    Lift(TRUE[0]),
    Enrol(False),
    Enrol(True),
    *(Delete(which, "owner", way) for which, way in enumerate(("keep", "handle"))),
    BringBack(0, "owner"),
    *(Pin(0, who, pinned) for who in ("owner", "agent") for pinned in (True, False)),
    ForgetAndBringBack(f"what I said about {HONEST[0].subject}"),
    Revoke((("channel", "crm"),)),
    Undo(0),
    Consolidate(),
    Rewind(0.05),
    Erase(0),
    Jot("s-1", "owner", TRUE[0]),
    LetGo("s-1"),
    LetGo(None),
    Pass(30),
    Maintain(True),
    Maintain(False),
    *(Leak("s-2", 0, way) for way in range(WAYS)),
    Rule(True),
    Rule(False),
    Elsewhere("owner", TRUE[0], 0),
    Elsewhere("owner", "", 0, deletes=True),
)
"""Every operation at least once, by every way."""


def _public(kind: type) -> list[str]:
    return [name for name, _ in inspect.getmembers(kind, inspect.isroutine) if not name.startswith("_")]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The public methods that were called."""
    seen: set[str] = set()

    def watched(full: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            seen.add(full)
            return method(*args, **kwargs)

        return call

    for kind in SURFACE:
        for name in _public(kind):
            raw = inspect.getattr_static(kind, name)
            made = watched(f"{kind.__name__}.{name}", raw.__func__ if isinstance(raw, classmethod) else raw)
            monkeypatch.setattr(kind, name, classmethod(made) if isinstance(raw, classmethod) else made)
    return seen


@pytest.mark.slow
def test_a_life_with_every_operation_calls_every_public_method_and_keeps_the_promises(called: set[str]) -> None:
    twins = Twins(ALONE)
    try:
        for step, operation in enumerate(LIFE):
            twins.advance(seconds=1)
            operation.run(twins)
            compare(twins, step)
    finally:
        twins.close()
    surface = {f"{kind.__name__}.{name}" for kind in SURFACE for name in _public(kind)}
    # Of the background's own rounds some may have run meanwhile.
    assert surface - called - {"Extractions.work"} == LEFT_OUT.keys() - {"Extractions.work"}, (
        "give the machine a rule for it, or a reason to leave it out"
    )


@pytest.mark.slow
def test_the_machine_draws_every_operation_of_that_life_and_no_other() -> None:
    drawn: set[tuple[str, str]] = set()
    for strategy in OPERATIONS.values():

        @settings(max_examples=90, derandomize=True, database=None, phases=[Phase.generate])
        @given(strategy)
        def draw(operation: Operation) -> None:
            drawn.add(_kind(operation))

        draw()
    life = {_kind(operation) for operation in LIFE}
    assert life <= drawn
    assert {name for name, _ in drawn} == {name for name, _ in life}


def test_no_rule_of_the_hearsay_has_the_name_of_another() -> None:
    assert len(EVERYTHING) == len(OPERATIONS) + sum(name.startswith("extra_") for name in EVERYTHING)


def _kind(operation: Operation) -> tuple[str, str]:
    return type(operation).__name__, str(getattr(operation, "way", ""))
