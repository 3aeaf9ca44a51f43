"""A chat client of the framework's that plays a script."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
    ResponseStream,
)

from truekeep.adapters.scripted import ModelScript, ScriptedTool, ShownMessage


class ScriptedClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Its function loop and its middleware are the framework's own."""

    def __init__(self, script: ModelScript, **options: Any) -> None:
        super().__init__(**options)
        self.script = script
        self.contents: list[list[Message]] = []

    def _inner_get_response(self, *, messages: Sequence[Message], stream: bool, options: Any, **kwargs: Any) -> Any:  # noqa: ARG002
        self.contents.append(list(messages))
        instructions = options.get("instructions")
        system = [ShownMessage("system", instructions)] if instructions else []
        turn = self.script.next([*system, *(one for message in messages for one in shown(message))])
        number = len(self.script.shown)
        answer = [
            Content.from_function_call(
                f"call-{id(self.script)}-{number}-{place}", one.name, arguments=_text(one.arguments)
            )
            for place, one in enumerate(turn.calls)
        ] or [Content.from_text(turn.text)]
        if stream:
            return ResponseStream(_updates(answer), finalizer=ChatResponse.from_updates)
        return _whole(ChatResponse(messages=[Message("assistant", answer)]))


async def _whole(response: ChatResponse) -> ChatResponse:
    return response


async def _updates(contents: Sequence[Content]) -> AsyncIterable[ChatResponseUpdate]:
    for content in contents:
        yield ChatResponseUpdate(contents=[content], role="assistant", message_id="message")


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def shown(message: Message) -> list[ShownMessage]:
    """A message as the model is shown it."""
    results = [one for one in message.contents if one.type == "function_result"]
    if results:
        return [ShownMessage("tool", str(one.result)) for one in results]
    return [ShownMessage(message.role, message.text)] if message.text else []


def framework_tool(tool: ScriptedTool) -> FunctionTool:
    """A scripted tool as one of the framework's; a foreign one as an MCP server's."""

    def run(**arguments: Any) -> str:
        return tool.run(arguments)

    schema = {"type": "object", "properties": {name: {} for name in tool.parameters}}
    if tool.is_foreign:
        properties = {"_mcp_remote_name": tool.name, "_mcp_is_tool": True}
        return FunctionTool(
            name=tool.name, description=tool.description, func=run, input_model=schema, additional_properties=properties
        )
    names = ", ".join(f"{name}: object" for name in tool.parameters)
    given = ", ".join(f"{name!r}: {name}" for name in tool.parameters)
    space: dict[str, Any] = {"tool": tool}
    source = f"def {tool.name}({names}) -> str:\n    {tool.description!r}\n    return tool.run({{{given}}})"
    exec(source, space)  # noqa: S102 - the framework reads a tool's signature
    return FunctionTool(name=tool.name, description=tool.description, func=space[tool.name])
