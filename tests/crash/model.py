"""What a keep must hold after some operations, computed from their meaning alone.

A memory is a plot and its tenant, and no tenant rents twice. An operation that was acknowledged has its place in the
audit log; one that was under way when its process died has happened as a whole somewhere after the last acknowledged
one of that process, or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Operation = dict[str, Any]
Lease = tuple[int, int]
"""A plot and its tenant."""


@dataclass(frozen=True)
class Incident:
    """A revocation or rewind."""

    removed: frozenset[Lease]
    restored: frozenset[Lease] = frozenset()
    held: frozenset[Lease] = frozenset()
    """What waits for a person since then; only a revocation asks one."""
    undone: bool = False


@dataclass(frozen=True)
class State:
    """Everything about a keep that operations change. What is told by ``facts`` can be compared with a real one."""

    live: frozenset[Lease] = frozenset()
    waiting: tuple[tuple[str, int, int], ...] = ()
    incidents: dict[str, Incident] = field(default_factory=dict)
    sessions: dict[int, str] = field(default_factory=dict)
    """In which session each tenant was written down."""
    parents: dict[int, int] = field(default_factory=dict)
    """From which plot's memory that was derived."""

    def facts(self) -> dict[str, Any]:
        """What a look at the keep must find."""
        return {
            "live": sorted(map(list, self.live)),
            "waiting": sorted(map(list, self.waiting)),
            "incidents": {
                reason: [one.undone, sorted(map(list, one.removed)), sorted(map(list, one.restored))]
                for reason, one in self.incidents.items()
            },
        }


@dataclass(frozen=True)
class Step:
    """An operation and the number of its last event; none if it was never acknowledged."""

    operation: Operation
    seq: int | None = None


class History:
    """One keep's states, by the event after which each held."""

    def __init__(self) -> None:
        self.points: list[tuple[float, State]] = [(1, State())]

    @property
    def now(self) -> State:
        return self.points[-1][1]

    def replay(self, steps: Sequence[Step]) -> list[tuple[float, State]]:
        """The states that these steps lead to, one after another."""
        points = list(self.points)
        for step in steps:
            # The number of what was never acknowledged is not known, but it is not that of what came before.
            seq = step.seq if step.seq is not None else points[-1][0] + 0.5
            points.append((seq, after(points[-1][1], step.operation, points)))
        return points

    def explain(
        self, acknowledged: Sequence[Step], under_way: Sequence[tuple[Operation, int]], facts: Any, newest: int
    ) -> bool:
        """Find an order in which everything acknowledged happened, and each rest as a whole or not at all.

        Only the state that it led to is kept, and goes with the newest event: on the way there may be several.
        """
        for steps in placed(sorted(acknowledged, key=lambda step: step.seq or 0), under_way):
            points = self.replay(steps)
            if points[-1][1].facts() == facts:
                self.points.append((newest, points[-1][1]))
                return True
        return False


def placed(steps: Sequence[Step], under_way: Sequence[tuple[Operation, int]]) -> Iterator[list[Step]]:
    """Every order in which these operations, each later than some event, may have happened or not."""
    if not under_way:
        yield list(steps)
        return
    (operation, earliest), *others = under_way
    for rest in placed(steps, others):
        yield rest
        for place in range(len(rest) + 1):
            if all((step.seq or earliest + 1) > earliest for step in rest[place:]):
                yield [*rest[:place], Step(operation), *rest[place:]]


def after(state: State, done: Operation, points: Sequence[tuple[float, State]]) -> State:
    """The state after an operation; one that is not here, such as a rotation of keys, changes nothing of it."""
    kind = done["kind"]
    if kind == "rewind":
        return _rewound(state, done, points)
    return _EFFECTS[kind](state, done) if kind in _EFFECTS else state


def _deleted(state: State, done: Operation) -> State:
    return replace(state, live=_without(state.live, {done["plot"]}))


def _written(state: State, done: Operation) -> State:
    leases = [(plot, tenant) for plot, tenant in done["leases"]]
    tenants, session, parent = [tenant for _, tenant in leases], str(done["session"]), done.get("parent")
    return replace(
        state,
        live=_without(state.live, {plot for plot, _ in leases}) | set(leases),
        sessions=state.sessions | dict.fromkeys(tenants, session),
        parents=state.parents | {tenant: int(parent) for tenant in tenants if parent},
    )


def _reviewed(state: State, done: Operation) -> State:
    item = ("memory", done["plot"], done["tenant"])
    if done["kind"] == "hold":
        return replace(state, waiting=_counted(state.waiting, [item], []))
    closed = replace(state, waiting=_counted(state.waiting, [], [item]))
    return replace(closed, live=state.live | {item[1:]}) if done["kind"] == "approve" else closed


def _revoked(state: State, done: Operation) -> State:
    roots = {lease for lease in state.live if state.sessions.get(lease[1]) == done["session"]}
    plots = {plot for plot, _ in roots}
    gone = frozenset(roots | {lease for lease in state.live if state.parents.get(lease[1]) in plots})
    waiting = _counted(state.waiting, [("revoked", *lease) for lease in gone], [])
    incidents = state.incidents | {done["reason"]: Incident(gone, held=gone)}
    return replace(state, live=state.live - gone, waiting=waiting, incidents=incidents)


def _rewound(state: State, done: Operation, points: Sequence[tuple[float, State]]) -> State:
    then = [past.live for seq, past in points if seq <= done["to"]][-1]
    incident = Incident(state.live - then, then - state.live)
    return replace(state, live=then, incidents=state.incidents | {done["reason"]: incident})


def _undone(state: State, done: Operation) -> State:
    reason = done["reason"]
    incident = state.incidents[reason]
    kept = _without(state.live, {plot for plot, _ in incident.restored})
    back = {lease for lease in incident.removed if lease[0] not in {plot for plot, _ in kept}}
    closed = [("revoked", *lease) for lease in incident.held]
    incidents = state.incidents | {reason: replace(incident, undone=True)}
    return replace(state, live=kept | back, waiting=_counted(state.waiting, [], closed), incidents=incidents)


def _without(live: frozenset[Lease], plots: set[int]) -> frozenset[Lease]:
    return frozenset(lease for lease in live if lease[0] not in plots)


def _counted(
    waiting: Sequence[tuple[str, int, int]],
    opened: Sequence[tuple[str, int, int]],
    closed: Sequence[tuple[str, int, int]],
) -> tuple[tuple[str, int, int], ...]:
    counts = Counter(waiting)
    counts.update(opened)
    counts.subtract(closed)
    return tuple(sorted(counts.elements()))


_EFFECTS: dict[str, Callable[[State, Operation], State]] = {
    "write": _written,
    "batch": _written,
    "change": _written,
    "delete": _deleted,
    "hold": _reviewed,
    "approve": _reviewed,
    "reject": _reviewed,
    "revoke": _revoked,
    "undo": _undone,
}
