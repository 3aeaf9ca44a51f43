"""The server behind the proxy: its tools as plain definitions, and answers that were read and bounded.

It is offered nothing: no sampling, no elicitation, no roots, so what it asks for itself is refused by the protocol's
library. Its name, instructions, notices and progress go nowhere. What cannot be read is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from mcp import Client
from mcp.client.extension import UnexpectedClaimedResult
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, EmbeddedResource, PaginatedRequestParams, TextContent, TextResourceContents, Tool
from pydantic import ValidationError

from truekeep.errors import TruekeepError

MOST_TOOLS, _MOST_PAGES = 500, 50
_NOT_SHOWN = {"icons", "meta", "execution"}


class ServerRefused(TruekeepError):
    """The server did not answer, or not with anything that may be passed on."""

    code = "server_refused"
    hint = "The server's own log says more; nothing of its answer is passed on."


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """What a call gave: its text, and its structure where the server gave one."""

    text: str
    structured: Any
    is_error: bool

    @property
    def value(self) -> Any:
        """The answer as data: its structure, else what its text is as JSON, else the text."""
        if self.structured is not None:
            return self.structured
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError):
            return self.text
        return found if isinstance(found, dict | list) else self.text

    @property
    def has_other_text(self) -> bool:
        """Whether the text says something that the structure does not."""
        if self.structured is None or not self.text.strip():
            return False
        try:
            return bool(json.loads(self.text) != self.structured)
        except (ValueError, RecursionError):
            return True


class Upstream:
    """One connection to the server."""

    def __init__(self, client: Client, *, most_chars: int, seconds: float) -> None:
        self._client = client
        self._most_chars = most_chars
        self._seconds = seconds

    async def definitions(self) -> list[dict[str, Any]]:
        """Everything of its tools that a model could be shown, each name once."""
        found: dict[str, dict[str, Any]] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._asked(lambda at=cursor: self._page(at))
            for tool in page.tools:
                if tool.name in found or len(found) >= MOST_TOOLS:
                    raise ServerRefused("The server's list of tools cannot be used.", code="server_tools_unusable")
                found[tool.name] = definition_of(tool)
            cursor = page.next_cursor
            if cursor is None:
                return list(found.values())
        raise ServerRefused("The server's list of tools has no end.", code="server_tools_unusable")

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ServerAnswer:
        """Call a tool, once. A call that failed is not made again: nobody knows what it did."""
        session = self._client.session
        result = await self._asked(lambda: session.call_tool(name, dict(arguments)))
        if not isinstance(result, CallToolResult):
            raise ServerRefused("The server asked for something instead of answering.", code="server_asked_back")
        return answer_of(result, self._most_chars)

    def _page(self, cursor: str | None) -> Any:
        return self._client.session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)

    async def _asked(self, ask: Any) -> Any:
        """One exchange with the server; whatever goes wrong is said without its words."""
        try:
            with anyio.fail_after(self._seconds):
                return await ask()
        except TimeoutError:
            raise ServerRefused("The server did not answer in time.", code="server_timeout") from None
        except MCPError as error:
            code = error.error.code
            raise ServerRefused(f"The server answered with error {code}.", code="server_error") from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError):
            raise ServerRefused("The server is gone.", code="server_gone") from None
        except (RuntimeError, ValueError, ValidationError, UnexpectedClaimedResult):
            raise ServerRefused("The server's answer cannot be read.", code="server_answer_unreadable") from None


def answer_of(result: CallToolResult, most_chars: int) -> ServerAnswer:
    """A call's answer, if it is text of a bearable length; raises ``ServerRefused`` if not."""
    answer = ServerAnswer(_text(result), result.structured_content, bool(result.is_error))
    structured = json.dumps(answer.structured) if answer.structured is not None else ""
    if max(len(answer.text), len(structured)) > most_chars:
        raise ServerRefused("The server's answer is too long.", code="server_answer_too_long")
    return answer


def definition_of(tool: Tool) -> dict[str, Any]:
    """Everything of a tool's definition that a model could be shown. Raises ``ServerRefused``."""
    if not tool.name.isascii() or not tool.name.isprintable() or len(tool.name) > 128:
        raise ServerRefused("A tool of the server has a name that is none.", code="server_tools_unusable")
    given = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: value for key, value in given.items() if key.lstrip("_") not in _NOT_SHOWN}


def _text(result: CallToolResult) -> str:
    """The text of an answer. Images, sounds and links cannot be looked at, so an answer with one is refused."""
    parts = []
    for block in result.content:
        if isinstance(block, TextContent):
            parts.append(block.text)
        elif isinstance(block, EmbeddedResource) and isinstance(block.resource, TextResourceContents):
            parts.append(block.resource.text)
        else:
            raise ServerRefused("The answer holds something that is no text.", code="server_content_refused")
    return "\n".join(parts)
