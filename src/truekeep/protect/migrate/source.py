"""Opening what is moved in: a file of the user's, or a service's address. Everything is bounded before it is parsed.

A file is opened without following links; JSON may be neither deep nor endless; a service is asked over http(s) only,
with a timeout, a bound on every answer, and no redirect: an address that leads elsewhere is not the one that was named.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from truekeep import disk
from truekeep.errors import InvalidRequest
from truekeep.trust.candidate import MOST_NESTED

MOST_BYTES = 256_000_000
"""Bytes of a file: it is parsed in memory, which takes several times as much."""
LONGEST_LINE = 1_000_000
"""Characters of a line of JSON lines; an entry with all its fields is far below."""
_MOST_ANSWER = 10_000_000
"""Bytes of one answer of a service; a page of a hundred entries is far below."""
_MOST_VALUES = 20_000_000
"""Values in one file; walking them takes seconds, and each takes tens of bytes once it is parsed."""
_ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd")
_DEEPEST = 4 * MOST_NESTED
"""Levels of JSON of a whole file: an export of conversations nests what is in its messages."""
_SECONDS = 30.0


def text_of(path: Path) -> str:
    """The text of a file."""
    content = _bytes_of(path)
    if content.startswith(_ARCHIVES):
        raise InvalidRequest(
            "That is an archive, and is not unpacked here.",
            code="source_is_archive",
            hint="Unpack it, and name the file in it, such as conversations.json.",
        )
    if b"\x00" in content:
        raise InvalidRequest(
            "The file is not text: it has NUL characters.",
            code="source_not_text",
            hint="For a database, name the format that it is of; see 'truekeep migrate from --help'.",
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest(
            "The file is not UTF-8.", code="source_not_text", hint="Save it as UTF-8, and run this again."
        ) from None


def is_sqlite(path: Path) -> bool:
    """Whether a file is a SQLite database, by its first bytes."""
    return _bytes_of(path, only_start=True).startswith(b"SQLite format 3\x00")


def parsed(text: str) -> Any:
    """The JSON in a text, or its JSON lines as a list."""
    stripped = text.strip()
    # Three characters of a text become sixty bytes in memory: what is too much is refused before it is parsed.
    if sum(map(stripped.count, ",[{")) > _MOST_VALUES:
        raise _too_deep()
    try:
        value = json.loads(stripped)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        return list(lines_of(text))
    require_shallow(value)
    return value


def lines_of(text: str) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if len(line) > LONGEST_LINE:
            raise InvalidRequest(f"Line {number} is over {LONGEST_LINE:,} characters.", code="line_too_long")
        try:
            value = json.loads(line)
        except RecursionError:
            raise _too_deep() from None
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise InvalidRequest(
                f"Line {number} is not a JSON object.",
                code="source_not_json",
                hint="The file is neither JSON nor JSON lines; was it cut off, or is it of another format?",
            )
        require_shallow(value)
        yield value


def require_shallow(value: object) -> None:
    """Refuse JSON that is too deep or too much to walk through; it goes level by level, without recursion."""
    level, seen = [value], 0
    for _ in range(_DEEPEST):
        inner: list[object] = []
        for one in level:
            if isinstance(one, list):
                inner += one
            elif isinstance(one, dict):
                inner += one.values()
        seen += len(inner)
        if not inner:
            return
        if seen > _MOST_VALUES:
            break
        level = inner
    raise _too_deep()


def _too_deep() -> InvalidRequest:
    return InvalidRequest(
        "The file's JSON is nested too deeply or has too many values.",
        code="nested_too_deep",
        hint=f"At most {_DEEPEST} levels and {_MOST_VALUES:,} values.",
    )


@contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    """A SQLite file, opened for reading only, whose own definitions are not believed."""
    try:
        disk.require_plain(path)
        size = path.stat().st_size
    except OSError as error:
        raise _unreadable(error) from None
    if size > MOST_BYTES:
        raise _too_large()
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield connection
    except sqlite3.Error:
        raise InvalidRequest(
            "The database cannot be read: it is damaged, locked, or not of this format.",
            code="source_unreadable",
            hint="Close what uses it, and check that the format fits the file.",
        ) from None


def table_names(connection: sqlite3.Connection) -> set[str]:
    """The real tables of a database; views, which run code of whoever made the file, are none."""
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def asked(url: str, body: dict[str, Any], token: str | None = None) -> Any:
    """What a service answers to a JSON body that is posted to it."""
    import urllib.error  # noqa: PLC0415 - only where a service is asked
    import urllib.request  # noqa: PLC0415

    require_http(url)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")  # noqa: S310 - http(s) only
    opener = urllib.request.build_opener(_no_redirect())
    try:
        with opener.open(request, timeout=_SECONDS) as answer:
            content: bytes = answer.read(_MOST_ANSWER + 1)
    except urllib.error.HTTPError as error:
        with error:
            raise _no_answer(f"The service answered {error.code}.") from None
    except (OSError, ValueError) as error:
        raise _no_answer(f"The service does not answer ({type(error).__name__}).") from None
    if len(content) > _MOST_ANSWER:
        raise InvalidRequest("The service's answer is too large.", code="source_too_large")
    return parsed(content.decode("utf-8", "replace"))


def require_http(url: str) -> None:
    """Refuse an address that is not http or https with a host."""
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web:
        raise InvalidRequest("Only http and https addresses can be asked.", code="source_not_http")


def _no_redirect() -> Any:
    import urllib.request  # noqa: PLC0415

    class Stays(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    return Stays()


def _no_answer(what: str) -> InvalidRequest:
    return InvalidRequest(
        what, code="source_no_answer", hint="Check the address, and the token in TRUEKEEP_SOURCE_TOKEN if it needs one."
    )


def _bytes_of(path: Path, *, only_start: bool = False) -> bytes:
    try:
        with os.fdopen(disk.opened(path.absolute(), 0), "rb") as file:
            content = file.read(100 if only_start else MOST_BYTES + 1)
    except OSError as error:
        raise _unreadable(error) from None
    if len(content) > MOST_BYTES:
        raise _too_large()
    return content


def _unreadable(error: OSError) -> InvalidRequest:
    if isinstance(error, disk.UnsafeFile) or error.errno in (errno.ELOOP, errno.ENXIO):
        return InvalidRequest(
            "That is a link, a pipe or somebody else's file, and is not opened.",
            code="source_unsafe",
            hint="Copy it to a file of your own, and name that.",
        )
    return InvalidRequest("The file cannot be read.", code="source_unreadable", hint=type(error).__name__)


def _too_large() -> InvalidRequest:
    return InvalidRequest(
        f"The file is over {MOST_BYTES:,} bytes.", code="source_too_large", hint="Split it, and move the parts in turn."
    )
