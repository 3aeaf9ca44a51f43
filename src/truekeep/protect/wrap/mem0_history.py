"""mem0's own tables: the history of memories, and recent messages, which it shows its model.

Nobody writes them through the sidecar, so whatever is in them is read as hearsay.
"""

from __future__ import annotations

from typing import Any

from truekeep.protect.wrap.sidecar import GivenEntry, SeenEntry, Sidecar
from truekeep.protect.wrap.values import MEMBER, is_plain_name

_OF_A_MESSAGE = ("role", "name", "created_at")
"""What mem0 keeps beside the words of a message."""


class ProtectedHistory:
    """The object behind ``memory.db``: what is read from it is marked or blocked, and all else passed on."""

    def __init__(self, tables: Any, sidecar: Sidecar) -> None:
        self._tables = tables
        self._sidecar = sidecar

    def get_history(self, memory_id: str) -> Any:
        """What was written down about one memory."""
        rows = self._tables.get_history(memory_id)
        seen = self._seen(rows, "history")
        return rows if seen is None else [{**one.value, MEMBER: one.mark} for _, one in seen]

    def get_last_messages(self, *arguments: Any, **options: Any) -> Any:
        """The messages before this one. mem0 makes a prompt of them, and knows no member of ours."""
        rows = self._tables.get_last_messages(*arguments, **options)
        seen = self._seen(rows, "messages")
        return rows if seen is None else [one.value | _plain(row) for row, one in seen]

    def _seen(self, rows: Any, table: str) -> list[tuple[Any, SeenEntry]] | None:
        """Each row with what may be shown of it; nothing in shadow mode, in which rows are only looked at."""

        def read() -> list[SeenEntry]:
            return self._sidecar.read(
                [GivenEntry((table,), str(one.get("id", at)), dict(one)) for at, one in enumerate(rows)]
            )

        if not self._sidecar.enforces:
            self._sidecar.watch(read)
            return None
        return [(row, one) for row, one in zip(rows, read(), strict=True) if not self._sidecar.drops(one.may_act)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._tables, name)


def _plain(row: Any) -> dict[str, Any]:
    return {name: row[name] for name in _OF_A_MESSAGE if name in row and is_plain_name(row[name])}
