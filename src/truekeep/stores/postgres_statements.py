"""What is asked of PostgreSQL about one keep. Values are bound, but where several statements go in one message.

There the keep's own UUID, whole numbers and fixed names are written into the text, and nothing else. Rows come as text
then, and bytes in them as hexadecimal digits whatever the server is set to.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from truekeep.stores.base import TABLES
from truekeep.stores.postgres_schema import KEEP_SETTING, SCHEMA

NUMBERS = {table: number for number, table in enumerate(TABLES)}
"""What a table is called in the database. The order of ``TABLES`` only ever grows."""
_STALLED_READING = 600_000
"""Milliseconds after which the server ends a view in which nothing happens: it keeps dead rows from being removed."""
_SEALED, _EVENT_ROWS = f"{SCHEMA}.sealed", f"{SCHEMA}.events"
_OF_PLACE = f"FROM {_SEALED} WHERE keep = %s AND tbl = %s AND"
_COLUMNS = ("SELECT seq, body, mac", "SELECT seq, body, mac, card")
_PAGE = "seq > %s ORDER BY seq LIMIT %s"
_OF_KEEP = f"SELECT seq, body, state, hash FROM {_EVENT_ROWS} WHERE keep = %s"  # noqa: S608 - fixed names, as below
_NEWEST = "ORDER BY seq DESC LIMIT 1"

INSERT = f"INSERT INTO {_SEALED}(keep, tbl, seq, id, body, mac, card) VALUES (%s, %s, %s, %s, %s, %s, %s)"  # noqa: S608
REPLACE = f"UPDATE {_SEALED} SET id = %s, body = %s, mac = %s, card = %s WHERE keep = %s AND tbl = %s AND seq = %s"  # noqa: S608
REMOVE = f"DELETE {_OF_PLACE} seq = %s"
LAST = f"SELECT coalesce(max(seq), 0) {_OF_PLACE} seq BETWEEN 0 AND %s"
BY_ID = f"{_COLUMNS[0]} {_OF_PLACE} id = %s"
BY_SEQS = tuple(f"{columns} {_OF_PLACE} seq = ANY(%s::bigint[])" for columns in _COLUMNS)
ROWS = tuple(f"{columns} {_OF_PLACE} {_PAGE}" for columns in _COLUMNS)
"""These two without index cards and with them."""
IDS = f"SELECT seq, body, id {_OF_PLACE} {_PAGE}"
REINDEX = f"UPDATE {_SEALED} SET id = %s WHERE keep = %s AND tbl = %s AND seq = %s"  # noqa: S608
COUNT = f"SELECT tbl, count(*) FROM {_SEALED} WHERE keep = %s GROUP BY tbl"  # noqa: S608
FILLED = (
    f"SELECT t::smallint FROM generate_series(0, {len(TABLES) - 1}) t "  # noqa: S608
    f"WHERE EXISTS (SELECT FROM {_SEALED} WHERE keep = %s AND tbl = t::smallint)"
)
APPEND = f"INSERT INTO {_EVENT_ROWS}(keep, seq, body, state, hash) VALUES (%s, %s, %s, %s, %s)"  # noqa: S608
RESTATE = f"UPDATE {_EVENT_ROWS} SET body = %s WHERE keep = %s AND seq = %s"  # noqa: S608
DROP_EVENTS = f"DELETE FROM {_EVENT_ROWS} WHERE keep = %s"  # noqa: S608
EVENT = f"{_OF_KEEP} AND seq = %s"
EVENTS = f"{_OF_KEEP} AND {_PAGE}"
NEWEST = f"{_OF_KEEP} {_NEWEST}"


def view(keep: UUID, patience: int) -> str:
    """Begin a view, and find the keep's version, its data keys and the end of its chain.

    ``patience`` is how many milliseconds to wait for a table that is being migrated.
    """
    return (
        f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL {KEEP_SETTING} = '{keep}'; "  # noqa: S608
        f"SET LOCAL lock_timeout = {patience}; SET LOCAL idle_in_transaction_session_timeout = {_STALLED_READING}; "
        f"SELECT k.version, k.data_keys, e.seq, encode(e.hash, 'hex') FROM {SCHEMA}.keeps k LEFT JOIN LATERAL "
        f"(SELECT seq, hash FROM {_EVENT_ROWS} WHERE keep = '{keep}' {_NEWEST}) e ON true WHERE k.keep = '{keep}'"
    )


def glance(keep: UUID, patience: int, table: str, seqs: Sequence[int]) -> str:
    """A view that is over with its message: what a view begins with, and the rows at those places if there are any."""
    places = ", ".join(map("{:d}".format, seqs))
    rows = (
        f"SELECT seq, encode(body, 'hex'), encode(mac, 'hex') FROM {_SEALED} "  # noqa: S608
        f"WHERE keep = '{keep}' AND tbl = {NUMBERS[table]} AND seq IN ({places})"
    )
    return "; ".join([view(keep, patience), *([rows] if seqs else []), "ROLLBACK"])


def lock(keep: UUID, patience: int, writer: UUID | None, *, is_lax: bool) -> str:
    """Begin a write with the lock on the keep's row, and find what a view finds and the newest event.

    Without a ``writer`` the row stays as it is. A server that is lax about durability is told not to be.
    """
    where = f"WHERE keep = '{keep}'"
    taken = (
        f"UPDATE {SCHEMA}.keeps SET version = version + 1, epoch = epoch + (writer IS DISTINCT FROM '{writer}')::int, "  # noqa: S608
        f"writer = '{writer}' {where} RETURNING version - 1, data_keys"
    )
    looked = f"SELECT version, data_keys FROM {SCHEMA}.keeps {where} FOR UPDATE"  # noqa: S608
    # A writer that was stopped loses its lock while others still wait for it.
    stalled = max(1_000, patience // 2)
    durable = "SET LOCAL synchronous_commit = on; " if is_lax else ""
    return (
        f"BEGIN; SET LOCAL {KEEP_SETTING} = '{keep}'; SET LOCAL lock_timeout = {patience}; "  # noqa: S608
        f"SET LOCAL idle_in_transaction_session_timeout = {stalled}; {durable}{taken if writer else looked}; "
        f"SELECT seq, encode(body, 'hex'), encode(state, 'hex'), encode(hash, 'hex') FROM {_EVENT_ROWS} {where} "
        f"{_NEWEST}"
    )
