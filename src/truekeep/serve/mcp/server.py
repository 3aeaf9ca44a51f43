"""The server: constant words, the tools' descriptions and schemas, and every failure as an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from truekeep import __version__
from truekeep.errors import TruekeepError
from truekeep.read.reader import sanitised_json
from truekeep.serve.capabilities import Permit, permit
from truekeep.serve.logs import ERROR, log_event
from truekeep.serve.mcp import answers
from truekeep.serve.mcp.asking import Asking, Context, PersonCall, Result
from truekeep.serve.mcp.binding import Binding
from truekeep.serve.mcp.tools import TOOLS
from truekeep.serve.mcp.tools import Tool as TruekeepTool
from truekeep.serve.mcp.words import words
from truekeep.trust import fence

SNAPSHOT_URI, WAITING_URI = "truekeep://snapshot", "truekeep://waiting"
Binder = Callable[[Context, Permit], Awaitable[Binding]]
"""Who is behind a request that takes this much: fixed by how the server was started, or by the token it came with."""


def build_server(
    binder: Binder,
    asking: Asking | None = None,
    profile: str = "truekeep",
    note: Callable[[str, str], None] = lambda _tool, _answer: None,
) -> Server[Any]:
    """The MCP server over whatever ``binder`` says a request is bound to, with the tools of a profile.

    ``note`` is told of every call of a tool whether it was ``done``, ``failed`` or a person is ``asked`` first.
    """
    said, tools, questions = words(profile), _tools(profile), asking or Asking()
    described = _described(profile)

    async def bound(context: Context, name: str) -> Binding:
        needed = permit("mcp" if name not in tools or profile == "truekeep" else f"mcp_{profile}", name)
        binding = await binder(context, needed)
        needed.require(binding.allowed)
        return binding

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=described)

    async def call_tool(context: Context, params: CallToolRequestParams) -> Result:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message="There is no such tool.")
        result = await carried_out(tool, context, params)
        if isinstance(result, CallToolResult):
            note(params.name, "failed" if result.is_error else "done")
        else:
            note(params.name, "asked")
        return result

    async def carried_out(tool: TruekeepTool, context: Context, params: CallToolRequestParams) -> Result:
        try:
            call = PersonCall(context, await bound(context, params.name), params)
            if params.request_state is not None:
                return await questions.resume(call)
            return await tool.run(call, questions)
        except TruekeepError as error:
            return answers.failed(error)
        except Exception:
            # What went wrong inside is for the log; the model is told only that it did.
            log_event("mcp.failed", ERROR)
            return answers.failed({"error": "The tool failed.", "code": "internal", "hint": "Try it once more."})

    async def list_resources(_: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=_resources(profile))

    async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        if params.uri not in (SNAPSHOT_URI, WAITING_URI):
            raise MCPError(code=INVALID_PARAMS, message="There is no such resource.")
        try:
            binding = await bound(context, params.uri)
            if params.uri == WAITING_URI:
                told = await binding.as_host(lambda keep: answers.waiting(keep.review.noted()))
            else:
                told = await binding.as_agent(lambda handle: handle.snapshot().text)
        except TruekeepError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error), data=error.as_dict()) from None
        text = TextResourceContents(uri=params.uri, mime_type="text/plain", text=told)
        return ReadResourceResult(contents=[text])

    server: Server[Any] = Server(
        "truekeep",
        version=__version__,
        title="truekeep",
        instructions=said["instructions"],
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        get_tool_input_schema={tool.name: tool.input_schema for tool in described}.get,
    )
    server.middleware.append(unrepeated)
    return server


async def unrepeated(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Have no error of the protocol repeat what was sent: the library puts an unknown method's name into it."""
    try:
        return await call_next(ctx)
    except MCPError as error:
        told = error.error
        kept = sanitised_json(told.data) if isinstance(told.data, dict) else None
        raise MCPError(code=told.code, message=fence.one_line(told.message), data=kept) from None


PROFILES = ("truekeep", "reference")
"""The tools a server can have: truekeep's own, or those of the reference memory server."""


@cache
def _tools(profile: str) -> dict[str, TruekeepTool]:
    if profile == "reference":
        from truekeep.serve.mcp import reference  # noqa: PLC0415 - few start it so

        return reference.TOOLS
    return TOOLS


def lists_of(profile: str) -> dict[str, Any]:
    """What is answered to requests for lists, as it is sent: ``scripts/mcp-lists`` writes it down for the door."""
    answers_to = {
        "tools/list": ListToolsResult(tools=_described(profile)),
        "resources/list": ListResourcesResult(resources=_resources(profile)),
    }
    return {name: one.model_dump(by_alias=True, exclude_none=True, mode="json") for name, one in answers_to.items()}


def _resources(profile: str) -> list[Resource]:
    said = words(profile)
    named = ((SNAPSHOT_URI, said["snapshot"]), (WAITING_URI, said["waiting"]))
    return [Resource(uri=uri, mime_type="text/plain", **one) for uri, one in named]


@cache
def _described(profile: str) -> list[Tool]:
    tools = _tools(profile)
    return [_tool(name, tools[name], said) for name, said in words(profile)["tools"].items()]


def _tool(name: str, tool: TruekeepTool, said: dict[str, Any]) -> Tool:
    return Tool(
        name=name,
        title=said["title"],
        description=said["description"],
        input_schema=_plain(tool.takes.model_json_schema()),
        output_schema=_plain(tool.gives.model_json_schema(mode="serialization")),
        annotations=ToolAnnotations.model_validate({"title": said["title"], **said["hints"]}),
    )


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without the names of our classes and their docstrings, which cost a model tokens and tell it nothing."""
    kept = {name: value for name, value in schema.items() if name != "title"}
    if "properties" in kept:
        kept.pop("description", None)
        kept["properties"] = {name: _plain(value) for name, value in kept["properties"].items()}
    if "$defs" in kept:
        kept["$defs"] = {name: _plain(value) for name, value in kept["$defs"].items()}
    return kept
