"""Messages and tools of Pydantic AI in the mediator's words."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_ai import DeferredToolRequests, Tool, ToolReturn
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from truekeep.adapters.calls import ContextEntry, EntryKind, OfferedTool, as_json

_MOST_DEFINITIONS = 1_024
"""Definitions that are kept at hand; one more is put together again."""
FIXED_WORDS = frozenset(
    {
        "Final result processed.",
        "Output tool not used - a final result was already processed.",
        "Output tool not used - output function execution failed.",
        "Output tool not used - output failed validation.",
        "Tool not executed - a final result was already processed.",
    }
)
"""Results that say nothing but that the framework went on. They are compared whole."""
FRAMEWORKS_RETRIES = frozenset({"validation_error", "unknown_tool", "unavailable_tool"})
"""Why the framework itself asks the model to try again. What a tool says of its failure is the tool's."""


def entries_of(messages: Iterable[Any]) -> list[ContextEntry]:
    """A history as parts of a context; nothing for what says nothing."""
    found = [entry for message in messages for entry in _of_message(message)]
    return [entry for entry in found if entry.whole and entry.text not in FIXED_WORDS]


def _of_message(message: Any) -> list[ContextEntry]:
    if isinstance(message, ModelResponse):
        outside = [ContextEntry(EntryKind.OTHER, as_text(part)) for part in outside_of(message)]
        return [ContextEntry(EntryKind.AGENT, text_of(message)), *outside]
    if isinstance(message, ModelRequest):
        return [_of_part(part) for part in message.parts]
    return [ContextEntry(EntryKind.OTHER, as_text(message))]


def _of_part(part: Any) -> ContextEntry:
    if isinstance(part, UserPromptPart):
        return owners(part.content)
    if isinstance(part, ToolReturnPart):
        return ContextEntry(EntryKind.RESULT, shown_result(part), tool=part.tool_name)
    if isinstance(part, SystemPromptPart | RetryFeedbackPart):
        # Told by the program or the framework: the capability says so of those that it saw being made.
        return ContextEntry(EntryKind.RESULT, words_of(part))
    return ContextEntry(EntryKind.OTHER, as_text(part))


def owners(content: Any) -> ContextEntry:
    """A user's prompt; what is no text in it stands beside the text."""
    parts = [content] if isinstance(content, str) else list(content)
    texts = [part if isinstance(part, str) else part.content for part in parts if isinstance(part, str | TextContent)]
    others = [part for part in parts if not isinstance(part, str | TextContent)]
    return ContextEntry(EntryKind.OWNER, "\n".join(texts), attached=tuple(f"[{_kind(part)}]" for part in others))


def text_of(response: Any) -> str:
    """What the model itself said."""
    return "\n".join(part.content for part in response.parts if isinstance(part, TextPart) and part.content)


def outside_of(response: Any) -> list[Any]:
    """What of an answer the provider put there: results of tools that it ran itself, files, and whatever is new."""
    return [part for part in response.parts if not isinstance(part, TextPart | ThinkingPart | ToolCallPart)]


def calls_of(messages: Iterable[Any]) -> dict[str, Any]:
    """The calls of a history by their ids."""
    parts = [part for message in messages if isinstance(message, ModelResponse) for part in message.parts]
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolCallPart)}


def shown_result(part: Any) -> str:
    """A tool's result as the model is shown it; a file is named by its kind."""
    return "\n".join([part.model_response_str(wrap_if_error=False), *(f"[{_kind(one)}]" for one in part.files)])


def shown_of(call: Any, result: Any) -> tuple[Any, str]:
    """What a tool gave, structured if it is, and how the model will be shown it."""
    value = result.return_value if isinstance(result, ToolReturn) else result
    text = shown_result(ToolReturnPart(tool_name=call.name, content=value, tool_call_id=call.id or "none"))
    plain = value if isinstance(value, str) else jsonable(value)
    return plain if isinstance(plain, str | dict | list) else text, text


def words_of(part: Any) -> str:
    """The text of a part that the program or the framework wrote."""
    return part.content if isinstance(part.content, str) else as_json(jsonable(part.content))


def is_frameworks(part: Any) -> bool:
    """Whether the framework itself wrote a part of the run that is under way."""
    if isinstance(part, RetryFeedbackPart):
        return part.retry is not None and part.retry.cause != "model_retry"
    return isinstance(part, ToolReturnPart) and part.retry is not None and part.retry.cause in FRAMEWORKS_RETRIES


def one_spelling(arguments: object) -> object:
    """The arguments in one spelling, so that a call is recognised in each of the framework's hooks."""
    try:
        return as_json(json.loads(arguments or "{}")) if isinstance(arguments, str) else as_json(arguments or {})
    except ValueError:
        return arguments


def jsonable(value: Any) -> Any:
    """A value in JSON's own types; what has none is what it prints as."""
    return to_jsonable_python(value, serialize_unknown=True)


def validated(tool: Any, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the tool would be given for arguments that a model wrote; nothing if they do not fit it."""
    try:
        return dict(tool.args_validator.validate_python(dict(arguments)))
    except Exception:  # a validator is the program's code and may raise anything
        return None


def source_of(tool: Any) -> Any:
    """The tool itself, without the toolsets around it."""
    while hasattr(tool, "source_tool"):
        tool = tool.source_tool
    return tool


class ToolOrigins:
    """Which tools' definitions are the program's. What the framework makes of a function is worked out once."""

    def __init__(self) -> None:
        self._made: OrderedDict[int, tuple[Any, Any, object]] = OrderedDict()

    def is_programs(self, tool: Any) -> bool:
        """Whether a definition is what the framework makes of a function of the program's and its docstring."""
        schema: Any = getattr(getattr(source_of(tool), "call_func", None), "__self__", None)
        if not hasattr(schema, "function"):
            return False
        known = self._made.get(id(schema))  # which is held as well, so that no other one gets its number
        if known is None or known[0] is not schema or known[1] is not schema.function:
            known = self._made[id(schema)] = schema, schema.function, _made_of(schema)
            while len(self._made) > _MOST_DEFINITIONS:
                self._made.popitem(last=False)
        return known[2] == (tool.tool_def.description, tool.tool_def.parameters_json_schema)


def _made_of(schema: Any) -> object:
    """The description and parameters that the framework makes of a function; nothing if it can make none."""
    try:
        made = Tool(schema.function, takes_ctx=schema.takes_ctx)
    except Exception:  # no function from which a definition could be made
        return None
    return made.description, made.function_schema.json_schema


def offered(definition: ToolDefinition, *, from_program: bool) -> OfferedTool:
    """A tool as the model is shown it."""
    hints = (definition.metadata or {}).get("annotations") or {}
    reads = hints.get("readOnlyHint") if isinstance(hints, Mapping) else None
    return OfferedTool(
        definition.name,
        definition.description or "",
        definition.parameters_json_schema,
        from_program,
        reads if reads is True else None,
    )


def can_stop(agent: Any) -> bool:
    """Whether an agent may end a run with calls that wait for an approval."""
    kinds = getattr(agent, "output_type", None)
    return DeferredToolRequests in (kinds if isinstance(kinds, Sequence) else getattr(kinds, "__args__", (kinds,)))


def as_text(part: Any) -> str:
    """A part that nothing more is known of."""
    return as_json(jsonable(part))


def _kind(part: Any) -> str:
    return str(getattr(part, "kind", None) or type(part).__name__)
