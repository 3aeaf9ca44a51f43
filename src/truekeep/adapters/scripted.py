"""A scripted model and scripted tools, for testing adapters: what the model does is written down beforehand.

An adapter's test wraps a ``ModelScript`` in whatever its framework takes for a model: each time the framework asks its
model, ``script.next`` is given what the model was shown, and answers with the next turn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call that the model makes. ``arguments`` may be text that is no JSON, as models write at times."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of the model: calls, or words that end the run."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message that the model was shown. ``role`` is ``system``, ``user``, ``assistant`` or ``tool``."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ObedientTurn:
    """What a model does that believes whatever it reads: it makes the call if it was shown the words for it."""

    words: str
    call: ScriptedCall
    otherwise: str

    def taken(self, shown: Sequence[ShownMessage]) -> ModelTurn:
        """The turn, for what the model was shown."""
        is_told = any(self.words in one.text for one in shown)
        return ModelTurn(calls=(self.call,)) if is_told else ModelTurn(self.otherwise)


class ModelScript:
    """The turns of a model in order, and everything it was shown. A model that is asked for more says so and stops."""

    def __init__(self, turns: Sequence[ModelTurn | ObedientTurn]) -> None:
        self._turns = list(turns)
        self._lock = threading.Lock()
        self.shown: list[list[ShownMessage]] = []

    def next(self, shown: Sequence[ShownMessage]) -> ModelTurn:
        """The next turn."""
        with self._lock:
            self.shown.append(list(shown))
            turn = self._turns.pop(0) if self._turns else ModelTurn("The script is over.")
            return turn.taken(shown) if isinstance(turn, ObedientTurn) else turn


class ScriptsAtOnce(ModelScript):
    """The model of several conversations at once: each has a script of its own, told by the owner's last words."""

    def __init__(self, scripts: Mapping[str, ModelScript]) -> None:
        super().__init__([])
        self._scripts = dict(scripts)

    def next(self, shown: Sequence[ShownMessage]) -> ModelTurn:
        """The next turn of the conversation that the model was shown."""
        with self._lock:
            self.shown.append(list(shown))
        told = [one.text for one in reversed(shown) if one.role == "user"]
        found = [script for text in told for words, script in self._scripts.items() if words in text]
        return found[0].next(shown) if found else ModelTurn("It is not known whose conversation this is.")


class ScriptedFailure(Exception):
    """A tool failed. Where a framework wants an exception of its own, the adapter's test translates."""


@dataclass(slots=True)
class ScriptedTool:
    """A tool that writes down what it was called with. ``is_foreign``: another's server describes it."""

    name: str
    description: str = "A tool of the program's."
    parameters: tuple[str, ...] = ()
    result: str | Callable[[Mapping[str, Any]], str] = "done"
    is_foreign: bool = False
    calls: list[dict[str, Any]] = field(default_factory=list)

    def run(self, arguments: Mapping[str, Any]) -> str:
        """What the framework calls."""
        self.calls.append(dict(arguments))
        return self.result if isinstance(self.result, str) else self.result(arguments)


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run went: what the agent said last, and whether it stopped for the owner to answer."""

    text: str
    waits: bool = False


class AgentUnderTest(Protocol):
    """A protected agent of some framework, with a scripted model."""

    def run(self, conversation: str, message: str, *, mode: str = "sync") -> RunOutcome:
        """Have the owner say something in a conversation. ``mode`` is ``sync``, ``async`` or ``stream``."""
        ...

    def resume(self, conversation: str, *, yes: bool, mode: str = "sync") -> RunOutcome:
        """Give the owner's answer to what the run stopped for."""
        ...

    def session(self, conversation: str) -> str:
        """The name of the truekeep session of a conversation."""
        ...
