"""Aliases: the ids that clients gave their memories, so that these are found by them as well.

An alias belongs to the channel it came over. Nobody's alias leads another channel's caller anywhere.
"""

from __future__ import annotations

import re
import threading
import weakref
from typing import TYPE_CHECKING

from truekeep.errors import UnknownId

if TYPE_CHECKING:
    from truekeep.keep import Keep

_OWN_ID = re.compile(r"(?:mem|rev)_[0-9a-f]{20}|row-[0-9]{1,19}", re.ASCII)
_PAGE = 500


class AliasBook:
    """The aliases of every open keep; gone with the keep."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: weakref.WeakKeyDictionary[Keep, _Aliases] = weakref.WeakKeyDictionary()

    def memory_id(self, keep: Keep, channel: str, named: str) -> str:
        """The keep's own id of what a client calls by that name."""
        if _OWN_ID.fullmatch(named):
            return named
        with self._lock:
            aliases = self._of.setdefault(keep, _Aliases())
        return aliases.find(keep, channel, named)


class _Aliases:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: str | None = None
        self._known: dict[tuple[str, str], str] = {}

    def find(self, keep: Keep, channel: str, named: str) -> str:
        with self._lock:
            try:
                self._follow(keep)
            except UnknownId:  # the last one that was read was deleted since
                self._last, self._known = None, {}
                self._follow(keep)
            found = self._known.get((channel, named))
        if found is None:
            raise UnknownId("No such memory in this keep.")
        return found

    def _follow(self, keep: Keep) -> None:
        """Read what was added since the last time."""
        while True:
            page = keep.get_memories(after=self._last, limit=_PAGE)
            for shown in page:
                name = shown["metadata"].get("client_id")
                if isinstance(name, str):
                    self._known[shown["origin"]["channel"], name] = shown["id"]
            self._last = page[-1]["id"] if page else self._last
            if len(page) < _PAGE:
                return
