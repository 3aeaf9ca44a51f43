"""Contents of Google's Agent Development Kit in the mediator's words."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.adk.events import Event
from google.adk.flows.llm_flows.context._fencing import OTHER_AGENT_CONTEXT_PREAMBLE, _present_other_agent_message
from google.adk.tools import AgentTool, BaseTool, FunctionTool
from google.genai import types

from truekeep.adapters.calls import ContextEntry, EntryKind, OfferedTool, as_json

CONFIRMATION = "adk_request_confirmation"


def entries_of(contents: Iterable[types.Content], events: Sequence[Event] = ()) -> list[ContextEntry]:
    """Contents as parts of a context. ``events`` are the session's, in which other agents' words are looked up."""
    found = [entry for content in contents for entry in _entries(content)]
    if not any(entry.text.startswith(OTHER_AGENT_CONTEXT_PREAMBLE) for entry in found):
        return found
    told = dict(_retold(events))
    return [one for entry in found for one in told.get(entry.text, [entry])]


def _retold(events: Iterable[Event]) -> Iterable[tuple[str, list[ContextEntry]]]:
    """What other agents said and read, as it is retold to an agent, with what it was when it happened."""
    for event in events:
        for thoughts in (False, True):
            shown = _present_other_agent_message(event, include_thoughts=thoughts)
            if event.content is not None and shown is not None and shown.content is not None:
                yield _text(shown.content.parts), _entries(event.content)


def _entries(content: types.Content) -> list[ContextEntry]:
    parts = content.parts or []
    results = [
        ContextEntry(
            EntryKind.RESULT, text_of_response(one.function_response.response), tool=one.function_response.name
        )
        for one in parts
        if one.function_response is not None and one.function_response.name != CONFIRMATION
    ]
    text, others = _text(parts), tuple(f"[{kind_of(one)}]" for one in parts if kind_of(one))
    if content.role == "model":
        said = [ContextEntry(EntryKind.AGENT, text)] if text else []
        return [*said, *results, *(ContextEntry(EntryKind.OTHER, one) for one in others)]
    kind = EntryKind.OWNER if content.role in ("user", None) else EntryKind.OTHER
    return [*([ContextEntry(kind, text, attached=others)] if text or others else []), *results]


def _text(parts: Iterable[types.Part] | None) -> str:
    return "\n".join(one.text for one in parts or () if one.text and not one.thought)


def kind_of(part: types.Part) -> str:
    """What a part is that is neither text, nor a call, nor a result: a file, or code that ran elsewhere."""
    known = {"text", "thought", "thought_signature", "function_call", "function_response", "part_metadata"}
    return ", ".join(name for name in part.model_fields_set - known if getattr(part, name) is not None)


def said_in(content: types.Content | None, grounding: Any) -> tuple[str, str]:
    """What a model said, and what came with it from the provider's side."""
    parts = (content.parts if content is not None else None) or []
    outside = [part.model_dump_json(exclude_none=True) for part in parts if kind_of(part)]
    return _text(parts), "\n".join([*outside, *([str(grounding)] if grounding is not None else [])])


def plain_result(result: Any) -> Any:
    """What a tool gave, without the box that the framework puts around everything that is no object."""
    if isinstance(result, Mapping):
        return result["result"] if set(result) == {"result"} else dict(result)
    return result


def text_of_response(response: Any) -> str:
    """A result as the model is shown it."""
    plain = plain_result(response)
    return plain if isinstance(plain, str) else as_json(plain)


def runs_elsewhere(tool: Any) -> str:
    """What of a request's tool the provider runs itself: everything that is no declaration of a function."""
    if not isinstance(tool, types.Tool):
        return str(getattr(tool, "name", None) or type(tool).__name__)
    given = tool.model_fields_set - {"function_declarations"}
    return ", ".join(sorted(name for name in given if getattr(tool, name) is not None))


def offered(tool: BaseTool) -> OfferedTool:
    """A tool as the model is shown it."""
    declared = tool._get_declaration()
    schema = declared.model_dump(mode="json", exclude_none=True) if declared is not None else {}
    return OfferedTool(tool.name, tool.description, schema, _is_programs(tool))


def _is_programs(tool: BaseTool) -> bool:
    """Whether a definition stands in the program: a function's docstring, an agent's, or words in the tool's class."""
    if isinstance(tool, AgentTool):
        return True
    wanted = " ".join(tool.description.split())
    if isinstance(tool, FunctionTool):
        return wanted in " ".join((inspect.getdoc(tool.func) or "").split())
    begins = getattr(type(tool).__init__, "__code__", None)
    return any(isinstance(one, str) and wanted == " ".join(one.split()) for one in getattr(begins, "co_consts", ()))
