"""Arguments: what each tool takes, each with a cap. None of it names a keep, a channel, a role or a standing."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from truekeep.config import TEXT_CAP
from truekeep.errors import InvalidRequest, told_names

MOST_QUERY, MOST_K, MOST_LISTED, MOST_SAVED = 2_000, 50, 100, 20
"""A model asks in a sentence, and all that it is shown costs it context."""
_MOST_ID = 64
"""Longer than any id; it is repeated in what the model reads."""

_Text = Annotated[
    str,
    Field(min_length=1, max_length=TEXT_CAP, description="One fact or preference, in a plain sentence or two."),
]
_Id = Annotated[str, Field(min_length=1, max_length=_MOST_ID, description="The memory's id, as a listing shows it.")]


class Arguments(BaseModel):
    """What one tool takes; anything else is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class AddMemory(Arguments):
    """For ``add_memory``."""

    text: _Text


class AddMemories(Arguments):
    """For ``add_memories``."""

    texts: Annotated[list[_Text], Field(min_length=1, max_length=MOST_SAVED, description="Each one fact.")]


class Pending(Arguments):
    """For ``pending``."""

    ask: Annotated[bool, Field(description="Put notes that wait to the person now, several in one question.")] = False


class UpdateMemory(Arguments):
    """For ``update_memory``."""

    id: _Id
    text: _Text


class DeleteMemory(Arguments):
    """For ``delete_memory``: one memory by its id, or what the owner said about something."""

    id: Annotated[str, Field(max_length=_MOST_ID, description="The memory's id, as a listing shows it.")] = ""
    about: Annotated[
        str,
        Field(max_length=MOST_QUERY, description="Instead of an id: what to forget, in plain words ('the gym')."),
    ] = ""


class GetMemories(Arguments):
    """For ``get_memories``."""

    limit: Annotated[int, Field(ge=1, le=MOST_LISTED, description="How many at most.")] = 20
    cursor: Annotated[
        str, Field(max_length=_MOST_ID, description="The next_cursor of the page before; empty for the first page.")
    ] = ""


class SearchMemories(Arguments):
    """For ``search_memories``."""

    query: Annotated[str, Field(min_length=1, max_length=MOST_QUERY, description="What to look for, in plain words.")]
    k: Annotated[int, Field(ge=1, le=MOST_K, description="How many at most.")] = 5
    may_act_only: Annotated[bool, Field(description="Only memories that may drive an action.")] = False


class MemorySnapshot(Arguments):
    """For ``memory_snapshot``."""

    refresh: Annotated[bool, Field(description="Freeze a new one; without it the text stays the same.")] = False


class CheckAction(Arguments):
    """For ``check_action``."""

    name: Annotated[str, Field(min_length=1, max_length=128, description="The name of the tool you want to call.")]
    arguments: Annotated[dict[str, Any], Field(description="Just the arguments you would call it with.")]


A = TypeVar("A", bound=Arguments)


def checked(kind: type[A], given: dict[str, Any] | None) -> A:
    """The arguments of a call, or an error that says what to change without repeating what was passed."""
    try:
        return kind.model_validate(given or {})
    except ValidationError as error:
        faults = {_fault(kind, fault["loc"], fault["type"]) for fault in error.errors(include_input=False)}
        raise InvalidRequest(
            f"The arguments cannot be used: {'; '.join(sorted(faults)[:8])}.",
            code="invalid_arguments",
            hint=f"This tool takes {', '.join(kind.model_fields)} within the limits of its input schema, nothing else.",
        ) from None


def _fault(kind: type[Arguments], place: tuple[int | str, ...], what: str) -> str:
    if place and place[0] in kind.model_fields:
        return f"{place[0]}: {what.replace('_', ' ')}"
    return f"{told_names(place[:1])}: unknown argument"
