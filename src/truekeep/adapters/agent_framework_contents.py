"""Messages and contents of the Microsoft Agent Framework in the mediator's words."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from agent_framework import Content, FunctionTool, Message
from pydantic_core import to_jsonable_python

from truekeep.adapters.calls import AgentCall, ContextEntry, EntryKind, OfferedTool, as_json

_OWN = frozenset({"text", "text_reasoning", "function_call", "usage"})
"""What a model itself puts out; its calls are judged when they are made."""
_CONTROLS = frozenset({"function_approval_request", "function_approval_response", "usage", "text_reasoning"})
"""What stands in messages and is nobody's text. Whom an approval helps is judged where it is used."""


def entries_of(messages: Iterable[Message]) -> list[ContextEntry]:
    """Messages as parts of a context."""
    return [entry for message in messages for entry in _entries(message)]


def _entries(message: Message) -> list[ContextEntry]:
    results = [ContextEntry(EntryKind.RESULT, result_text(one)) for one in message.contents if _is_result(one)]
    others = [_named(one) for one in message.contents if not _is_result(one) and one.type not in _CONTROLS]
    texts, rest = [text for text, _ in others if text], tuple(more for _, more in others if more)
    if message.role == "assistant":
        said = [ContextEntry(EntryKind.AGENT, "\n".join(texts))] if texts else []
        return [*said, *results, *(ContextEntry(EntryKind.OTHER, one) for one in rest)]
    # A message with an author's name is somebody's: another agent's in a workflow, or one of several people's.
    kind = EntryKind.OWNER if message.role == "user" and not message.author_name else EntryKind.OTHER
    own = [ContextEntry(kind, "\n".join(texts), attached=rest)] if texts or rest else []
    return [*own, *results]


def _is_result(content: Content) -> bool:
    return bool(content.type == "function_result")


def _named(content: Content) -> tuple[str, str]:
    """A content's text, or what it is if it is none. A call is nobody's text."""
    if content.type == "text":
        return content.text or "", ""
    if content.type == "function_call" and not _is_run_elsewhere(content):
        return "", ""
    return "", _told(content)


def _told(content: Content) -> str:
    return as_json({name: one for name, one in content.to_dict().items() if name != "additional_properties"})


def _is_run_elsewhere(call: Content) -> bool:
    return bool(call.hosted or call.informational_only)


def said_in(contents: Iterable[Content]) -> tuple[str, str]:
    """What a model said in its answer, and what came with it from the provider's side."""
    given = list(contents)
    texts = [one.text for one in given if one.type == "text" and one.text]
    outside = [one for one in given if one.type not in _OWN or (one.type == "function_call" and _is_run_elsewhere(one))]
    return "\n".join(texts), "\n".join(_told(one) for one in outside)


def calls_in(contents: Iterable[Content], tools: Mapping[str, FunctionTool]) -> list[AgentCall]:
    """The calls that a model makes in its answer, as the framework will make them."""
    calls = [one for one in contents if one.type == "function_call" and not _is_run_elsewhere(one)]
    return [AgentCall(str(one.call_id), str(one.name), _arguments(one, tools.get(str(one.name)))) for one in calls]


def _arguments(call: Content, tool: FunctionTool | None) -> object:
    if isinstance(call.arguments, str):
        try:
            given = json.loads(call.arguments or "{}")
        except (ValueError, RecursionError):
            return call.arguments
    else:
        given = call.arguments or {}
    return plain_arguments(tool, given)


def plain_arguments(tool: FunctionTool | None, arguments: object) -> object:
    """Arguments as the tool's own model reads them, in JSON's types; as they are if it cannot."""
    try:
        prepared = tool._prepare_arguments(arguments) if tool is not None else arguments
        return to_jsonable_python(prepared)
    except Exception:  # the framework refuses them as well, or they are denied for being no JSON
        return arguments


def result_text(content: Content) -> str:
    """A result as the model is shown it."""
    if content.items:
        return text_of_items(content.items)
    return content.result if isinstance(content.result, str) else as_json(content.result)


def text_of_items(items: Sequence[Any]) -> str:
    """The items of a result as text; what is no text is named by its kind."""
    return "\n".join((one.text or "") if one.type == "text" else f"[{one.type}]" for one in items)


def items_of(result: Any) -> list[Content]:
    """A result as the framework will put it into the conversation."""
    return list(Content.from_function_result("", result=result).items or [])


def structured(items: Sequence[Content]) -> Any:
    """What a tool gave: an object or a list if it is the JSON of one, else text."""
    text = text_of_items(items)
    if len(items) == 1 and text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def offered(tool: FunctionTool) -> OfferedTool:
    """A tool as the model is shown it."""
    return OfferedTool(tool.name, tool.description, tool.parameters(), _is_programs(tool))


def _is_programs(tool: FunctionTool) -> bool:
    """Whether a definition stands in the program: a function with its words, or an agent as a tool."""
    if agent_behind(tool) is not None:
        return True
    is_servers = any(name.startswith("_mcp") for name in tool.additional_properties or {})
    return not is_servers and not tool._schema_supplied and _is_written(tool.func, tool.description)


@lru_cache(maxsize=512)
def _is_written(function: Any, words: str) -> bool:
    """Whether a description is the function's docstring, or a literal in its source, such as its decorator's."""
    wanted = " ".join(words.split())
    if wanted in " ".join((inspect.getdoc(function) or "").split()):
        return True
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    literals = (one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return any(wanted == " ".join(one.split()) for one in literals)


def agent_behind(tool: FunctionTool) -> Any:
    """The agent that ``as_tool`` made this tool of, if it did."""
    function = tool.func
    if getattr(function, "__qualname__", "") != "BaseAgent.as_tool.<locals>._agent_wrapper":
        return None
    return inspect.getclosurevars(function).nonlocals.get("self") if inspect.isfunction(function) else None
