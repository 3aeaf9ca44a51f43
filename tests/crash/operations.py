"""A process that does one thing after another to a keep until it is killed, and says before and after what it is."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.model import Operation
from tests.crash.nursery import NAME, settings_of
from truekeep import Keep, TruekeepError
from truekeep.config import Paths
from truekeep.errors import KeyUnavailable, UnknownId
from truekeep.keep import now
from truekeep.stores.rotation import rotate_data, rotate_master

TEXT = "Plot {} is leased to tenant {}."
PLOT = re.compile(r"Plot (\d+) is leased to tenant (\d+)\.")
WEIGHTS = {
    "write": 6,
    "batch": 2,
    "derive": 2,
    "change": 3,
    "delete": 4,
    "hold": 3,
    "approve": 2,
    "reject": 2,
    "revoke": 3,
    "undo": 2,
    "rewind": 2,
    "rotate": 1,
    "rotate_master": 1,
}
"""How often each is tried."""
_ESTATE = 10
"""Every tenth plot may have others derived from it, and is neither changed nor deleted."""


class Worker:
    """One writer of several. It touches only its own plots; a rewind, though, is everybody's."""

    def __init__(self, home: Path, writer: int, seed: int, targets: Sequence[int], pipe: Connection) -> None:
        self._home, self._writer, self._pipe = home, writer, pipe
        self._random = Random(seed)
        self._next = (seed % 1_000_000) * 10_000 + writer
        self._targets = list(targets)
        self._keep = self._opened()

    def work(self) -> None:
        """Do something again and again; never comes back by itself."""
        self._pipe.send({"ready": self._writer})
        while True:
            wanted = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
            try:
                operation = getattr(self, f"_plan_{wanted}", self._plan_other)(wanted)
            except KeyUnavailable:
                self._reopen()
                continue
            if operation is not None:
                self._do(operation)

    def _do(self, operation: Operation) -> None:
        self._pipe.send({"doing": operation})
        try:
            getattr(self, f"_{operation['kind']}")(operation)
        except TruekeepError as error:
            self._pipe.send({"refused": error.code, "why": traceback.format_exc()})
            if error.code == "keys_rotated":
                self._reopen()
        else:
            head = self._keep._ledger.head
            self._targets.append(head.seq)
            self._pipe.send({"done": head.seq, "hash": head.hash.hex()})

    # What could be done now

    def _plan_write(self, _: str) -> Operation:
        return {"kind": "write", "leases": [self._lease()], "session": self._session()}

    def _plan_batch(self, _: str) -> Operation:
        leases = [self._lease() for _ in range(self._random.randint(2, 6))]
        return {"kind": "batch", "leases": leases, "session": self._session()}

    def _plan_derive(self, _: str) -> Operation | None:
        estates = [plot for plot in self._live() if plot % _ESTATE == 0]
        if not estates:
            return None
        lease = self._lease(estate=False)
        return {"kind": "write", "leases": [lease], "session": self._session(), "parent": self._random.choice(estates)}

    def _plan_change(self, _: str) -> Operation | None:
        plots = [plot for plot in self._live() if plot % _ESTATE]
        if not plots:
            return None
        lease = (self._random.choice(plots), self._lease()[1])
        return {"kind": "change", "leases": [lease], "session": self._session()}

    def _plan_delete(self, _: str) -> Operation | None:
        plots = [plot for plot in self._live() if plot % _ESTATE]
        return {"kind": "delete", "plot": self._random.choice(plots)} if len(plots) > 5 else None

    def _plan_hold(self, _: str) -> Operation:
        plot, tenant = self._lease(estate=False)
        return {"kind": "hold", "plot": plot, "tenant": tenant}

    def _plan_approve(self, kind: str) -> Operation | None:
        waiting = [one for one in held(self._keep) if one[0] == "memory" and self._is_own(one[1])]
        if not waiting:
            return None
        _, plot, tenant = self._random.choice(waiting)
        return {"kind": kind, "plot": plot, "tenant": tenant}

    _plan_reject = _plan_approve

    def _plan_revoke(self, _: str) -> Operation:
        return {"kind": "revoke", "session": self._session(), "reason": self._reason()}

    def _plan_undo(self, _: str) -> Operation | None:
        own = [one for one in self._keep.incidents() if one.undone_by is None and one.by == f"w{self._writer}"]
        return {"kind": "undo", "reason": self._random.choice(own).reason} if own else None

    def _plan_rewind(self, _: str) -> Operation:
        return {"kind": "rewind", "to": self._random.choice(self._targets[-12:]), "reason": self._reason()}

    def _plan_other(self, kind: str) -> Operation:
        return {"kind": kind}

    # Doing it

    def _write(self, operation: Operation) -> None:
        parents = [self._id(operation["parent"])] if "parent" in operation else []
        ((plot, tenant),) = operation["leases"]
        text, session = TEXT.format(plot, tenant), operation["session"]
        _require(self._keep.remember(text, via="user", session=session, parents=parents).accepted)

    def _batch(self, operation: Operation) -> None:
        texts = [TEXT.format(*lease) for lease in operation["leases"]]
        verdicts = self._keep.remember_many(texts, via="user", session=operation["session"])
        _require(all(verdict.accepted for verdict in verdicts))

    def _change(self, operation: Operation) -> None:
        ((plot, tenant),) = operation["leases"]
        text, session = TEXT.format(plot, tenant), operation["session"]
        _require(self._keep.update_memory(self._id(plot), text, via="user", session=session).accepted)

    def _delete(self, operation: Operation) -> None:
        _require(self._keep.delete_memory(self._id(operation["plot"]), via="user").code == "deleted")

    def _hold(self, operation: Operation) -> None:
        text = TEXT.format(operation["plot"], operation["tenant"])
        _require(self._keep.remember(text, via="web", principal="example.org").item_id is not None)

    def _approve(self, operation: Operation) -> None:
        _require(self._keep.review.approve(self._item(operation), by="eva", reason="seen").accepted)

    def _reject(self, operation: Operation) -> None:
        self._keep.review.reject(self._item(operation), by="eva", reason="seen")

    def _revoke(self, operation: Operation) -> None:
        self._keep.revoke(session=operation["session"], by=f"w{self._writer}", reason=operation["reason"])

    def _rewind(self, operation: Operation) -> None:
        self._keep.rewind(operation["to"], by=f"w{self._writer}", reason=operation["reason"])

    def _undo(self, operation: Operation) -> None:
        (incident,) = [one.id for one in self._keep.incidents() if one.reason == operation["reason"]]
        self._keep.undo(incident, by="eva", reason="a mistake")

    def _rotate(self, _: Operation) -> None:
        self._keep.close()
        try:
            rotate_data(Paths.resolve(self._home), NAME, now, replace(settings_of(self._home), busy_seconds=0.5))
        finally:
            self._keep = self._opened()

    def _rotate_master(self, _: Operation) -> None:
        rotate_master(Paths.resolve(self._home), settings_of(self._home))

    # The keep as it is

    def _reopen(self) -> None:
        """Another process has rotated the keys of a keep in a database, which is open here meanwhile."""
        self._keep.close()
        self._keep = self._opened()

    def _opened(self) -> Keep:
        return Keep.open(NAME, home=self._home, settings=settings_of(self._home))

    def _live(self) -> dict[int, str]:
        return {plot: one["id"] for plot, one in listed(self._keep).items() if self._is_own(plot)}

    def _is_own(self, plot: int) -> bool:
        return plot % 2 == self._writer

    def _id(self, plot: int) -> str:
        return _found(one["id"] for number, one in listed(self._keep).items() if number == plot)

    def _item(self, operation: Operation) -> str:
        wanted = TEXT.format(operation["plot"], operation["tenant"])
        return _found(one.id for one in self._keep.review.list() if one.memory.text == wanted and one.kind == "memory")

    def _lease(self, *, estate: bool = True) -> tuple[int, int]:
        self._next += 2
        if not estate and self._next % _ESTATE == 0:
            self._next += 2
        return self._next, self._next + 7

    def _session(self) -> str:
        return f"w{self._writer}-{self._random.randrange(6)}"

    def _reason(self) -> str:
        return f"incident {self._lease()[0]}"


