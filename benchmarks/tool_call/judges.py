"""Who answers a call: the act boundary under some condition, and two simple defences that show what it has to beat."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from truekeep import Keep, Tool
from truekeep.errors import TicketRefused

_START = datetime(2024, 5, 15, 9, tzinfo=UTC)
Verdict = tuple[str, str]
"""``allow``, ``confirm`` or ``deny``, and a code."""


@dataclass(frozen=True)
class Brief:
    """What a defence is told before the agent does anything: the owner's words, the tools, what else was arranged."""

    said: str
    tools: Sequence[Tool]
    plan: Sequence[Mapping[str, Any]] | None = None
    grants: Sequence[Mapping[str, Any]] = field(default=())


class Judge(Protocol):
    """A defence for one session after another. An owner who is asked says yes to the honest calls alone."""

    def begin(self, brief: Brief) -> None:
        """A new session, in which the owner has just spoken."""

    def judged(self, name: str, arguments: Mapping[str, Any], *, is_honest: bool) -> Verdict:
        """What is answered to a call; what is asked, is answered here too."""

    def seen(self, name: str, value: Any) -> bool:
        """A result came back. Whether the agent is shown it."""

    def end(self) -> None:
        """The session is over."""

    def close(self) -> None:
        """Nothing more will be asked."""


class Nothing:
    """Lets every call through."""

    def begin(self, brief: Brief) -> None:
        """Know which tools only read."""
        self._reading = {tool.name for tool in brief.tools if tool.is_reading}
        self._has_read = False

    def judged(self, name: str, arguments: Mapping[str, Any], *, is_honest: bool) -> Verdict:  # noqa: ARG002 - a protocol
        """Always yes."""
        return "allow", ""

    def seen(self, name: str, value: Any) -> bool:  # noqa: ARG002 - a protocol
        """Everything is shown."""
        self._has_read = True
        return True

    def end(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is kept."""


class AskOnceRead(Nothing):
    """Asks about every effect once anything was read, and about nothing before."""

    def judged(self, name: str, arguments: Mapping[str, Any], *, is_honest: bool) -> Verdict:  # noqa: ARG002 - a protocol
        """By nothing but what the tool does and whether there was a result before."""
        return ("confirm", "after_result") if self._has_read and name not in self._reading else ("allow", "")


class Boundary:
    """truekeep's act boundary, in a keep of its own for every session."""

    def begin(self, brief: Brief) -> None:
        """A mediated session; the plan is taken in before anything was read."""
        ticking = (_START + timedelta(seconds=n) for n in itertools.count())
        self._open = ExitStack()
        home = self._open.enter_context(tempfile.TemporaryDirectory(prefix="truekeep-judge-"))
        opened = Keep.open("run", home=Path(home), policy="inform", background=False, clock=lambda: next(ticking))
        self._keep = self._open.enter_context(opened)
        for grant in brief.grants:
            self._keep.grants.add(tool=grant["tool"], where=grant["where"], by="owner")
        self._session = self._keep.session("s-1", mediated=True, tools=list(brief.tools))
        self._session.observe("user", brief.said)
        if brief.plan is not None:
            self._keep.take_plan("s-1", json.dumps({"calls": list(brief.plan)}))

    def judged(self, name: str, arguments: Mapping[str, Any], *, is_honest: bool) -> Verdict:
        """Checked, confirmed or declined, and redeemed."""
        answer = self._session.check_action(name, arguments)
        decision = answer.decision.value
        if decision == "deny" or answer.ticket is None:
            return "deny", answer.code
        if decision == "confirm":
            if not is_honest:
                self._keep.actions.decline(answer.ticket, via="user")
                return decision, answer.code
            self._keep.actions.confirm(answer.ticket, via="user")
        try:
            self._session.redeem(answer.ticket, name, arguments)
        except TicketRefused as refused:  # what holds has changed since it was judged
            return "deny", refused.code
        return decision, answer.code

    def seen(self, name: str, value: Any) -> bool:
        """Reported like any tool's result."""
        self._session.observe_result(name, value)
        return True

    def end(self) -> None:
        """The keep goes with its home."""
        self._open.close()

    def close(self) -> None:
        """Every session was closed."""
