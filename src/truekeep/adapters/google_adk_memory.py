"""``TruekeepMemoryService``: the memory service of Google's Agent Development Kit over the users' keeps.

What stands in a session's events proves nothing: who an event's author is said to be is a field that anybody can write.
A session that is added is learned from what the plugin reported of it when it happened, and from nothing else; one that
no plugin saw leaves nothing. What is written directly is the agent's, and what is deleted waits for a person.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from truekeep.adapters.reports import logger
from truekeep.adapters.user_keeps import UserKeeps
from truekeep.errors import MissingExtra

try:
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError:
    raise MissingExtra("google-adk") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep

_MOST_FOUND = 10
"""Memories in one answer, as many as the framework's own service gives."""


def conversation_name(app: str, user: str, session: str) -> str:
    """The name of a session's conversation: no two sessions have the same one, also in a keep that users share."""
    return "/".join(quote(one, safe="") for one in (app, user, session))


class TruekeepMemoryService(BaseMemoryService):
    """Memories of the users of a runner. ``home`` and ``keep`` are the plugin's."""

    def __init__(self, home: str | Path | None = None, *, keep: Keep | None = None) -> None:
        self._keep = keep
        self._keeps = UserKeeps.at(home) if keep is None else None

    async def add_session_to_memory(self, session: Any) -> None:
        """Learn what the owner said in a session, as the plugin reported it."""
        await asyncio.to_thread(self._learn, session.app_name, session.user_id, session.id)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],  # noqa: ARG002 - who said what is not known from them
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002
    ) -> None:
        """Learn what the owner said in the session of these events, as the plugin reported it."""
        if session_id is not None:
            await asyncio.to_thread(self._learn, app_name, user_id, session_id)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002 - none of it grants anything
    ) -> None:
        """Take notes of the agent's; whoever their author is said to be, they wait for the owner's review."""
        texts = [_text(one.content) for one in memories]
        await asyncio.to_thread(self._note, app_name, user_id, [text for text in texts if text.strip()])

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The memories that answer a question, those that may act and, marked, those that only inform."""
        found = await asyncio.to_thread(lambda: self._of(app_name, user_id).recall(query, k=_MOST_FOUND))
        return SearchMemoryResponse(memories=[_entry(one) for one in found if not one.blocked])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Propose that a memory is deleted; a person decides."""
        if memory_id:
            keep = await asyncio.to_thread(self._of, app_name, user_id)
            await asyncio.to_thread(lambda: keep.delete_memory(memory_id, via="agent"))

    def _of(self, app: str, user: str) -> Keep:
        if self._keep is not None:
            return self._keep
        return (self._keeps or UserKeeps.at()).get(app, user)

    def _learn(self, app: str, user: str, session: str) -> None:
        keep, name = self._of(app, user), conversation_name(app, user, session)
        if not keep.actions.took_in(name):
            logger.warning("a session was not reported by a plugin, so nothing of it is remembered")
            return
        keep.extraction.ended(name)

    def _note(self, app: str, user: str, texts: Sequence[str]) -> None:
        for text in texts:
            self._of(app, user).remember(text, via="agent")


def _text(content: types.Content) -> str:
    return "\n".join(part.text for part in content.parts or () if part.text)


def _entry(hit: Any) -> MemoryEntry:
    origin = hit.memory.origin
    return MemoryEntry(
        id=hit.memory.id,
        content=types.Content(role="user", parts=[types.Part.from_text(text=hit.text)]),
        author=str(origin.principal or origin.channel),
        timestamp=hit.as_of.isoformat() if hit.as_of is not None else None,
        custom_metadata={"may_act": hit.may_act, "integrity": "trusted" if hit.may_act else "untrusted"},
    )
