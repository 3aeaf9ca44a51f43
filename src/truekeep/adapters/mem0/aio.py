"""``AsyncMemory``: the same, awaited."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Optional

from truekeep.adapters.mem0.arguments import UNSET, only_none
from truekeep.adapters.mem0.memory import Item, Mem0Memory
from truekeep.config import Settings

# mem0's own signatures are written with Optional and Dict; they are kept to the letter where they are compared.
# ruff: noqa: UP045


class AsyncMemory:
    """The same, awaited; each call runs in a thread."""

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        owner_speaks: bool = False,
        policy: str = "inform",
        settings: Settings | None = None,
    ) -> None:
        self._memory = Mem0Memory(home, owner_speaks=owner_speaks, policy=policy, settings=settings)

    async def add(
        self,
        messages: Any,
        *,
        user_id: Optional[str] = None,
        agent_id: Optional[str] = None,
        run_id: Optional[str] = None,
        metadata: Optional[dict[str, Any]] = None,
        timestamp: Optional[Any] = None,
        expiration_date: Optional[Any] = None,
        infer: bool = True,
        memory_type: Optional[str] = None,
        prompt: Optional[str] = None,
        llm: Any = None,
    ) -> dict[str, Any]:
        """As ``Memory.add``."""
        only_none(llm=llm, timestamp=timestamp, memory_type=memory_type, prompt=prompt)
        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "metadata": metadata}
        return await asyncio.to_thread(
            lambda: self._memory.add(messages, expiration_date=expiration_date, infer=infer, **given)  # type: ignore[arg-type]
        )

    async def get(self, memory_id: Any) -> Item | None:
        """As ``Memory.get``."""
        return await asyncio.to_thread(self._memory.get, memory_id)

    async def get_all(
        self, *, filters: Optional[dict[str, Any]] = None, top_k: int = 20, show_expired: bool = False, **kwargs: Any
    ) -> dict[str, Any]:
        """As ``Memory.get_all``."""
        given = {"filters": filters, "top_k": top_k, "show_expired": show_expired, **kwargs}
        return await asyncio.to_thread(lambda: self._memory.get_all(**given))

    async def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Optional[dict[str, Any]] = None,
        threshold: float = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Optional[Any] = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """As ``Memory.search``."""
        given = {"top_k": top_k, "filters": filters, "threshold": threshold, "rerank": rerank, "explain": explain}
        given |= {"reference_date": reference_date, "show_expired": show_expired, **kwargs}
        return await asyncio.to_thread(lambda: self._memory.search(query, **given))  # type: ignore[arg-type]

    async def update(
        self,
        memory_id: Any,
        text: Optional[str] = None,
        metadata: Optional[dict[str, Any]] = None,
        expiration_date: Any = UNSET,
        data: Optional[str] = None,
    ) -> dict[str, Any]:
        """As ``Memory.update``."""
        return await asyncio.to_thread(self._memory.update, memory_id, text, metadata, expiration_date, data)

    async def delete(self, memory_id: Any) -> dict[str, Any]:
        """As ``Memory.delete``."""
        return await asyncio.to_thread(self._memory.delete, memory_id)

    async def delete_all(
        self, user_id: Optional[str] = None, agent_id: Optional[str] = None, run_id: Optional[str] = None
    ) -> dict[str, Any]:
        """As ``Memory.delete_all``."""
        return await asyncio.to_thread(self._memory.delete_all, user_id, agent_id, run_id)

    async def history(self, memory_id: Any) -> list[Item]:
        """As ``Memory.history``."""
        return await asyncio.to_thread(self._memory.history, memory_id)

    async def reset(self) -> None:
        """As ``Memory.reset``."""
        await asyncio.to_thread(self._memory.reset)

    async def chat(self, query: Any) -> Any:
        """Not implemented, there as here."""
        return self._memory.chat(query)

    def close(self) -> None:
        """As ``Memory.close``."""
        self._memory.close()
