"""A model of the framework's that plays a script."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.tools import BaseTool, FunctionTool
from google.genai import types

from truekeep.adapters.scripted import ModelScript, ScriptedTool, ShownMessage


class ScriptedLlm(BaseLlm):
    """Gives no ids to its calls, as Gemini does."""

    model: str = "scripted"
    script: Any = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        script: ModelScript = self.script
        system = str(llm_request.config.system_instruction or "")
        shown = [ShownMessage("system", system)] if system else []
        turn = script.next([*shown, *(one for content in llm_request.contents for one in _shown(content))])
        calls = [types.Part.from_function_call(name=one.name, args=_object(one.arguments)) for one in turn.calls]
        parts = calls or [types.Part.from_text(text=turn.text)]
        if stream:
            for part in parts:
                yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def _object(arguments: Any) -> dict[str, Any]:
    assert not isinstance(arguments, str)  # the framework has no way to carry them
    return dict(arguments)


def _shown(content: types.Content) -> list[ShownMessage]:
    found = []
    for part in content.parts or []:
        if part.function_response is not None:
            given = part.function_response.response or {}
            found.append(ShownMessage("tool", str(given["result"] if set(given) == {"result"} else given)))
        elif part.text:
            found.append(ShownMessage("assistant" if content.role == "model" else "user", part.text))
    return found


class ServersTool(BaseTool):
    """A tool whose description somebody else wrote."""

    def __init__(self, tool: ScriptedTool) -> None:
        super().__init__(name=tool.name, description=tool.description)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)


def framework_tool(tool: ScriptedTool, **options: Any) -> BaseTool:
    """A scripted tool as one of the framework's."""
    if tool.is_foreign:
        return ServersTool(tool)
    names = ", ".join(f"{name}: typing.Any" for name in tool.parameters)
    given = ", ".join(f"{name!r}: {name}" for name in tool.parameters)
    space: dict[str, Any] = {"tool": tool, "typing": __import__("typing")}
    source = f"def {tool.name}({names}) -> str:\n    {tool.description!r}\n    return tool.run({{{given}}})"
    exec(source, space)  # noqa: S102 - the framework reads a tool's signature
    return FunctionTool(space[tool.name], **options)
