"""A keep as a target: every attack goes through the public door, over the handle of the channel that it holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from truekeep.config import Paths
from truekeep.errors import TruekeepError
from truekeep.redteam.stage import (
    Answered,
    Came,
    Fields,
    Limits,
    Refused,
    Target,
    TargetHit,
    UnsoundAttack,
    Unsupported,
    Written,
)
from truekeep.stores.files import database_path
from truekeep.stores.keys import Keyring
from truekeep.trust.flow.decide import Answer
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.handles import Handle
    from truekeep.keep import Keep
    from truekeep.redteam.stage import Clock


_LONGEST_IMPORT = 900  # seconds; a store of the largest size needs minutes
_NEIGHBOUR = "neighbour"
_AS_HERE = ("embedder", "anchor", "master_key")
"""Settings that the importing process has to share."""
_CAME = {Decision.ACCEPT: Came.STORED, Decision.QUARANTINE: Came.HELD, Decision.REJECT: Came.REFUSED}


class KeepTarget(Target):
    """One open keep in a home of its own."""

    def __init__(
        self,
        keep: Keep,
        home: Path,
        clock: Clock,
        after: str | None = None,
        opened: Callable[[str], Keep] | None = None,
    ) -> None:
        """``opened`` opens a keep in the same home, this one again or another."""
        self.credits_per_hour = keep.settings.credits_per_hour
        self._keep = keep
        self._home = home
        self._clock = clock
        self._after = after
        self._opened = opened
        self._neighbour: KeepTarget | None = None
        self._asking: dict[str, str] = {}
        """The session that each ticket was given to."""

    def remember(
        self, via: str, session: str | None, entries: Sequence[Mapping[str, Any]], fields: Fields
    ) -> list[Written]:
        """One text as agent code writes it, or a batch."""
        with _refusing():
            handle = self._over(via, session)
            if len(entries) == 1:
                return [_written(handle.remember(**{**fields, **entries[0]}))]
            return [_written(one) for one in handle.remember_many(entries, skip_rejected=True, **fields)]

    def update(self, via: str, session: str | None, memory: str, text: str, fields: Fields) -> Written:
        """Over the handle of the channel."""
        with _refusing():
            return _written(self._over(via, session).update_memory(memory, text, **fields))

    def delete(self, via: str, memory: str) -> Written:
        """Over the handle of the channel; an agent's is a proposal."""
        with _refusing():
            return _written(self._over(via).delete_memory(memory))

    def restore(self, via: str, memory: str, version: int | None) -> Written:
        """As the host does for whoever asks over the channel."""
        with _refusing():
            return _written(self._keep.restore(memory, via=via, version=version))

    def import_file(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """With the command that people use, in a process of its own."""
        file = self._home / "export.jsonl"
        file.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
        settings = self._keep.settings
        options = ["--home", str(self._home), "--keep", self._keep.name, "--policy", settings.policy]
        command = [sys.executable, "-m", "truekeep", "import", str(file), *options, "--format", "json"]
        environment = os.environ | {f"TRUEKEEP_{name.upper()}": getattr(settings, name) for name in _AS_HERE}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=_LONGEST_IMPORT)
        except subprocess.TimeoutExpired:
            raise UnsoundAttack("the import did not come to an end") from None
        if done.returncode not in (0, 1):
            raise UnsoundAttack(f"the import failed with exit code {done.returncode}")

    def consolidate(self) -> None:
        """As the operator does."""
        with _refusing():
            self._keep.consolidate(by="operator", reason="tidying up")

    def begin(self, session: str, *, mediated: bool, member: str | None) -> None:
        """As the host does."""
        with _refusing():
            self._keep.session(session, mediated=mediated, member=member)

    def observe(self, via: str, session: str, text: str, principal: str | None, role: str | None) -> None:
        """Over the handle of the channel; a role is whatever the sender wrote."""
        with _refusing():
            self._over(via, session).observe(text, principal=principal, role=role)

    def extract(self, session: str, strategy: str) -> list[Written]:
        """Over the agent's handle, without a model."""
        with _refusing():
            return [_written(one.verdict) for one in self._over("agent", session).extract(strategy).taken]

    def recall(self, query: str, k: int, *, influence_only: bool, session: str | None = None) -> list[TargetHit]:
        """As the agent of that session; without one, as the host. What is blocked shows no text and cannot act."""
        with _refusing():
            ask: Callable[..., Any] = self._over("agent", session).recall if session else self._keep.recall
            hits = ask(query, k=k, influence_only=influence_only)
            return [TargetHit(hit.text, hit.may_act and not hit.blocked, hit.why) for hit in hits]

    def listed(self, session: str | None = None) -> list[TargetHit]:
        """As the agent of that session; without one, as the host."""
        with _refusing():
            ask: Callable[..., Any] = self._over("agent", session).get_memories if session else self._keep.get_memories
            return [TargetHit(entry["content"], entry["may_act"]) for entry in ask(after=self._after)]

    def snapshot(self, session: str, *, refresh: bool) -> None:
        """Over the agent's handle."""
        with _refusing():
            self._over("agent", session).snapshot(refresh=refresh)

    def check(self, session: str, action: str, arguments: Mapping[str, Any], run: str | None) -> Answered:
        """Over the agent's handle, which the host bound to the run."""
        with _refusing():
            answer = self._keep.bind("agent", session=session, run=run).check_action(action, arguments)
        ticket = str(answer.ticket) if answer.ticket is not None else None
        if ticket is not None:
            self._asking[ticket] = session
        return Answered(answer.code, ticket, answer.decision is Answer.CONFIRM)

    def confirm(self, via: str, session: str | None, ticket: str) -> None:
        """Over the handle of the channel."""
        with _refusing():
            self._over(via, session).confirm(ticket)

    def redeem(self, via: str, ticket: str, action: str, arguments: Mapping[str, Any]) -> None:
        """Over the handle of the channel."""
        with _refusing():
            self._over(via, self._asking.get(ticket)).redeem(ticket, action, arguments)

    def credit(self, via: str, run: str, outcome: str) -> None:
        """As the host does for whoever reports over the channel."""
        with _refusing():
            self._keep.credit(run, outcome, via=via)

    def enrol(self, channel: str) -> None:
        """As the operator does."""
        with _refusing():
            self._keep.channels.enrol(channel, by="operator", reason="needed for the work")

    def neighbour(self) -> Target:
        """A keep of its own in the same home; made when it is first asked for."""
        if self._opened is None:
            raise Unsupported("neighbour")
        if self._neighbour is None:
            self._neighbour = KeepTarget(self._opened(_NEIGHBOUR), self._home, self._clock, None, self._opened)
        return self._neighbour

    def edit_at_rest(self, memory: str, changes: Mapping[str, Any]) -> None:
        """With the key that encrypts the file and without those that seal its rows."""
        if self._opened is None:
            raise Unsupported("edit_at_rest")
        self._keep.close()
        _edit_row(self._home, self._keep.name, memory, changes)
        with _refusing():
            self._keep = self._opened(self._keep.name)

    def waiting(self, containing: str) -> list[str]:
        """What the review queue holds."""
        with _refusing():
            return [item.id for item in self._keep.review.list() if containing in item.memory.text]

    def approve(self, item: str, by: str, limits: Limits) -> Written:
        """As a person in the review does."""
        until = self._clock.now + timedelta(days=limits.until_days) if limits.until_days is not None else None
        options: dict[str, Any] = {"inform_only": limits.inform_only, "purpose": limits.purpose, "until": until}
        with _refusing():
            return _written(self._keep.review.approve(item, by=by, reason="looked at it", **options))

    def reject(self, item: str, by: str) -> None:
        """As a person in the review does."""
        with _refusing():
            self._keep.review.reject(item, by=by, reason="not from us")

    def _over(self, via: str, session: str | None = None) -> Handle:
        return self._keep.bind(via, session=session)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except TruekeepError as refusal:
        raise Refused(refusal.code) from refusal


