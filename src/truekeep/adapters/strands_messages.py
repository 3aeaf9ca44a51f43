"""Messages and tools of Strands in the mediator's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from strands import tool
from strands.agent._agent_as_tool import _AgentAsTool
from strands.tools.decorator import DecoratedFunctionTool
from strands.tools.registry import ToolRegistry
from strands.tools.structured_output.structured_output_tool import StructuredOutputTool

from truekeep.adapters.calls import AgentCall, ContextEntry, EntryKind, OfferedTool, as_json

_AGENTS_OWN = frozenset({"text", "toolUse", "reasoningContent", "cachePoint"})
"""Blocks of an answer that the model itself put out; its calls are judged when they are made."""
_SWARM = "strands.multiagent.swarm"


def entries_of(messages: Iterable[Any]) -> list[ContextEntry]:
    """Messages as parts of a context; nothing for what says nothing."""
    return [entry for message in messages for entry in _of_message(message) if entry.whole]


def _of_message(message: Mapping[str, Any]) -> list[ContextEntry]:
    content = blocks_of(message)
    if message.get("role") == "assistant":
        outside = [ContextEntry(EntryKind.OTHER, as_json(block)) for block in outside_of(message)]
        return [ContextEntry(EntryKind.AGENT, text_of(content)), *outside]
    results = [
        ContextEntry(EntryKind.RESULT, text_of_result(one["toolResult"])) for one in content if "toolResult" in one
    ]
    return [*results, owners([one for one in content if "toolResult" not in one])]


def owners(content: Any) -> ContextEntry:
    """What a user's message says; what is no text in it stands beside the text."""
    blocks = [{"text": content}] if isinstance(content, str) else list(content or ())
    kinds = [next(iter(block), "nothing") for block in blocks if "text" not in block and "cachePoint" not in block]
    return ContextEntry(EntryKind.OWNER, text_of(blocks), attached=tuple(f"[{kind}]" for kind in kinds))


def blocks_of(message: Mapping[str, Any]) -> list[Any]:
    """The blocks of a message."""
    return list(message.get("content") or ())


def text_of(blocks: Iterable[Any]) -> str:
    """The text in blocks."""
    return "\n".join(block["text"] for block in blocks if block.get("text"))


def outside_of(message: Mapping[str, Any]) -> list[Any]:
    """What of an answer is neither the model's words nor its calls: citations of a search, and whatever is new."""
    return [block for block in blocks_of(message) if not _AGENTS_OWN.intersection(block)]


def calls_of(message: Mapping[str, Any]) -> list[AgentCall]:
    """The calls of an answer."""
    return [call_of(block["toolUse"]) for block in blocks_of(message) if "toolUse" in block]


def call_of(use: Mapping[str, Any]) -> AgentCall:
    """A call as the model made it."""
    return AgentCall(str(use.get("toolUseId") or ""), str(use.get("name") or ""), use.get("input") or {})


def text_of_result(result: Mapping[str, Any]) -> str:
    """A tool's result as the model is shown it; what is neither text nor JSON is named by its kind."""
    return "\n".join(_of_block(block) for block in blocks_of(result))


def structured_result(result: Mapping[str, Any]) -> Any:
    """A tool's result, structured if it is."""
    content = blocks_of(result)
    whole = content[0].get("json") if len(content) == 1 else None
    return whole if isinstance(whole, dict | list) else text_of_result(result)


def _of_block(block: Mapping[str, Any]) -> str:
    if "text" in block:
        return str(block["text"])
    return as_json(block["json"]) if "json" in block else f"[{next(iter(block), 'nothing')}]"


def text_of_prompt(prompt: Any) -> str:
    """A system prompt as text."""
    return prompt if isinstance(prompt, str) else text_of(prompt or ())


def with_memories(messages: list[Any], block: str) -> list[Any]:
    """The messages with the memories as the last block of the owner's last message, as the framework puts context."""
    place = next((at for at in reversed(range(len(messages))) if messages[at].get("role") == "user"), None)
    remembered: dict[str, Any] = {"text": block}
    if place is None:
        return [*messages, {"role": "user", "content": [remembered]}]
    told = {**messages[place], "content": [*blocks_of(messages[place]), remembered]}
    return [*messages[:place], told, *messages[place + 1 :]]


def offered(spec: Mapping[str, Any], known: Any) -> OfferedTool:
    """A tool as the model is shown it, and the program's tool of that name."""
    schema = spec.get("inputSchema") or {}
    hints = getattr(getattr(known, "mcp_tool", None), "annotations", None)
    reads = getattr(hints, "readOnlyHint", None)
    return OfferedTool(
        str(spec.get("name")),
        str(spec.get("description") or ""),
        schema.get("json", schema),
        _is_programs(spec, known),
        True if reads is True else None,
    )


def _is_programs(spec: Mapping[str, Any], known: Any) -> bool:
    """Whether a definition is what the framework makes of a function, an agent or an output type of the program's."""
    if isinstance(known, _AgentAsTool | StructuredOutputTool):
        return bool(known.tool_spec.get("description") == spec.get("description"))
    if not isinstance(known, DecoratedFunctionTool):
        return False
    made = _definitions.get(known)
    if made is None or made[0] is not known._tool_func:
        made = _definitions[known] = known._tool_func, _made_of(known)
    return all(part in made[1] and made[1][part] == spec.get(part) for part in ("description", "inputSchema"))


_definitions: WeakKeyDictionary[DecoratedFunctionTool[..., Any], tuple[Any, Mapping[str, Any]]] = WeakKeyDictionary()
"""What the framework makes of a tool's function, worked out once: tools are shown again at each step."""


def _made_of(known: Any) -> Mapping[str, Any]:
    """The definition that the framework makes of a tool's function; empty if it can make none."""
    try:
        made = tool(known._tool_func, context=known._metadata._context_param or False).tool_spec
        ToolRegistry().validate_tool_spec(made)  # it also fills in what a schema leaves out
    except Exception:  # no function from which a definition could be made
        return {}
    return dict(made)


def gives_output(known: Any) -> bool:
    """Whether a tool only hands the model's answer to the program in the shape that it asked for."""
    return isinstance(known, StructuredOutputTool)


def hands_over(known: Any) -> bool:
    """Whether a tool is the framework's own by which agents of a swarm hand over."""
    function = getattr(known, "_tool_func", None)
    return isinstance(known, DecoratedFunctionTool) and getattr(function, "__module__", "") == _SWARM


def hosted_in(config: Any) -> str:
    """The setting of a model by which its provider runs tools itself; empty if there is none."""
    for name, value in config.items() if isinstance(config, Mapping) else ():
        is_tools = (name.endswith("tools") or name in ("mcp_servers", "web_search_options")) and not isinstance(
            value, str | bool
        )
        if is_tools and value:
            return str(name)
        if found := hosted_in(value):
            return found
    return ""
