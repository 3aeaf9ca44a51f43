"""``TruekeepMemoryStore(keep)``: a memory store of Strands' ``MemoryManager`` over a keep.

The interface has no channel. What an agent adds in a call is a note of its conversation's; what comes in any other way,
by extraction for one, is hearsay. What is found is shown by other code than truekeep's, so it is text of a tool's
result or of a foreign message there, and taints; the handler's own block of memories does not.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from truekeep.adapters.mediator import running_conversation
from truekeep.errors import InvalidRequest, MissingExtra

try:
    from strands.memory import MemoryEntry, MemoryStore
except ImportError:
    raise MissingExtra("strands") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep

_MOST = 50
"""Memories that one search gives, however many a caller wants; they all go into a prompt."""
_HEARSAY = "tool"


class TruekeepMemoryStore(MemoryStore):
    """Memories of one keep. ``name`` and ``description`` are what the manager's tools call it."""

    def __init__(
        self,
        keep: Keep,
        *,
        name: str = "truekeep",
        description: str = "What is known from earlier conversations.",
        max_search_results: int = 5,
        writable: bool = True,
    ) -> None:
        self._keep = keep
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = None

    async def search(self, query: str, options: Any = None) -> list[Any]:
        """The memories that answer a question, the best first, each with where it came from."""
        wanted = int((options or {}).get("max_search_results") or self.max_search_results)
        return await asyncio.to_thread(self._found, query, max(1, min(wanted, _MOST)))

    async def add(self, content: str, metadata: Any = None) -> dict[str, str]:  # noqa: ARG002 - no trust comes from it
        """Put a note through the gate. One that is not kept is refused with the reason."""
        return await asyncio.to_thread(self._added, content)

    def _found(self, query: str, most: int) -> list[Any]:
        running = running_conversation(self._keep)
        hits = self._keep.recall(query, k=most, session=running.name if running else None)
        return [
            MemoryEntry(
                content=hit.text,
                metadata={"id": hit.memory.id, "channel": hit.memory.origin.channel, "may_act": hit.may_act},
            )
            for hit in hits
        ]

    def _added(self, content: str) -> dict[str, str]:
        running = running_conversation(self._keep)
        if running is None:
            verdict = self._keep.remember(content, via=_HEARSAY)
        else:
            verdict = self._keep.remember(content, via="agent", session=running.name)
        if not verdict.accepted and not verdict.item_id:
            raise InvalidRequest(f"Not kept ({verdict.code}). {verdict.reason}".strip(), code="memory_refused")
        return {"id": verdict.memory_id or "", "waits": verdict.item_id or ""}
