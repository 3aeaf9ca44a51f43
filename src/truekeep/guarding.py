"""Guard: wrap a tool so that it runs only with a ticket of the act boundary, once.

>>> def pay(account: str, amount: int) -> str: ...
>>> guarded = guard(pay, session=session)   # doctest: +SKIP
>>> guarded(account="1180-22", amount=300)  # doctest: +SKIP

The call is checked, its ticket redeemed, and only then does the tool run. A call that is denied raises
``ActionRefused``; one that the owner has to confirm raises ``ConfirmationNeeded`` with the ticket to confirm, and runs
when it is called again with ``ticket=``. A tool that fails has used its ticket up: nothing happens twice.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from truekeep.boundary import ActionAnswer, Ticket
from truekeep.errors import ActionRefused, ConfirmationNeeded, InvalidRequest, TicketRefused

R = TypeVar("R")


class Checks(Protocol):
    """What a guard asks: a session, or a handle that is bound to one."""

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> ActionAnswer:
        """Judge a call."""

    def redeem(self, ticket: Ticket | str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket up."""


def guard(
    tool: Callable[..., R], *, session: Checks | None = None, name: str | None = None, run: str | None = None
) -> Callable[..., R]:
    """The tool behind the act boundary; functions and coroutine functions alike.

    With ``session`` every call is checked. Without one, each call brings the ticket of a check:
    ``ticket=answer.ticket``.
    ``name`` is what the action is called in the settings, else the tool's own name.
    """
    action = name or str(getattr(tool, "__name__", type(tool).__name__))
    signature = inspect.signature(tool)
    if "ticket" in signature.parameters:
        raise InvalidRequest("A tool with an argument named 'ticket' cannot be guarded.", code="ticket_argument")

    def let_through(args: tuple[Any, ...], kwargs: dict[str, Any], ticket: Ticket | str | None) -> None:
        _redeem(session, action, _arguments(signature, args, kwargs), ticket, run)

    if inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(getattr(tool, "__call__", None)):  # noqa: B004

        @functools.wraps(tool)
        async def guarded_async(*args: Any, ticket: Ticket | str | None = None, **kwargs: Any) -> Any:
            let_through(args, kwargs, ticket)
            return await tool(*args, **kwargs)  # type: ignore[misc]

        return guarded_async  # type: ignore[return-value]

    @functools.wraps(tool)
    def guarded(*args: Any, ticket: Ticket | str | None = None, **kwargs: Any) -> R:
        let_through(args, kwargs, ticket)
        return tool(*args, **kwargs)

    return guarded


def _arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The call's arguments by name, as the model gave them; defaults that it left out are not its choice."""
    bound = signature.bind(*args, **kwargs)
    named: dict[str, Any] = {}
    for parameter, value in bound.arguments.items():
        kind = signature.parameters[parameter].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            if not named.keys().isdisjoint(value):
                # One of the two would be judged and the other used.
                raise InvalidRequest("An argument was given twice.", code="argument_twice")
            named |= value
        else:
            named[parameter] = list(value) if kind is inspect.Parameter.VAR_POSITIONAL else value
    return named


def _redeem(
    session: Checks | None, action: str, arguments: Mapping[str, Any], ticket: Ticket | str | None, run: str | None
) -> None:
    if ticket is None and session is not None:
        ticket = _checked(session, action, arguments, run)
    if isinstance(ticket, Ticket):
        ticket.redeem(action, arguments)
    elif ticket is not None and session is not None:
        session.redeem(ticket, action, arguments)
    else:
        raise TicketRefused("This tool runs only with a ticket.", code="no_ticket", hint="Pass ticket=answer.ticket.")


def _checked(session: Checks, action: str, arguments: Mapping[str, Any], run: str | None) -> Ticket:
    answer = session.check_action(action, arguments, run=run)
    why = " ".join(answer.reasons) or "No reason was given."
    if answer.decision == "confirm":
        raise ConfirmationNeeded(f"The owner has to confirm '{action}'. {why}", answer=answer)
    if not answer or answer.ticket is None:
        raise ActionRefused(f"'{action}' is denied. {why}", answer=answer, hint="It relies on unproven text.")
    return answer.ticket
