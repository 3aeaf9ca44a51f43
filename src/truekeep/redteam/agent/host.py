"""What the program around an agent does with its memory, as the measurement sees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from truekeep.redteam.agent.scenario import Call, Event

OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a tool call: ``done``, ``confirm`` while it waits for the owner, or ``deny``."""

    result: str
    code: str = ""
    ticket: str | None = None


@dataclass(slots=True)
class Office:
    """Tools with consequences, and what they really did, by session."""

    done: dict[str, list[Call]] = field(default_factory=dict)

    def do(self, session: str, tool: str, arguments: Mapping[str, Any]) -> str:
        """Do it, whatever it is."""
        self.done.setdefault(session, []).append(Call(tool, dict(arguments)))
        return "done"


class Host(Protocol):
    """One way to give an agent a memory. Sessions are named by the measurement."""

    office: Office
    came: Counter[str]
    """What became of what an attacker had written: ``stored``, ``held`` or ``refused``."""

    def write(self, event: Event) -> str:
        """Somebody with a channel of their own has something remembered; returns its id, if there is one."""
        ...

    def begin(self, session: str, *, shared: bool) -> None:
        """A conversation with the owner begins."""

    def hear(self, session: str, text: str) -> None:
        """The owner says something."""

    def read(self, session: str, event: Event) -> None:
        """The agent is given a document, a page, a mail or a tool's answer."""

    def store(self, session: str, event: Event) -> None:
        """The program itself keeps what was read, as read."""

    def save(self, session: str, text: str) -> None:
        """The agent has something remembered."""

    def reply(self, session: str, text: str) -> None:
        """The agent says something."""

    def distil(self, session: str, *, with_model: bool) -> None:
        """The conversation is over, and what is worth keeping is kept."""

    def change(self, memory: str, text: str) -> None:
        """The agent offers other content for a memory."""

    def forget(self, memory: str) -> None:
        """The agent wants a memory gone."""

    def recall(self, session: str, query: str) -> list[str]:
        """What of the memory gets into the prompt."""
        ...

    def act(self, session: str, call: Call) -> Outcome:
        """The agent makes a tool call."""
        ...

    def confirm(self, session: str, call: Call, ticket: str) -> Outcome:
        """The owner confirms a call that waits, and it is made."""
        ...
