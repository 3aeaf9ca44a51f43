"""A client with a person behind it, connected to a server over a keep; both eras of the protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import anyio
from mcp import Client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult

from truekeep import Keep
from truekeep.serve.capabilities import Permit
from truekeep.serve.mcp.asking import Asking, Context
from truekeep.serve.mcp.binding import Binding
from truekeep.serve.mcp.server import build_server

ERAS = ["legacy", "2026-07-28"]
Talk = Callable[[Client], Awaitable[None]]


class Person:
    """Somebody who reads every question and gives the same answer to all of them."""

    def __init__(self, action: str = "accept", content: dict[str, Any] | None = None) -> None:
        self.action = action
        self.content = content
        self.read: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None

    async def __call__(self, context: Any, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002 - named so by callers
        self.read.append(params.message)
        self.meanwhile()
        return ElicitResult(action=self.action, content=self.content)  # type: ignore[arg-type]


def bound(keep: Keep, *, channel: str = "agent", owner: str | None = "user", holder: str = "stdio") -> Binding:
    return Binding(lambda: nullcontext(keep), channel, "s-mcp", owner, holder)


def talk(
    binding: Binding, script: Talk, person: Person | None = None, era: str = "legacy", asking: Asking | None = None
) -> None:
    """Run a script against a server over that binding."""

    async def binder(_: Context, __: Permit) -> Binding:
        return binding

    async def run() -> None:
        server = build_server(binder, asking)
        async with Client(server, mode=era, elicitation_callback=person) as client:
            await script(client)

    anyio.run(run)


def call(
    binding: Binding, tool: str, person: Person | None = None, era: str = "legacy", /, **arguments: Any
) -> CallToolResult:
    """The result of one call over a connection of its own."""
    results: list[CallToolResult] = []

    async def script(client: Client) -> None:
        results.append(await client.call_tool(tool, arguments))

    talk(binding, script, person, era)
    return results[0]


def text_of(result: CallToolResult) -> str:
    return "".join(getattr(block, "text", "") for block in result.content)
