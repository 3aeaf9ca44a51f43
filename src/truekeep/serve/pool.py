"""The pool: a bounded number of open keeps, each opened once in this process and closed when it was idle longest."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from truekeep.config import Paths, Settings
from truekeep.embed import Embedder
from truekeep.errors import KeepClosed, KeyUnavailable, StoreBusy, TruekeepError
from truekeep.handles import Handle
from truekeep.keep import Keep
from truekeep.serve.capabilities import Permit
from truekeep.serve.identity import Identity, unknown_keep
from truekeep.serve.limits import Shares
from truekeep.stores.files import database_keyring, keep_names, keyring

DEFAULT_SIZE = 128
_ALONE_SECONDS = 10.0
"""How long whoever wants a keep for themselves waits for those that are at it."""


@dataclass(frozen=True, slots=True)
class Lease:
    """An open keep for the length of one request: a handle bound to the token's channel, and the keep itself.

    What an agent's words reach goes through ``handle``. ``keep`` is for what a token's own capability allows: review,
    credit, audit.
    """

    identity: Identity
    keep: Keep
    handle: Handle


@dataclass(slots=True)
class _Place:
    """Where one keep is open or is being opened; whoever comes meanwhile waits for its lock alone."""

    users: int = 0
    inside: int = 0
    """How many work with it now; the others among the users wait for the lock."""
    keep: Keep | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Pool:
    """The open keeps of one process. Thread-safe; other processes may have the same keeps open."""

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        settings: Settings | None = None,
        size: int = DEFAULT_SIZE,
        share: int = 0,
        embedder: Callable[[], Embedder | None] | None = None,
    ) -> None:
        self.home = home
        self.paths = Paths.resolve(home)
        self.settings = settings or Settings.load(self.paths.config)
        self.shares: Shares[str] = Shares(size, share)
        """Who used each open keep last, so that a token that goes through many closes its own."""
        self._embedder = embedder
        self._lock = threading.Lock()
        self._left = threading.Condition(self._lock)
        """Told whenever somebody is done with a keep."""
        self._places: dict[str, _Place] = {}
        self._closed = False
        self.opened = 0
        """How many times a keep was opened."""

    @contextmanager
    def handle(
        self, identity: Identity, keep_name: str | None = None, *, permit: Permit, session: str | None = None
    ) -> Iterator[Lease]:
        """The keep that an identity may reach under that name, held open until the block ends.

        Only what is permitted to make keeps makes one; for everything else there is none until somebody has written.
        """
        name = identity.keep(keep_name)
        if not (permit.makes or self.exists(name)):
            raise unknown_keep()
        with self.borrow(name, identity.token_id) as keep:
            permit.require_channel(keep.channels.get(identity.channel), identity.capabilities)
            yield Lease(identity, keep, keep.bind(identity.channel, session=session))

    @contextmanager
    def borrow(self, name: str, holder: str = "") -> Iterator[Keep]:
        """A keep by its name, for a token or the service's own work; it is not closed while somebody has it."""
        place = self._taken(name, holder)
        is_inside = False
        try:
            keep = self._opened(name, place)
            is_inside = True
            yield keep
        except KeyUnavailable as error:
            if error.code not in ("keys_rotated", "key_outdated"):
                raise
            with place.lock:
                _close(place)
            raise StoreBusy("The keep's key was rotated meanwhile.", hint="Try again.") from error
        finally:
            self._give_back(place, is_inside)

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Nobody in this process has the keep open until the block ends; whoever wants it meanwhile waits.

        For what replaces its file or encrypts it anew. Other processes are held off by the store itself.
        """
        place = self._taken(name, "")
        try:
            with place.lock:
                with self._left:
                    if not self._left.wait_for(lambda: not place.inside, timeout=_ALONE_SECONDS):
                        raise StoreBusy("The keep is in use.", hint="Try again when nobody works with it.")
                _close(place)
                yield
        finally:
            self._give_back(place, False)

    @property
    def is_open(self) -> bool:
        """Whether it still takes callers."""
        return not self._closed

    def exists(self, name: str) -> bool:
        """Whether there is such a keep."""
        with self._lock:
            place = self._places.get(name)
            if place is not None and place.keep is not None:
                return True
        return keyring(self.paths, self.settings).exists(name)

    def can_write(self) -> bool:
        """Whether keeps can be written where they are: in the database that is set, or in the data directory."""
        if self.settings.store:
            return database_keyring(self.paths, self.settings).takes_writes()
        place = self.paths.data
        while not place.is_dir() and place != place.parent:
            place = place.parent
        return os.access(place, os.W_OK)

    def names(self) -> list[str]:
        """Every keep of this home, open or not."""
        return keep_names(self.paths, self.settings)

    def open_names(self) -> list[str]:
        """The keeps that are open now."""
        with self._lock:
            return [name for name, place in self._places.items() if place.keep is not None]

    def close(self) -> None:
        """Close every keep; whoever still has one is told that it is closed. Nothing acknowledged is lost."""
        with self._lock:
            self._closed = True
            places, self._places = self._places, {}
        for place in places.values():
            with place.lock:
                _close(place)

    def _taken(self, name: str, holder: str) -> _Place:
        with self._lock:
            if self._closed:
                raise KeepClosed("The service is shutting down.", code="shutting_down", hint="Try again shortly.")
            idle = self._in_the_way(name, holder)
            place = self._places.setdefault(name, _Place())
            if holder or self.shares.holder(name) is None:  # the service's own work makes no keep its own
                self.shares.use(holder, name)
            place.users += 1
        if idle is not None:
            with idle.lock:
                _close(idle)
        return place

    def _in_the_way(self, name: str, holder: str) -> _Place | None:
        """Take a keep that nobody uses now out of the pool, if one has to go so that this one fits."""
        if name in self._places:
            return None
        other = self.shares.in_the_way(holder, lambda one: not self._places[one].users)
        if other is None:
            return None
        self.shares.drop(other)
        return self._places.pop(other)

    def _opened(self, name: str, place: _Place) -> Keep:
        with place.lock:
            if place.keep is None:
                place.keep = Keep.open(
                    name, home=self.home, settings=self.settings, embedder=self._embedder, background=False
                )
                self.opened += 1
            with self._lock:
                place.inside += 1
            return place.keep

    def _give_back(self, place: _Place, is_inside: bool) -> None:
        with self._left:
            place.users -= 1
            place.inside -= is_inside
            self._left.notify_all()


def _close(place: _Place) -> None:
    if place.keep is not None:
        with suppress(TruekeepError):
            place.keep.close()
        place.keep = None
