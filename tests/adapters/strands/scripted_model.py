"""The script as a model of Strands, and scripted tools as its tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from strands import tool
from strands.models import Model
from strands.types.tools import AgentTool

from truekeep.adapters.scripted import ModelScript, ScriptedFailure, ScriptedTool, ShownMessage


class ScriptedModel(Model):
    """A model that plays a script, streamed in small pieces."""

    def __init__(self, script: ModelScript, **config: Any) -> None:
        self.script = script
        self.config = config

    def update_config(self, **model_config: Any) -> None:
        self.config.update(model_config)

    def get_config(self) -> Any:
        return self.config

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        system = args[1] if len(args) > 1 else kwargs.get("system_prompt")
        turn = self.script.next([*([ShownMessage("system", str(system))] if system else []), *shown(messages)])
        number = len(self.script.shown)
        yield {"messageStart": {"role": "assistant"}}
        for piece in (turn.text[:3], turn.text[3:]):
            if piece:
                yield {"contentBlockDelta": {"delta": {"text": piece}}}
        if turn.text:
            yield {"contentBlockStop": {}}
        for place, call in enumerate(turn.calls):
            start = {"toolUse": {"name": call.name, "toolUseId": f"call-{id(self.script)}-{number}-{place}"}}
            written = call.arguments if isinstance(call.arguments, str) else json.dumps(dict(call.arguments))
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": written}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if turn.calls else "end_turn"}}


def shown(messages: Any) -> list[ShownMessage]:
    found = []
    for message in messages:
        for block in message["content"]:
            if "toolResult" in block:
                content = block["toolResult"]["content"]
                found.append(ShownMessage("tool", "\n".join(str(one.get("text", one)) for one in content)))
            elif "text" in block:
                found.append(ShownMessage(message["role"], block["text"]))
    return found


class ForeignTool(AgentTool):
    """A tool that somebody else describes."""

    def __init__(self, inner: ScriptedTool) -> None:
        super().__init__()
        self.inner = inner

    @property
    def tool_name(self) -> str:
        return self.inner.name

    @property
    def tool_spec(self) -> Any:
        schema = {"json": {"type": "object", "properties": {}}}
        return {"name": self.inner.name, "description": self.inner.description, "inputSchema": schema}

    @property
    def tool_type(self) -> str:
        return "foreign"

    def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise AssertionError(args or kwargs)


def framework_tool(given: ScriptedTool) -> Any:
    if given.is_foreign:
        return ForeignTool(given)
    names = ", ".join(f"{name}: object" for name in given.parameters)
    arguments = ", ".join(f"{name!r}: {name}" for name in given.parameters)
    space: dict[str, Any] = {"given": given, "ScriptedFailure": ScriptedFailure}
    source = f"def {given.name}({names}) -> str:\n    {given.description!r}\n    return given.run({{{arguments}}})"
    exec(source, space)  # noqa: S102 - the framework reads a tool's signature
    return tool(space[given.name])
