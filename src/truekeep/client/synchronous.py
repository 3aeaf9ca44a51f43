"""The synchronous client: a keep behind the service that is used like ``Keep``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from truekeep.boundary import ActionAnswer, Ticket
from truekeep.client import calls
from truekeep.client.parts import ServedAudit, ServedReview
from truekeep.client.tokens import Purse
from truekeep.client.wire import Call, answer, is_to_be_sent_again, pause, unreachable
from truekeep.recall import Recall
from truekeep.types import Snapshot, Verdict

T = TypeVar("T")


def connect(
    address: str, token: str | Iterable[str], *, keep: str | None = None, timeout: float = 30.0, attempts: int = 5
) -> ServedKeep:
    """A keep behind the service. Several tokens, of several channels, let ``via=`` choose among them."""
    return ServedKeep(address, [token] if isinstance(token, str) else list(token), keep, timeout, attempts)


class ServedKeep:
    """One owner's memory, over the network. What a token may not do is refused by the service."""

    def __init__(self, address: str, tokens: list[str], keep: str | None, timeout: float, attempts: int) -> None:
        base = f"{address.rstrip('/')}/keeps/{keep}" if keep else address
        self._http = httpx.Client(base_url=base, timeout=timeout, trust_env=False)
        self._attempts = max(1, attempts)
        self._purse = Purse(tokens)
        self.review = ServedReview(self._do)
        self.audit = ServedAudit(self._do)

    # Writing

    def remember(self, text: str, *, via: str | None = None, **fields: Any) -> Verdict:
        """Put a text through the gate. A refusal is an answer."""
        return self._do(calls.remember_many([text], via, fields))[0]

    def remember_many(
        self, entries: Iterable[str | Mapping[str, Any]], *, via: str | None = None, **shared: Any
    ) -> list[Verdict]:
        """Put a batch through the gate; of one that is rejected the one verdict that kept it out is given."""
        return self._do(calls.remember_many(entries, via, shared))

    def update_memory(self, memory_id: str, text: str, *, via: str | None = None, **fields: Any) -> Verdict:
        """Give a memory new content; whatever is not accepted leaves the old entry as it was."""
        return self._do(calls.update_memory(memory_id, text, via, fields))

    def delete_memory(self, memory_id: str, *, via: str | None = None) -> Verdict:
        """Forget a memory. What an agent wants deleted waits for a person."""
        return self._do(calls.delete_memory(memory_id, via))

    # Reading

    def recall(self, query: str, *, session: str | None = None, **options: Any) -> Recall:
        """The memories that answer a query: ``k``, ``influence_only``, ``min_score``, ``as_of``, ``filters``."""
        found = self._do(calls.recall(query, session, options))
        return Recall(found[: options.get("k", 5)], found.withheld, found.degraded)

    def get_memories(self, *, limit: int | None = None, session: str | None = None) -> list[dict[str, Any]]:
        """Memories as dictionaries, in the order in which they were stored; page after page."""
        listed: list[dict[str, Any]] = []
        cursor: str | None = None
        while limit is None or len(listed) < limit:
            page, cursor = self._do(calls.get_memories(cursor, limit, session))
            listed += page
            if cursor is None:
                break
        return listed[:limit]

    def get_memory(self, memory_id: str, *, session: str | None = None) -> dict[str, Any]:
        """One memory as a dictionary."""
        return self._do(calls.get_memory(memory_id, session))

    def snapshot(self, session: str, *, refresh: bool = False) -> Snapshot:
        """The frozen, fenced text for that session's prompt."""
        return self._do(calls.snapshot(session, refresh=refresh))

    # Acting

    def check_action(
        self, session: str, name: str, arguments: Mapping[str, Any], *, run: str | None = None
    ) -> ActionAnswer:
        """May the agent make this call? The answer's ticket redeems itself over the service."""
        return self._do(calls.check_action(session, name, arguments, run, self.redeem))

    def redeem(self, ticket: Ticket | str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket up for just this call."""
        self._do(calls.redeem(str(ticket), name, arguments))

    def confirm(self, ticket: Ticket | str, *, via: str | None = None) -> None:
        """The owner confirms a call that waits."""
        self._do(calls.confirm(str(ticket), via))

    def credit(self, run: str, outcome: str, *, via: str | None = None) -> dict[str, Any]:
        """Say how a run ended."""
        return self._do(calls.credit(run, outcome, via))

    # Looking back and taking back

    def trace(self, memory_id: str) -> dict[str, Any]:
        """Where a memory came from and what came of it."""
        return self._do(calls.looked_up("trace", memory_id))

    def exposures(self, memory_id: str) -> list[dict[str, Any]]:
        """Which sessions were shown a memory, and which actions it was matched in."""
        return self._do(calls.exposures(memory_id))

    def blame(self, run: str) -> dict[str, Any]:
        """From a run's actions back to the memories in them."""
        return self._do(calls.looked_up("blame", run))

    def revoke(self, *, reason: str, dry_run: bool = False, **source: Any) -> dict[str, Any]:
        """Take back what came from a ``principal``, ``channel``, ``session``, ``prompt`` or ``since`` a moment."""
        return self._do(calls.taken_back("revoke", {**source, "reason": reason, "dry_run": dry_run}))

    def rewind(self, to: Any, *, reason: str, dry_run: bool = False) -> dict[str, Any]:
        """Put the memories back to what they were."""
        return self._do(calls.taken_back("rewind", {"to": to, "reason": reason, "dry_run": dry_run}))

    def undo(self, incident: str, *, reason: str) -> dict[str, Any]:
        """Take a revocation or a rewind back."""
        return self._do(calls.taken_back("undo", {"incident": incident, "reason": reason}))

    # Handles

    def session(self, name: str, *, mediated: bool = False, member: str | None = None) -> ServedSession:
        """A session of the host program. ``mediated`` declares that it reports everything the agent takes in."""
        if mediated or member:
            self._do(calls.begin(name, mediated=mediated, member=member))
        return ServedSession(self, name)

    def observe(self, session: str, channel: str, text: str, **fields: Any) -> None:
        """Report what a session took in, over the token of that channel."""
        self._do(calls.observe(session, channel, text, fields))

    def bind(self, channel: str, *, session: str | None = None) -> ServedHandle:
        """A handle that goes over that channel's token only."""
        self._purse.require(channel, self._do_with)
        return ServedHandle(self, channel, session)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _do(self, call: Call[T]) -> T:
        return self._do_with(self._purse.choose(call, self._do_with), call)

    def _do_with(self, token: str, call: Call[T]) -> T:
        request = call.request()
        request["headers"]["Authorization"] = f"Bearer {token}"
        for attempt in range(self._attempts):
            is_last = attempt + 1 == self._attempts
            try:
                response = self._http.request(**request)
            except httpx.TransportError as error:
                if is_last:
                    raise unreachable(error) from error
            else:
                if is_last or not is_to_be_sent_again(response):
                    return answer(call, response)
            time.sleep(pause(attempt))
        raise AssertionError("an attempt returns or raises")


class ServedSession:
    """One conversation, as the host program sees it."""

    def __init__(self, keep: ServedKeep, name: str) -> None:
        self._keep = keep
        self.name = name

    def observe(self, channel: str, text: str, **fields: Any) -> None:
        """Report what this session took in."""
        self._keep.observe(self.name, channel, text, **fields)

    def remember(self, text: str, *, via: str, **fields: Any) -> Verdict:
        """Put a text through the gate as part of this session."""
        return self._keep.remember(text, via=via, session=self.name, **fields)

    def recall(self, query: str, **options: Any) -> Recall:
        """Recall within this session."""
        return self._keep.recall(query, session=self.name, **options)

    def get_memories(self, **options: Any) -> list[dict[str, Any]]:
        """List within this session."""
        return self._keep.get_memories(session=self.name, **options)

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> ActionAnswer:
        """Ask whether a call may be made in this session."""
        return self._keep.check_action(self.name, name, arguments, run=run)

    def redeem(self, ticket: Ticket | str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket up for just this call; ``truekeep.guard`` does it for a tool."""
        self._keep.redeem(ticket, name, arguments)

    def snapshot(self, *, refresh: bool = False) -> Snapshot:
        """The frozen text for this session's prompt."""
        return self._keep.snapshot(self.name, refresh=refresh)

    def bind(self, channel: str) -> ServedHandle:
        """A handle for that channel within this session."""
        return self._keep.bind(channel, session=self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The conversation is over; its state is in the keep."""


class ServedHandle:
    """One channel, perhaps one session: what agent code is given."""

    def __init__(self, keep: ServedKeep, channel: str, session: str | None) -> None:
        self.__keep = keep
        self.channel = channel
        self.session = session

    def remember(self, text: str, **fields: Any) -> Verdict:
        """Put a text through the gate over this handle's channel."""
        return self.__keep.remember(text, via=self.channel, **fields, **self._within())

    def recall(self, query: str, **options: Any) -> Recall:
        """Recall within this handle's session."""
        return self.__keep.recall(query, session=self.session, **options)

    def get_memories(self, **options: Any) -> list[dict[str, Any]]:
        """List within this handle's session."""
        return self.__keep.get_memories(session=self.session, **options)

    def update_memory(self, memory_id: str, text: str, **fields: Any) -> Verdict:
        """Offer new content for a memory over this handle's channel."""
        return self.__keep.update_memory(memory_id, text, via=self.channel, **fields, **self._within())

    def delete_memory(self, memory_id: str) -> Verdict:
        """Delete a memory, or propose it, as the channel may."""
        return self.__keep.delete_memory(memory_id, via=self.channel)

    def _within(self) -> dict[str, Any]:
        return {"session": self.session} if self.session else {}
