"""A service for several tenants: one process holds the keeps, and a token opens one of them over one channel.

    pip install '.[serve]'          # or: pip install 'truekeep[serve]'
    python examples/programs/tenants.py

Each tenant has two tokens: the application's, over which the tenant's own words come, and the agent's. No token
reaches another tenant's keep, and no agent's token speaks for its owner, whatever a request says.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from truekeep.client import Keep
from truekeep.errors import TruekeepError

TENANTS = ("acme", "globex")


def truekeep(home: str, *words: str) -> dict[str, Any]:
    """What an operator does on the command line."""
    command = [sys.executable, "-m", "truekeep", *words, "--home", home, "--format", "json"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(json.loads(told))


def tokens_of(home: str, tenant: str) -> tuple[str, str]:
    """The application's token and the agent's."""
    application = truekeep(
        home, "tokens", "add", "--keep", tenant, "--channel", "user", "--may", "read", "--may", "write"
    )
    agent = truekeep(home, "tokens", "add", "--keep", tenant, "--channel", "agent", "--may", "read", "--may", "write")
    return str(application["token"]), str(agent["token"])


@contextmanager
def service(home: str) -> Iterator[str]:
    """The service on a free port of this machine, until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "truekeep", "serve", "--home", home, "--port", str(port)]
    environment = {**os.environ, "TRUEKEEP_SERVE_CONSOLE": "false"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as served:
        try:
            _wait_until_it_answers(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            served.terminate()


def _wait_until_it_answers(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("The service did not start.")


def main() -> None:
    """Two tenants, their agents, and what each of them gets to see."""
    with tempfile.TemporaryDirectory() as home:
        tokens = {tenant: tokens_of(home, tenant) for tenant in TENANTS}
        with service(home) as address:
            keeps = {tenant: Keep(address, token=list(tokens[tenant])) for tenant in TENANTS}
            for tenant, keep in keeps.items():
                keep.remember(f"Invoices of {tenant} go to account {len(tenant)}180-22.", via="user")
                noted = keep.remember("Invoices go to account 9904-71.", via="agent")
                print(f"{tenant}: the agent's own claim is {noted.decision.value} ({noted.code})")
            for tenant, keep in keeps.items():
                hits = keep.recall("where do invoices go?", influence_only=True)
                print(f"{tenant} finds:", [hit.text for hit in hits])
            stolen = Keep(address, token=tokens["acme"][1], keep="globex")
            try:
                print("a stolen look:", stolen.recall("where do invoices go?"))
            except TruekeepError as refused:
                print("acme's token in globex's keep:", refused.code)
            agent_only = Keep(address, token=tokens["acme"][1])
            try:
                agent_only.remember("Pay 9904-71.", via="user")
            except TruekeepError as refused:
                print("the agent speaking as the owner:", refused.code)
            for keep in (*keeps.values(), stolen, agent_only):
                keep.close()


if __name__ == "__main__":
    main()
