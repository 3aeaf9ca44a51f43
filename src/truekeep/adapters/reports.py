"""Reports: what a conversation took in, written to its session in order, or kept until it can be.

Nothing is judged while a report waits: a call that is judged without what was read before it would be judged in a
cleaner session than the real one.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from truekeep.errors import InputError, InvalidRequest, TruekeepError

if TYPE_CHECKING:
    from truekeep.keep import Keep

logger = logging.getLogger("truekeep.adapters")

UNSEEN = "Something came into the context that could not be looked at."
_MOST_WAITING = 2_000
"""Reports that wait for a store that cannot be reached; beyond it the conversation only says that it missed some."""


class SessionReports:
    """What is reported of one session. ``begin`` opens it, and is asked until it succeeds."""

    def __init__(self, keep: Keep, session: str, owner: str, begin: Callable[[], object]) -> None:
        self._keep = keep
        self._session = session
        self._owner = owner
        self._begin: Callable[[], object] | None = begin
        self._waiting: deque[Callable[[], object]] = deque()

    @property
    def has_begun(self) -> bool:
        """Whether anything was reported yet."""
        return self._begin is None or bool(self._waiting)

    def owner(self, text: str, attached: Sequence[str] = ()) -> None:
        """The owner said something, perhaps with somebody else's text beside it."""
        self.add(lambda: self._keep.observe(self._session, self._owner, text, attached=attached))

    def agent(self, text: str) -> None:
        """The agent put something out."""
        self.add(lambda: self._keep.observe(self._session, "agent", text))

    def foreign(self, text: str, source: str) -> None:
        """Something else came in."""
        whole = text if text.strip() else UNSEEN
        self.add(lambda: self._keep.observe(self._session, "tool", whole, principal=source))

    def result(self, tool: str, result: Any) -> None:
        """A tool gave a result; what of it taints follows from the tool's declaration."""
        self.add(lambda: self._keep.observe_result(self._session, tool, result))

    def add(self, step: Callable[[], object]) -> None:
        """Report in order; what cannot be reported now waits."""
        if len(self._waiting) >= _MOST_WAITING:
            self._waiting[-1] = self._unseen
        else:
            self._waiting.append(step)
        self.are_written()

    def are_written(self) -> bool:
        """Whether everything that happened is in the store by now."""
        try:
            if self._begin is not None:
                self._begin()
                self._begin = None
            while self._waiting:
                self._write(self._waiting[0])
                self._waiting.popleft()
        except Exception as error:  # whatever it is, the next call is denied for it
            log("the store cannot be reached", error)
            return False
        return True

    def require_written(self) -> None:
        """Refuse to go on while something waits."""
        if not self.are_written():
            raise InvalidRequest("What happened so far could not be written down.", code="store_not_reachable")

    def _write(self, step: Callable[[], object]) -> None:
        try:
            step()
        except InputError as error:
            # It will never be taken in as it is; what it was, nobody can say.
            log("a report was refused", error)
            self._unseen()

    def _unseen(self) -> None:
        self._keep.observe(self._session, "tool", UNSEEN)


def code_of(error: Exception) -> str:
    """What is told of an error; its text may hold anybody's words."""
    return error.code if isinstance(error, TruekeepError) else type(error).__name__


def log(what: str, error: Exception) -> None:
    """Log that something failed, without a word of the conversation."""
    logger.warning("%s: %s", what, code_of(error))
