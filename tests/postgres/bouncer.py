"""A real PgBouncer in transaction mode before a database of the tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from tests.postgres.server import SERVER_USER, SERVICE, Database, hand_over

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_PORT = 6432
_SETTINGS = """
[databases]
{name} = host={server} dbname={name}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {port}
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
logfile = {folder}/log
pidfile = {folder}/pid
"""


class Bouncer:
    """Every transaction gets whichever of a few connections is free, so that nothing may be kept in a session."""

    def __init__(self, folder: Path, database: Database, size: int = 1) -> None:
        assert PROGRAM is not None
        settings = {"name": database.name, "server": database.server.folder, "folder": folder}
        (folder / "settings").write_text(_SETTINGS.format(**settings, port=_PORT, size=size))
        (folder / "users").write_text(f'"{SERVICE}" ""\n')
        hand_over(folder)
        self._process = subprocess.Popen(
            [PROGRAM, str(folder / "settings")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **SERVER_USER
        )
        assert self._process.stderr is not None
        while b"process up" not in (line := self._process.stderr.readline()):
            assert line, "it did not start"
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(f"{folder}/.s.PGSQL.{_PORT}")
        self.dsn = f"postgresql://{SERVICE}@/{database.name}?host={folder}&port={_PORT}"

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)
        assert self._process.stderr is not None
        self._process.stderr.close()
