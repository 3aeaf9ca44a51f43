"""Makes a defence of memories answer for calls: each call is as good as the memories that hold its arguments.

The owner's message and every result are memories. A value of a call that stands in the owner's message is the owner's;
one that stands only in results is theirs, and the guard says whether such a memory may support an action: if not, the
host asks. A value that stands nowhere was made up by the model, and a guard of memories has nothing to say about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_SHORTEST = 3


class Attributing:
    """A guard's worker provides ``began``, ``kept`` and ``may_act``."""

    def begin(self, said: str, tools: Sequence[Mapping[str, Any]]) -> None:
        """A store of its own for the session."""
        self._reading = {tool["name"] for tool in tools if tool["reads"]}
        self._trusted = {tool["name"] for tool in tools if "*" in tool["owner_writes"]}
        self._texts: list[str] = []
        self.began()
        self._keep(said, honest=True)

    def judged(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
        """By where its values stand."""
        if name in self._reading:
            return "allow", ""
        for value in _values(arguments):
            held = [place for place, text in enumerate(self._texts) if value in text]
            if held and not any(self.may_act(place) for place in held):
                return "confirm", "value_of_a_memory_that_may_not_act"
        return "allow", ""

    def confirmed(self, _name: str, _arguments: Mapping[str, Any]) -> None:
        """Nothing is learned from it."""

    def seen(self, name: str, text: str) -> bool:
        """Every result becomes a memory."""
        self._keep(text, honest=name in self._trusted)
        return True

    def _keep(self, text: str, *, honest: bool) -> None:
        self.kept(text, honest=honest)
        self._texts.append(text.casefold())

    def began(self) -> None:
        """Open an empty store."""
        raise NotImplementedError

    def kept(self, text: str, *, honest: bool) -> None:
        """Store one more text; ``honest`` is the owner's, or from a system that nobody else writes to."""
        raise NotImplementedError

    def may_act(self, place: int) -> bool:
        """Whether the text stored in that place may support an action."""
        raise NotImplementedError


def _values(arguments: Any) -> Iterator[str]:
    if isinstance(arguments, Mapping):
        for inner in arguments.values():
            yield from _values(inner)
    elif isinstance(arguments, list):
        for inner in arguments:
            yield from _values(inner)
    elif arguments is not None and not isinstance(arguments, bool) and len(str(arguments)) >= _SHORTEST:
        yield str(arguments).casefold()
