"""Reading: recall, lists and snapshots, as the service shows them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from truekeep.client import bodies, rebuild
from truekeep.client.asking import Asking
from truekeep.client.exchange import Steps
from truekeep.client.members import Members
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.origin import session_name
from truekeep.recall import Filters, Recall
from truekeep.types import Snapshot

_PAGE = 1_000
_MOST = 100_000
_STARTS = 3


class Reading(Asking):
    """Every way out."""

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        influence_only: bool = False,
        min_score: float | None = None,
        half_life_days: float | None = None,
        as_of: datetime | None = None,
        filters: Filters | None = None,
        explain: bool = False,
        session: str | None = None,
    ) -> Steps[Recall]:
        """The memories that answer a query; with ``influence_only`` just those that may drive an action."""
        if not isinstance(query, str):
            raise InvalidRequest("The query must be a string.")
        if isinstance(k, bool) or not isinstance(k, int):
            raise InvalidRequest("k must be a whole number.", code="invalid_k")
        body = {
            "query": query,
            "k": k,
            "influence_only": bool(influence_only),
            "min_score": min_score,
            "half_life_days": half_life_days,
            "as_of": bodies.moment("as_of", as_of),
            "filters": bodies.filters(filters),
            "explain": bool(explain),
            "session": session,
        }
        caller = yield from self._reader()
        reply = yield from self.line.ask(caller, "POST", "memories", "recall", body=body)
        return rebuild.recall(reply.members)

    def get_memories(
        self,
        *,
        after: str | None = None,
        limit: int | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Steps[list[dict[str, Any]]]:
        """Memories as dictionaries, in the order in which they were stored; blocked ones as placeholders."""
        query = {"session": session, "as_of": bodies.moment("as_of", as_of)}
        if as_of is not None:  # versions of that time have no place of their own to go on from
            return (yield from self._page(query | {"after": after, "limit": limit or _MOST}))
        for start in range(_STARTS):
            try:
                return (yield from self._pages(query, after, limit))
            except _Moved:
                if start == _STARTS - 1:
                    raise
        raise AssertionError  # pragma: no cover - the loop returns or raises

    def get_memory(self, memory_id: str, *, session: str | None = None) -> Steps[dict[str, Any]]:
        """One memory as a dictionary."""
        caller = yield from self._reader()
        reply = yield from self.line.ask(caller, "GET", "memories", memory_id, query={"session": session})
        return rebuild.shown(reply.members)

    def history(self, memory_id: str) -> Steps[list[dict[str, Any]]]:
        """The versions of one memory, oldest first, the present one last; what was deleted has only earlier ones."""
        caller = yield from self._administrator()
        reply = yield from self.line.ask(caller, "GET", "memories", memory_id, "history")
        return list(Members(reply.members).each("memories", rebuild.shown))

    def snapshot(self, session: str, *, refresh: bool = False) -> Steps[Snapshot]:
        """The frozen, fenced text for that session's prompt."""
        caller = yield from self._reader()
        query = {"refresh": "true" if refresh else None}
        reply = yield from self.line.ask(caller, "GET", "snapshot", session_name(session), query=query)
        return rebuild.snapshot(reply.members)

    def _page(self, query: Mapping[str, Any]) -> Steps[list[dict[str, Any]]]:
        caller = yield from self._reader()
        reply = yield from self.line.ask(caller, "GET", "memories", query=query)
        return list(Members(reply.members).each("memories", rebuild.shown))

    def _pages(self, query: Mapping[str, Any], after: str | None, limit: int | None) -> Steps[list[dict[str, Any]]]:
        listed: list[dict[str, Any]] = []
        while limit is None or len(listed) < limit:
            size = _PAGE if limit is None else min(_PAGE, limit - len(listed))
            last = listed[-1]["id"] if listed else after
            try:
                page = yield from self._page({**query, "after": last, "limit": size})
            except UnknownId as error:
                raise (_Moved(str(error), code=error.code, hint=error.hint) if listed else error) from None
            listed += page
            if len(page) < size:
                break
        return listed


class _Moved(UnknownId):
    """The memory that a page ended with was deleted before the next page was read."""
