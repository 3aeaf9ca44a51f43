"""Review and audit of a served keep."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol, TypeVar

from truekeep.client import calls
from truekeep.client.wire import Call
from truekeep.types import AuditEvent, Verdict, Verification

T = TypeVar("T")
_PAGE = 1_000


class Do(Protocol):
    """How a call is made."""

    def __call__(self, call: Call[T]) -> T:
        """Make it."""


class ServedReview:
    """What waits for a person. Decisions are signed with the token's holder; ``by=`` is taken and not needed."""

    def __init__(self, do: Do) -> None:
        self._do = do

    def list(self, state: str | None = "open") -> list[dict[str, Any]]:
        """Items in that state (all for ``None``), oldest first, as JSON members."""
        return self._do(calls.review_list(state))

    def show(self, item_id: str) -> dict[str, Any]:
        """One item, as JSON members."""
        return self._do(calls.review_show(item_id))

    def approve(
        self,
        item_id: str,
        *,
        reason: str,
        by: str | None = None,
        until: datetime | None = None,
        inform_only: bool = False,
        purpose: str | None = None,
    ) -> Verdict:
        """Let an item in, as it is now."""
        del by
        etag = self.show(item_id)["etag"]
        fields = {"reason": reason, "until": until, "inform_only": inform_only, "purpose": purpose}
        return self._do(calls.approve(item_id, etag, fields))

    def reject(self, item_id: str, *, reason: str, by: str | None = None) -> None:
        """Turn an item down, as it is now."""
        del by
        self._do(calls.reject(item_id, self.show(item_id)["etag"], reason))


class ServedAudit:
    """The audit log of a served keep."""

    def __init__(self, do: Do) -> None:
        self._do = do

    def events(self, *, after: int = 0, limit: int | None = None, kinds: Iterable[str] = ()) -> list[AuditEvent]:
        """Events in order, optionally only of some kinds."""
        wanted, read = frozenset(kinds), list[AuditEvent]()
        while limit is None or len(read) < limit:
            size = min(_PAGE, limit - len(read)) if limit is not None else _PAGE
            page = self._do(calls.events(read[-1].seq if read else after, size))
            read += page
            if len(page) < size:
                break
        return [event for event in read if not wanted or event.kind in wanted]

    def verify(self) -> Verification:
        """Check every row and every event again, from the beginning."""
        return self._do(calls.verify())