def listed(keep: Keep) -> dict[int, dict[str, Any]]:
    """The memories of a keep by their plots."""
    return {int(read(one["content"])[0]): one for one in keep.get_memories()}


def held(keep: Keep) -> list[tuple[str, int, int]]:
    """What waits for a person."""
    found = [(one.kind, read(one.memory.text)) for one in keep.review.list()]
    return [(kind, int(plot), int(tenant)) for kind, (plot, tenant) in found]


def leases(keep: Keep, versions: Sequence[tuple[str, int]]) -> list[list[int]]:
    """What these versions of memories say."""
    texts = {(name, one["version"]): one["content"] for name in dict(versions) for one in keep.history(name)}
    return sorted([int(part) for part in read(texts[version])] for version in versions)


def read(text: str) -> tuple[str, str]:
    """Plot and tenant."""
    found = PLOT.fullmatch(text)
    _require(found is not None)
    return found.group(1), found.group(2)  # type: ignore[union-attr]


def work(home: Path, writer: int, seed: int, targets: Sequence[int], pipe: Connection) -> None:
    """Open the keep and work on it until killed."""
    _telling(pipe, lambda: Worker(home, writer, seed, targets, pipe).work())


def look(home: Path, pipe: Connection) -> None:
    """Open the keep without any help and say what is in it."""

    def tell() -> None:
        with Keep.open(NAME, home=home, settings=settings_of(home)) as keep:
            found = keep.audit.verify()
            pipe.send(
                {
                    "problems": list(found.problems),
                    "heads": {event.seq: event.hash for event in keep._ledger.events()},
                    "facts": {
                        "live": sorted([plot, int(read(one["content"])[1])] for plot, one in listed(keep).items()),
                        "waiting": sorted(map(list, held(keep))),
                        "incidents": {
                            one.reason: [
                                one.undone_by is not None,
                                leases(keep, one.removed),
                                leases(keep, one.restored),
                            ]
                            for one in keep.incidents()
                        },
                    },
                }
            )

    _telling(pipe, tell)


def _telling(pipe: Connection, task: Callable[[], None]) -> None:
    try:
        task()
    except BaseException:
        pipe.send({"broke": traceback.format_exc()})
        raise


def _require(holds: bool) -> None:
    if not holds:
        raise AssertionError("the keep did not answer as the test expects")


def _found(ids: Iterator[str]) -> str:
    """The other writer may have rewound the keep since this was planned; alone, that is a failure."""
    if (found := next(ids, None)) is None:
        raise UnknownId("What this operation was planned for is gone.")
    return found
