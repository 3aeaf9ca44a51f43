"""Statements sent straight through libpq, for those that a hot keep sends at every turn.

The driver's cursors cost several times what libpq itself does, and a recall asks the server for little. What is sent is
the same: values are bound, nothing is prepared, and an answer that is an error becomes the driver's own exception.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.generators import execute
from psycopg.pq import DiagnosticField, ExecStatus, Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg.pq.abc import PGresult

    from truekeep.stores.postgres_lines import Connection

Answer = tuple[bytes | None, ...]
_FINE = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


def run(line: Connection, script: bytes) -> list[list[Answer]]:
    """Send several statements in one message; gives the rows, as text, of each that answers with rows.

    It waits as the driver itself does, which lets other threads go on meanwhile and can be interrupted.
    """
    line.pgconn.send_query(script)
    results = [_checked(line, result) for result in line.wait(execute(line.pgconn))]
    return [
        [tuple(result.get_value(row, column) for column in range(result.nfields)) for row in range(result.ntuples)]
        for result in results
        if result.status == ExecStatus.TUPLES_OK
    ]


def commit(line: Connection) -> bool:
    """Commit; says whether the server was sure of it. It warns when it stopped waiting for a standby."""
    doubts: list[psycopg.errors.Diagnostic] = []
    line.add_notice_handler(doubts.append)
    try:
        answer = line.execute(b"COMMIT").statusmessage
    finally:
        line.remove_notice_handler(doubts.append)
    if answer != "COMMIT":  # what it says to a transaction in which something failed
        raise psycopg.InternalError("the transaction was rolled back")
    return not doubts


def number(value: bytes | None) -> int:
    """A whole number in an answer that came as text; none is 0."""
    return int(value or 0)


def data(value: bytes | None) -> bytes:
    """Bytes in an answer that came as text, of a column that was asked for as ``encode(…, 'hex')``."""
    return bytes.fromhex((value or b"").decode())


def ask(line: Connection, statement: str, given: Sequence[Any]) -> tuple[list[tuple[Any, ...]], int]:
    """Send one statement with its values; gives the rows of the answer, and how many rows were changed."""
    dumping = Transformer(line)
    values = dumping.dump_sequence(given, _binary(len(given)))
    sent = line.pgconn.exec_params(_numbered(statement), values, dumping.types, dumping.formats, Format.BINARY)
    result = _checked(line, sent)
    if result.status == ExecStatus.COMMAND_OK:
        return [], result.command_tuples or 0
    loading = Transformer(line)
    loading.set_pgresult(result)
    return loading.load_rows(0, result.ntuples, tuple), result.ntuples


def _checked(line: Connection, result: PGresult) -> PGresult:
    if result.status in _FINE:
        return result
    if not result.error_field(DiagnosticField.SQLSTATE):
        line.close()
        raise psycopg.OperationalError("the connection was lost")  # this is libpq's own word, and not the server's
    raise psycopg.errors.error_from_result(result)


@lru_cache(maxsize=8)
def _binary(number: int) -> list[PyFormat]:
    return [PyFormat.BINARY] * number


@lru_cache(maxsize=64)
def _numbered(statement: str) -> bytes:
    """The statement with its places as libpq numbers them."""
    number = count(1)
    first, *rest = statement.split("%s")
    return (first + "".join(f"${next(number)}{part}" for part in rest)).encode()
