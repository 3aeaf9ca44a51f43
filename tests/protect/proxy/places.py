"""Where the proxy's tests get their processes from: the command as a user starts it, before a real server."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from tests.serve.mcp.client import Person, text_of

ROOT = Path(__file__).parents[3]
SHOP = [sys.executable, str(Path(__file__).parent / "plain_server.py")]
Talk = Callable[[Client], Awaitable[None]]


def variables(home: Path, **more: str) -> dict[str, str]:
    return (
        os.environ | {"TRUEKEEP_HOME": str(home), "TRUEKEEP_EMBEDDER": "none", "PYTHONPATH": str(ROOT / "src")} | more
    )


def proxy(home: Path, *options: str, command: list[str] | None = None, **more: str) -> StdioServerParameters:
    """``truekeep protect mcp`` before a server, the shop by default."""
    passed = [part for name in more for part in ("--env", name)]
    server = ["--", *(SHOP if command is None else command)] if command != [] else []
    arguments = ["-m", "truekeep", "protect", "mcp", "--keep", "alice", *passed, *options, *server]
    return StdioServerParameters(command=sys.executable, args=arguments, env=variables(home, **more))


def talk(server: Any, script: Talk, person: Person | None = None, mode: str = "legacy") -> None:
    async def run() -> None:
        async with Client(server, mode=mode, elicitation_callback=person) as client:
            await script(client)

    anyio.run(run)


async def told(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Whether a call was refused or failed, and what the model reads of it."""
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is None
    return bool(result.is_error), text_of(result)
