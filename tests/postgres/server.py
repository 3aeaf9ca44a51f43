"""A real PostgreSQL server of the tests' own, on a socket in a folder: Debian's, or whichever is found on the path."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from truekeep.stores.postgres_lines import forget_lines
from truekeep.stores.postgres_schema import migrate

_NAMED = os.environ.get("TRUEKEEP_TEST_POSTGRES")
"""The folder with the programs of another version: ``initdb`` and ``pg_ctl`` are enough for most tests."""
_FOUND = [Path(_NAMED)] if _NAMED else [*sorted(Path("/usr/lib/postgresql").glob("*/bin"))]
_ON_PATH = shutil.which("pg_ctl")
PROGRAMS = _FOUND[-1] if _FOUND else Path(_ON_PATH).parent if _ON_PATH else None
SERVICE = "service"
"""The role that serves: it owns nothing and bypasses nothing."""


def kill_all(data: Path) -> None:
    """End every process of the server that has its data there, at once."""
    parent = int((data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for process in (parent, *map(int, children)):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


class Server:
    """A cluster in a folder, started and stopped at will, with a database for whoever asks."""

    def __init__(self, folder: Path, *, copy_of: Server | None = None) -> None:
        self.folder = folder
        # The server refuses to run as root; Debian's package makes a user for it.
        self._as: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.getuid() == 0 else {}
        if self._as:
            shutil.chown(folder, "postgres", "postgres")
        if copy_of is not None:
            # A standby that follows the other server.
            source = ("-h", str(copy_of.folder), "-U", "owner")
            self._run("pg_basebackup", "-D", "data", "-R", "-X", "stream", "-c", "fast", "--no-sync", *source)
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
            if self._as:
                shutil.chown(disk, "postgres", "postgres")
            self.run(f"CREATE TABLESPACE of_{name} LOCATION '{disk}'")
            space = f" TABLESPACE of_{name}"
        self.run(f"CREATE DATABASE {name}{space}")
        with psycopg.connect(self.dsn(name), autocommit=True) as connection:
            migrate(connection, SERVICE)
        return Database(self, name)

    def _run(self, program: str, *given: str) -> None:
        assert PROGRAMS is not None
        done = subprocess.run(
            [str(PROGRAMS / program), *given],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
            **self._as,
        )
        assert done.returncode == 0, program


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
