"""What the processes of a service share in the database: books such as the tokens, answers, and who does the chores.

Books and answers are sealed with a key of the service's own, which the master key wraps as it wraps a keep's. So
whoever can write to the database, and does not have that key, can neither read a book nor put a token of theirs into
it. A box is bound to its name and version, and the version is anchored as a keep's head is: an older book, in which a
revoked token counts, is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truekeep.errors import KeyUnavailable, StoreTampered
from truekeep.stores.anchor import AnchorHead, Anchors
from truekeep.stores.anchors import anchors_of
from truekeep.stores.keyfile import VERSION
from truekeep.stores.keys import Secret
from truekeep.stores.postgres_cipher import Boxes
from truekeep.stores.postgres_keys import DatabaseKeyring
from truekeep.stores.postgres_lines import Connection
from truekeep.stores.postgres_schema import SCHEMA

if TYPE_CHECKING:
    from truekeep.config import Paths, Settings
    from truekeep.stores.keys import KeepKeys
    from truekeep.stores.master import Wrapping

_KEY = ".service"
"""What the service's own key goes by; no keep can have that name."""
_TABLE = f"{SCHEMA}.service"
_ANSWER = "answer"
_READ = f"SELECT version, box FROM {_TABLE} WHERE name = %s"  # noqa: S608 - fixed names, here and below
_PUT = f"""
INSERT INTO {_TABLE}(name, version, box) VALUES (%s, %s, %s)
ON CONFLICT (name) DO UPDATE SET version = excluded.version, box = excluded.box, at = now()"""  # noqa: S608
_LEASE = f"""
INSERT INTO {_TABLE}(name, box, at) VALUES (%s, %s, now() + make_interval(secs => %s))
ON CONFLICT (name) DO UPDATE SET box = excluded.box, at = excluded.at, version = service.version + 1
WHERE service.box = excluded.box OR service.at < now()"""  # noqa: S608


class SharedState:
    """The service's rows in the database of one home's settings."""

    def __init__(self, paths: Paths, settings: Settings) -> None:
        self._paths, self._settings = paths, settings
        self._ring = _SharedKeyring(settings.store, paths.keys, settings.master_key)
        self._known: tuple[KeepKeys, Boxes] | None = None
        self._me = uuid.uuid4().bytes
        """Who this process is, for leases."""

    def version(self, name: str) -> int:
        """Which version of a book there is now; 0 for none."""
        found = self._ring.ask(f"SELECT version FROM {_TABLE} WHERE name = %s", name)  # noqa: S608
        return int(found[0][0]) if found else 0

    def book(self, name: str) -> SharedBook | None:
        """A book as it is now, if there is one. One that is older than what was anchored is refused."""
        found = self._ring.ask(_READ, name)
        return self._opened(name, *found[0], is_newest=True) if found else None

    @contextmanager
    def changing(self, name: str) -> Iterator[BookChange]:
        """A book, while no other process changes it; what is put is there for all when the block has ended."""
        boxes = self._boxes()
        with self._ring.locked_row(name) as line:
            found = line.execute(_READ.encode(), (name,)).fetchone()
            change = BookChange(self._opened(name, *found, is_newest=True) if found else self._none(name))
            yield change
            if change.data is not None:
                version = change.book.version + 1
                line.execute(_PUT.encode(), (name, version, boxes.close(name, version, data=change.data)))
        if change.data is not None:
            with closing(self._anchors(name)) as anchors:
                anchors.create()
                anchors.advance(_head(change.book.version + 1, change.data))

    def accept(self, name: str) -> bool:
        """Let a book count that is older than what was anchored: a person decided so. Says whether it was needed."""
        boxes = self._boxes()
        with self._ring.locked_row(name) as line, closing(self._anchors(name)) as anchors:
            found, anchored = line.execute(_READ.encode(), (name,)).fetchone(), anchors.newest()
            if found is None or anchored is None or _is_newest(self._opened(name, *found), anchored):
                return False
            book, version = self._opened(name, *found), anchored.seq + 1
            line.execute(_PUT.encode(), (name, version, boxes.close(name, version, data=book.data)))
        return True

    def answer(self, keep: str, name: str) -> bytes | None:
        """What was answered to the request of that name in that keep, by whichever process, within a day."""
        row = self._answer_row(keep, name)
        found = self._ring.ask(f"{_READ} AND at > now() - interval '1 day'", row)
        return self._boxes().open(row, 1, bytes(found[0][1])) if found else None

    def keep_answer(self, keep: str, name: str, answer: bytes) -> None:
        """Remember an answer. To lose it in a crash does no harm, so nobody waits for the disk."""
        row = self._answer_row(keep, name)
        with self._ring.transaction() as line:
            line.execute(b"SET LOCAL synchronous_commit = off")
            line.execute(_PUT.encode(), (row, 1, self._boxes().close(row, 1, data=answer)))

    def drop_answers(self, keep: str = "") -> None:
        """Forget the answers of a keep in which something was erased; without a keep, those that are a day old."""
        begin = f"{_ANSWER}:{self._keep(keep)}:" if keep else f"{_ANSWER}:"
        aged = "" if keep else " AND at < now() - interval '1 day'"
        with self._ring.transaction() as line:
            line.execute(
                f"DELETE FROM {_TABLE} WHERE name >= %s AND name < %s{aged}".encode(),  # noqa: S608
                (begin, begin[:-1] + ";"),  # ";" is what follows ":"
            )

    def lease(self, name: str, seconds: float) -> bool:
        """Whether this process has something to itself for so long, by the database's clock; asked again, it goes on.

        No promise hangs on it: two that have it at once do the same work twice, under the locks of the keeps.
        """
        with self._ring.transaction() as line:
            return line.execute(_LEASE.encode(), (f"lease:{name}", self._me, seconds)).rowcount == 1

    def lease_of_keep(self, name: str, keep: str, seconds: float) -> bool:
        """The same for one keep."""
        return self.lease(f"{name}:{self._keep(keep)}", seconds)

    def end_leases(self) -> None:
        """Let others have at once what this process had."""
        with self._ring.transaction() as line:
            line.execute(
                f"DELETE FROM {_TABLE} WHERE name >= 'lease:' AND name < 'lease;' AND box = %s".encode(),  # noqa: S608
                (self._me,),
            )

    def _boxes(self) -> Boxes:
        return self._keys()[1]

    def _keys(self) -> tuple[KeepKeys, Boxes]:
        if self._known is None:
            keys = self._ring.open(_KEY) if self._ring.exists(_KEY) else self._ring.create(_KEY)
            self._known = keys, Boxes(keys)
        return self._known

    def _keep(self, keep: str) -> str:
        """A keep in a row's name: who reads the database does not learn which keep is asked how often."""
        return self._boxes().digest(_ANSWER, keep).hex()

    def _answer_row(self, keep: str, name: str) -> str:
        return f"{_ANSWER}:{self._keep(keep)}:{name}"

    def _opened(self, name: str, version: int, box: bytes, *, is_newest: bool = False) -> SharedBook:
        data = self._boxes().open(name, version, bytes(box))
        if data is None:
            raise StoreTampered(
                f"What the service shares as {name} was altered in the database.",
                code="service_state_tampered",
                hint="Restore the table service from a backup, or delete that row and make its content anew.",
                where=name,
            )
        book = SharedBook(version, data)
        with closing(self._anchors(name)) as anchors:
            anchored = anchors.newest() if is_newest else None
        if anchored is not None and not _is_newest(book, anchored):
            raise StoreTampered(
                f"What the service shares as {name} is older than what was anchored.",
                code="service_state_rolled_back",
                hint="Look at what it says, then let it count with: truekeep tokens accept.",
                where=name,
            )
        return book

    def _none(self, name: str) -> SharedBook:
        """Where a book was taken away, the next one begins after what was anchored of it."""
        with closing(self._anchors(name)) as anchors:
            anchored = anchors.newest()
        return SharedBook(anchored.seq if anchored is not None else 0, b"")

    def _anchors(self, name: str) -> Anchors:
        key = hmac.digest(self._keys()[0].anchor, name.encode(), "sha256")
        return anchors_of(self._settings.anchor, self._paths.keys, f"{_KEY}-{name}", key)


