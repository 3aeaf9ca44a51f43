"""Corrected: which passages the owner's later word corrected without ending them.

A passage that says more than what was corrected stays whole, so it has to be known as the older one. The correction's
incident names both, the passages by the message they came from; when it is undone, neither is older.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from truekeep.stores.table_view import Derived, TableView

if TYPE_CHECKING:
    from truekeep.stores.ledger import Ledger, Sealed
    from truekeep.types import Memory

MESSAGE, OLDER = "message", "older"
"""Of what an incident is about: the message that corrected, and what it left standing, by message or memory."""

_Link = tuple[str, frozenset[str]]


class Corrected:
    """The corrections of one keep that left the older word standing."""

    def __init__(self, ledger: Ledger) -> None:
        view = TableView(ledger, "incidents", _link)
        self._links = Derived(_by_message, view)
        self._older = Derived(lambda links: frozenset[str]().union(*(older for _, older in links)), view)

    def corrects(self, newer: Memory, older: Memory) -> bool:
        """Whether one is what the owner corrected the other by."""
        left = self._links.seen().get(newer.origin.message or "")
        return left is not None and not left.isdisjoint((older.origin.message, older.id))

    def is_older(self, memory: Memory) -> bool:
        """Whether the owner corrected something in it."""
        return not self._older.seen().isdisjoint((memory.origin.message, memory.id))


def _link(sealed: Sealed) -> _Link | None:
    body = json.loads(sealed.row.body)
    what = body["what"]
    return (what[MESSAGE], frozenset(what[OLDER].split())) if OLDER in what and not body.get("undone_by") else None


def _by_message(links: Iterable[_Link]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for message, older in links:
        found[message] = found.get(message, frozenset()) | older
    return found
