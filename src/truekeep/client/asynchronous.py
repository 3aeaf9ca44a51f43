"""The asynchronous client: the same keep behind the service, for code that awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from truekeep.boundary import ActionAnswer, Ticket
from truekeep.client import calls
from truekeep.client.tokens import Purse
from truekeep.client.wire import Call, answer, is_to_be_sent_again, pause, unreachable
from truekeep.errors import InvalidRequest
from truekeep.recall import Recall
from truekeep.types import Snapshot, Verdict

T = TypeVar("T")


def connect_async(
    address: str, token: str | Iterable[str], *, keep: str | None = None, timeout: float = 30.0, attempts: int = 5
) -> AsyncKeep:
    """A keep behind the service, for code that awaits."""
    return AsyncKeep(address, [token] if isinstance(token, str) else list(token), keep, timeout, attempts)


class AsyncKeep:
    """One owner's memory, over the network."""

    def __init__(self, address: str, tokens: list[str], keep: str | None, timeout: float, attempts: int) -> None:
        base = f"{address.rstrip('/')}/keeps/{keep}" if keep else address
        self._http = httpx.AsyncClient(base_url=base, timeout=timeout, trust_env=False)
        self._attempts = max(1, attempts)
        self._tokens = tokens
        self._purse = Purse(tokens)

    async def remember(self, text: str, *, via: str | None = None, **fields: Any) -> Verdict:
        """Put a text through the gate. A refusal is an answer."""
        return (await self._do(calls.remember_many([text], via, fields)))[0]

    async def remember_many(
        self, entries: Iterable[str | Mapping[str, Any]], *, via: str | None = None, **shared: Any
    ) -> list[Verdict]:
        """Put a batch through the gate; of one that is rejected the one verdict that kept it out is given."""
        return await self._do(calls.remember_many(entries, via, shared))

    async def update_memory(self, memory_id: str, text: str, *, via: str | None = None, **fields: Any) -> Verdict:
        """Give a memory new content."""
        return await self._do(calls.update_memory(memory_id, text, via, fields))

    async def delete_memory(self, memory_id: str, *, via: str | None = None) -> Verdict:
        """Forget a memory, or propose it."""
        return await self._do(calls.delete_memory(memory_id, via))

    async def recall(self, query: str, *, session: str | None = None, **options: Any) -> Recall:
        """The memories that answer a query."""
        found = await self._do(calls.recall(query, session, options))
        return Recall(found[: options.get("k", 5)], found.withheld, found.degraded)

    async def get_memories(self, *, limit: int | None = None, session: str | None = None) -> list[dict[str, Any]]:
        """Memories as dictionaries, in the order in which they were stored."""
        listed: list[dict[str, Any]] = []
        cursor: str | None = None
        while limit is None or len(listed) < limit:
            page, cursor = await self._do(calls.get_memories(cursor, limit, session))
            listed += page
            if cursor is None:
                break
        return listed[:limit]

    async def get_memory(self, memory_id: str, *, session: str | None = None) -> dict[str, Any]:
        """One memory as a dictionary."""
        return await self._do(calls.get_memory(memory_id, session))

    async def snapshot(self, session: str, *, refresh: bool = False) -> Snapshot:
        """The frozen, fenced text for that session's prompt."""
        return await self._do(calls.snapshot(session, refresh=refresh))

    async def observe(self, session: str, channel: str, text: str, **fields: Any) -> None:
        """Report what a session took in, over the token of that channel."""
        await self._do(calls.observe(session, channel, text, fields))

    async def check_action(
        self, session: str, name: str, arguments: Mapping[str, Any], *, run: str | None = None
    ) -> ActionAnswer:
        """May the agent make this call? Its ticket is redeemed with ``await keep.redeem(…)``."""
        return await self._do(calls.check_action(session, name, arguments, run, _not_here))

    async def redeem(self, ticket: Ticket | str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket up for just this call."""
        await self._do(calls.redeem(str(ticket), name, arguments))

    async def confirm(self, ticket: Ticket | str, *, via: str | None = None) -> None:
        """The owner confirms a call that waits."""
        await self._do(calls.confirm(str(ticket), via))

    async def credit(self, run: str, outcome: str, *, via: str | None = None) -> dict[str, Any]:
        """Say how a run ended."""
        return await self._do(calls.credit(run, outcome, via))

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _do(self, call: Call[T]) -> T:
        if call.via is not None or len(self._tokens) > 1:
            if unknown := self._purse.unknown:
                self._purse.learn({token: await self._do_with(token, calls.identity()) for token in unknown})
            return await self._do_with(self._purse.pick(call), call)
        return await self._do_with(self._tokens[0], call)

    async def _do_with(self, token: str, call: Call[T]) -> T:
        request = call.request()
        request["headers"]["Authorization"] = f"Bearer {token}"
        for attempt in range(self._attempts):
            is_last = attempt + 1 == self._attempts
            try:
                response = await self._http.request(**request)
            except httpx.TransportError as error:
                if is_last:
                    raise unreachable(error) from error
            else:
                if is_last or not is_to_be_sent_again(response):
                    return answer(call, response)
            await asyncio.sleep(pause(attempt))
        raise AssertionError("an attempt returns or raises")


def _not_here(ticket: str, name: str, arguments: Mapping[str, Any]) -> None:
    del ticket, name, arguments
    raise InvalidRequest("Redeem it with 'await keep.redeem(ticket, name, arguments)'.", code="redeem_async")