@dataclass(frozen=True, slots=True)
class SharedBook:
    """One version of a book."""

    version: int
    data: bytes


@dataclass(slots=True)
class BookChange:
    """A book that is being changed, and what it is to say."""

    book: SharedBook
    data: bytes | None = None


def rewrap_shared(paths: Paths, settings: Settings, master: Wrapping) -> None:
    """Wrap the service's key with that master key, if there is one."""
    ring = _SharedKeyring(settings.store, paths.keys, settings.master_key)
    if ring.exists(_KEY) and ring.wrapped_by(_KEY) != master.id:
        ring.rewrap(_KEY, master)


def _head(version: int, data: bytes) -> AnchorHead:
    return AnchorHead(version, hashlib.sha256(data).digest())


def _is_newest(book: SharedBook, anchored: AnchorHead) -> bool:
    """Whether it is what was anchored, or newer: an anchor lags where another host changed the book."""
    return book.version > anchored.seq or _head(book.version, book.data) == anchored


class _SharedKeyring(DatabaseKeyring):
    """The service's key, wrapped as a keep's is, in a row of the service's table."""

    def ask(self, statement: str, *given: Any) -> list[tuple[Any, ...]]:
        return self._ask(statement, *given)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with self.changing(_KEY) as line:
            yield line

    @contextmanager
    def locked_row(self, name: str) -> Iterator[Connection]:
        """A transaction with the row to itself, also while there is none."""
        with self.transaction() as line:
            line.execute(b"SELECT pg_advisory_xact_lock(hashtextextended(%s, 7304))", (f"truekeep {name}",))
            yield line

    def exists(self, keep: str) -> bool:
        return bool(self._ask(f"SELECT 1 FROM {_TABLE} WHERE name = %s", keep))  # noqa: S608

    def entry(self, keep: str) -> dict[str, Any]:
        found = self._ask(_READ, keep)
        try:
            entry = json.loads(bytes(found[0][1])) if found else None
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or entry.get("version") != VERSION:
            raise KeyUnavailable("The service's key in the database is not of this version.")
        return entry

    def write_new(self, keep: str, entry: Mapping[str, Any], secret: Secret) -> None:  # noqa: ARG002 - keeps' keys
        with self.transaction() as line:
            line.execute(
                f"INSERT INTO {_TABLE}(name, box) VALUES (%s, %s) ON CONFLICT DO NOTHING".encode(),  # noqa: S608
                (keep, json.dumps(dict(entry)).encode()),
            )

    def replace(self, keep: str, entry: Mapping[str, Any], secret: Secret) -> None:  # noqa: ARG002
        with self.transaction() as line:
            line.execute(_PUT.encode(), (keep, 1, json.dumps(dict(entry)).encode()))
