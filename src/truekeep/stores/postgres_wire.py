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
from psycopg.pq import DiagnosticField, ExecStatus, Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg.pq.abc import PGresult

    from truekeep.stores.postgres_lines import Connection

_FINE = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


def run(line: Connection, script: bytes) -> list[bytes | None]:
    """Send several statements in one message; gives the first row of the last one's answer, as text, or nothing."""
    result = _checked(line, line.pgconn.exec_(script))
    return [result.get_value(0, column) for column in range(result.nfields)] if result.ntuples else []


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
