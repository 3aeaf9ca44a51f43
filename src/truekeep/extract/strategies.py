"""The four ways to turn a conversation into candidates: discrete, summary, preferences and custom.

Each has one method, ``extract``, that puts the conversation to a model. What it returns are candidates: a model's word
for where something came from is never believed, and no strategy decides on trust.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from truekeep.errors import InvalidRequest
from truekeep.extract.conversation import MAX_TEXT, Conversation, Extraction, Message
from truekeep.extract.prompt_patterns import allowed_variables
from truekeep.extract.prompt_safety import Value, merge_variables, secure_format_prompt, validate_custom_prompt
from truekeep.extract.template import field_names

if TYPE_CHECKING:
    from truekeep.extract.llm import ChatModel


class Strategy(Protocol):
    """One way to turn a conversation into candidates."""

    name: ClassVar[str]

    def extract(self, conversation: Conversation, model: ChatModel | None = None) -> list[Extraction]:
        """The candidates in a conversation, each with its quotes and the messages they are in."""


class Discrete:
    """Each fact, preference, plan or event as a candidate of its own."""

    name: ClassVar[str] = "discrete"
    max_text = MAX_TEXT

    def extract(self, conversation: Conversation, model: ChatModel | None = None) -> list[Extraction]:
        """What a model reads in a conversation; without one there are the owner's words, and no readings of them."""
        return [] if model is None else _with_model(self.name, conversation, model, self.max_text)


class Preferences(Discrete):
    """Only what the speaker likes, dislikes and wants done in a certain way."""

    name: ClassVar[str] = "preferences"


class Summary(Discrete):
    """One candidate for the whole conversation."""

    name: ClassVar[str] = "summary"

    def __init__(self, max_summary_length: int = 500) -> None:
        if isinstance(max_summary_length, bool) or not isinstance(max_summary_length, int):
            raise InvalidRequest("max_summary_length must be a whole number.", code="invalid_summary_length")
        if not 50 <= max_summary_length <= MAX_TEXT:
            raise InvalidRequest(f"max_summary_length must be 50 to {MAX_TEXT}.", code="invalid_summary_length")
        self.max_text = max_summary_length


class Custom:
    """Whatever the operator's own prompt asks for. The prompt is refused here, when it is set, not later."""

    name: ClassVar[str] = "custom"

    def __init__(self, custom_prompt: str, variables: Mapping[str, Value] | None = None) -> None:
        self.variables = dict(variables or {})
        merge_variables({}, self.variables)
        validate_custom_prompt(custom_prompt, strict=not self.variables)
        self.custom_prompt = str.__str__(custom_prompt)
        self.prompt_hash = prompt_hash(self.custom_prompt)
        self._allowed = allowed_variables() | self.variables.keys()
        self._shows_message = "message" in field_names(self.custom_prompt)
        self._fill("", Conversation(()))

    def extract(self, conversation: Conversation, model: ChatModel | None = None) -> list[Extraction]:
        """What the model finds with the prompt; each candidate names the prompt that made it."""
        if model is None:
            raise InvalidRequest(
                "The custom strategy needs a model.",
                code="model_required",
                hint="Set TRUEKEEP_LLM_BASE_URL and TRUEKEEP_LLM_MODEL, or use discrete, summary or preferences.",
            )
        from truekeep.extract.asking import extract_with, instruction, transcript  # noqa: PLC0415

        system = f"{instruction('contract')}\n{instruction('custom')}"

        def ask(piece: Sequence[Message]) -> list[dict[str, str]]:
            filled = self._fill(transcript(piece), conversation)
            if not self._shows_message:
                filled = f"{filled}\n\n{transcript(piece)}"
            return [{"role": "system", "content": system}, {"role": "user", "content": filled}]

        return extract_with(model, conversation, ask, strategy=self.name, prompt=self.prompt_hash)

    def _fill(self, message: str, conversation: Conversation) -> str:
        reserved: dict[str, Value] = dict.fromkeys(sorted(allowed_variables()), "")
        reserved |= {
            "message": message,
            "session_id": conversation.session or "",
            "current_datetime": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return secure_format_prompt(self.custom_prompt, self._allowed, **merge_variables(reserved, self.variables))


STRATEGIES: Mapping[str, type[Any]] = {kind.name: kind for kind in (Discrete, Summary, Preferences, Custom)}


def make_strategy(name: str, **options: Any) -> Strategy:
    """The strategy of that name with its options; anything unknown is an error that lists what there is."""
    kind = STRATEGIES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidRequest(
            "No such extraction strategy.",
            code="unknown_strategy",
            hint=f"Strategies: {', '.join(STRATEGIES)}.",
        )
    try:
        made: Strategy = kind(**options)
    except TypeError:
        raise InvalidRequest(
            f"The strategy '{name}' does not take these options.",
            code="strategy_options",
            hint="summary takes max_summary_length; custom takes custom_prompt and variables.",
        ) from None
    return made


def prompt_hash(prompt: str) -> str:
    """The name under which a prompt's memories are found again: the SHA-256 of its text."""
    return hashlib.sha256(prompt.encode("utf-8")).hexdigest()


def _with_model(name: str, conversation: Conversation, model: ChatModel, max_text: int) -> list[Extraction]:
    from truekeep.extract.asking import extract_with, instruction, transcript  # noqa: PLC0415

    system = f"{instruction('contract', max_text)}\n{instruction(name, max_text)}"
    speaker = json.dumps({"speaker": conversation.speaker}, ensure_ascii=False) + "\n" if conversation.speaker else ""

    def ask(piece: Sequence[Message]) -> list[dict[str, str]]:
        content = f"{speaker}{transcript(piece)}"
        return [{"role": "system", "content": system}, {"role": "user", "content": content}]

    return extract_with(model, conversation, ask, strategy=name, max_text=max_text)


__all__ = [
    "STRATEGIES",
    "Custom",
    "Discrete",
    "Preferences",
    "Strategy",
    "Summary",
    "make_strategy",
    "prompt_hash",
]
