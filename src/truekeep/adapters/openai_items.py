"""Items of the OpenAI Agents SDK in the mediator's words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agents import FunctionTool

from truekeep.adapters.calls import ContextEntry, EntryKind, OfferedTool, as_json

OWN_ITEMS = frozenset({"function_call", "reasoning", "handoff_call"})
"""Items that the model itself put out; its calls are judged when they are made."""


def offered(tool: FunctionTool) -> OfferedTool:
    """A tool as the model is shown it."""
    hints = tool.mcp_annotations
    reads = getattr(hints, "readOnlyHint", None) or getattr(hints, "read_only_hint", None)
    is_mcp = tool._mcp_tool_binding is not None or tool._mcp_title is not None or hints is not None
    return OfferedTool(
        tool.name, tool.description, tool.params_json_schema, not is_mcp and _is_programs(tool), reads is True or None
    )


def _is_programs(tool: FunctionTool) -> bool:
    """Whether the description stands in the program: as the docstring of the tool's function, or as an agent's."""
    if tool._is_agent_tool:
        return True
    written = getattr(function_of(tool), "__doc__", None) or ""
    return " ".join(tool.description.split()) in " ".join(written.split())


def function_of(tool: FunctionTool) -> Any:
    """The Python function behind a tool, if there is one."""
    try:
        return tool.__wrapped__
    except AttributeError:
        return getattr(tool.on_invoke_tool, "__truekeep_function__", None)


def one_spelling(arguments: object) -> object:
    """The arguments in one spelling, so that a call is recognised in each of the framework's hooks."""
    try:
        return as_json(json.loads(arguments)) if isinstance(arguments, str) else as_json(arguments)
    except ValueError:
        return arguments


def plain_result(result: Any) -> Any:
    """A result as it is reported: structured if it is."""
    return result if isinstance(result, str | dict | list) else str(result)


def kind_of(item: Any) -> str:
    """The type of an item."""
    return str(item.get("type") or ("message" if "role" in item else "")) if isinstance(item, Mapping) else ""


def entry_of(item: Any) -> ContextEntry | None:
    """An item as a part of a context; nothing for what the model itself put out."""
    kind = kind_of(item)
    if kind in OWN_ITEMS:
        return None
    if kind == "function_call_output":
        return ContextEntry(EntryKind.RESULT, text_of(item.get("output")))
    if kind == "message" and item.get("role") == "user":
        content = item.get("content")
        parts = content if isinstance(content, list) else [content]
        texts = [text_of(part) for part in parts if isinstance(part, str) or part.get("type") == "input_text"]
        others = [
            str(part.get("type")) for part in parts if not isinstance(part, str) and part.get("type") != "input_text"
        ]
        return ContextEntry(EntryKind.OWNER, "\n".join(texts), attached=tuple(f"[{one}]" for one in others))
    if kind == "message" and item.get("role") == "assistant":
        return ContextEntry(EntryKind.AGENT, text_of(item.get("content")))
    return ContextEntry(EntryKind.OTHER, text_of(item.get("content")) or as_json(item))


def text_of(content: Any) -> str:
    """An item's content as text; what is no text is named by its kind."""
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    if isinstance(content, Mapping):
        return str(content.get("text") or f"[{content.get('type')}]")
    return "" if content is None else str(content)
