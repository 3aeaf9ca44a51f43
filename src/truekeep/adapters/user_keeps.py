"""A keep for each user of an application, opened when it is first asked for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from truekeep.config import Paths
from truekeep.errors import TruekeepError
from truekeep.keep import Keep

if TYPE_CHECKING:
    from typing import Self

_MOST_OPEN = 128
"""Keeps that are open at once; the one that nobody used for longest is closed, and opened again when it is wanted."""
_LONGEST_READABLE = 20
"""Letters of an application's and a user's name that stand in their keep's; the rest of it is a hash."""

_homes: WeakValueDictionary[Path, UserKeeps] = WeakValueDictionary()
_homes_lock = threading.Lock()


def keep_name_of(app: str, user: str) -> str:
    """The name of the keep of one user of one application. No two pairs have the same one, whatever is in them."""
    digest = hashlib.sha256(json.dumps([app, user]).encode()).hexdigest()[:40]
    readable = "-".join(part for part in (_letters(app), _letters(user)) if part)
    return f"{readable or 'user'}-{digest}"


def _letters(text: str) -> str:
    return "".join(one for one in text.lower() if one.isascii() and one.isalnum())[:_LONGEST_READABLE]


class UserKeeps:
    """The open keeps of one home. Whoever works in the same home of this process shares them (``at``)."""

    def __init__(self, home: str | Path | None = None, *, most: int = _MOST_OPEN) -> None:
        self._home = home
        self._most = most
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Keep] = OrderedDict()

    @classmethod
    def at(cls, home: str | Path | None = None) -> Self:
        """The keeps of a home."""
        place = Paths.resolve(home).data
        with _homes_lock:
            found = _homes.get(place)
            if not isinstance(found, cls):
                found = _homes[place] = cls(home)
            return found

    def get(self, app: str, user: str) -> Keep:
        """The keep of a user; it is made if there is none."""
        name = keep_name_of(app, user)
        with self._lock:
            if name not in self._open:
                self._open[name] = Keep.open(name, home=self._home, background=False)
            self._open.move_to_end(name)
            while len(self._open) > self._most:
                _close(self._open.popitem(last=False)[1])
            return self._open[name]

    def close(self) -> None:
        """Close every keep. One that is asked for later is opened again."""
        with self._lock:
            while self._open:
                _close(self._open.popitem()[1])


def _close(keep: Keep) -> None:
    with suppress(TruekeepError):
        keep.close()