def _written(verdict: Verdict) -> Written:
    return Written(_CAME[verdict.decision], verdict.code, verdict.memory_id)


def _edit_row(home: Path, keep: str, memory: str, changes: Mapping[str, Any]) -> None:
    """Change members of a memory's stored body behind its back; dots stand between the names of nested ones."""
    with intruder(home, keep) as connection:
        found = connection.execute("SELECT body FROM memories WHERE id = ?", (memory,)).fetchall()
        if not found:
            raise Refused("not_found")
        body = json.dumps(_changed(json.loads(str(found[0][0])), changes))
        connection.execute("UPDATE memories SET body = ? WHERE id = ?", (body, memory))


def _changed(body: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    for path, value in changes.items():
        *nested, last = path.split(".")
        place = body
        for name in nested:
            place = place.setdefault(name, {})
        place[last] = value
    return body


@contextmanager
def intruder(home: Path, name: str = "alice") -> Iterator[apsw.Connection]:
    """A connection of whoever holds a keep's file and the key that encrypts it, but not those that seal its rows."""
    paths = Paths.resolve(home)
    keys = Keyring(paths.keys).open(name)
    connection = apsw.Connection(str(database_path(paths, name)))
    try:
        # An engine of the intruder's own, in which nothing of what the store switches off is off.
        connection.set_busy_timeout(30_000)
        connection.pragma("cipher", keys.cipher)
        connection.pragma("key", f"raw:{keys.file.hex()}")
        yield connection
    finally:
        connection.close()
