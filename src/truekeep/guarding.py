"""Guard: wrap a tool so that it runs only with a ticket of the act boundary, once.

>>> def pay(account: str, amount: int) -> str: ...
>>> guarded = guard(pay, session=session)   # doctest: +SKIP
>>> guarded(account="1180-22", amount=300)  # doctest: +SKIP

The call is checked, its ticket redeemed, and only then does the tool run, with a copy of the arguments that were
judged. A session of the host's is told what the tool returned, and of what it awaits or yields each part before it is
handed on; what a tool says when it fails is as foreign as what it returns. A call that is denied raises
``ActionRefused``; one that the owner has to confirm raises ``ConfirmationNeeded`` with the ticket to confirm, and runs
when it is called again with ``ticket=``. A tool that fails has used its ticket up: nothing happens twice.
"""

from __future__ import annotations

import functools
import inspect
import traceback
from asyncio import CancelledError
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, Protocol, TypeVar, runtime_checkable

from truekeep.act.boundary import ActionAnswer, Ticket
from truekeep.act.calls import plain_arguments
from truekeep.errors import ActionRefused, ConfirmationNeeded, InvalidRequest, TicketRefused

R = TypeVar("R")
_MOST_ERRORS = 16
"""Errors of one chain or group that are reported."""


class Checks(Protocol):
    """What a guard asks: a session, or a handle that is bound to one."""

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> ActionAnswer:
        """Judge a call."""

    def redeem(self, ticket: Ticket | str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket up."""


def guard(
    tool: Callable[..., R], *, session: Checks | None = None, name: str | None = None, run: str | None = None
) -> Callable[..., R]:
    """The tool behind the act boundary; functions, coroutine functions and generators alike.

    With ``session`` every call is checked. Without one, each call brings the ticket of a check:
    ``ticket=answer.ticket``.
    ``name`` is what the action is called in the settings, else the tool's own name.
    """
    action = name or _name_of(tool)
    signature = inspect.signature(tool)
    if "ticket" in signature.parameters:
        raise InvalidRequest("A tool with an argument named 'ticket' cannot be guarded.", code="ticket_argument")

    def let_through(args: tuple[Any, ...], kwargs: dict[str, Any], ticket: Ticket | str | None) -> dict[str, Any]:
        """The arguments that were judged, as a copy that nobody else can change."""
        given = plain_arguments(_arguments(signature, args, kwargs))
        _redeem(session, action, given, ticket, run)
        return given

    report = _Report(session, action)

    if _is_coroutine(tool):

        @functools.wraps(_wrapped(tool))
        async def guarded_async(*args: Any, ticket: Ticket | str | None = None, **kwargs: Any) -> Any:
            given = let_through(args, kwargs, ticket)
            with report.of_failure():
                result = await _call(tool, signature, given)
            return _watched(result, report)

        return guarded_async  # type: ignore[return-value]

    @functools.wraps(_wrapped(tool))
    def guarded(*args: Any, ticket: Ticket | str | None = None, **kwargs: Any) -> R:
        given = let_through(args, kwargs, ticket)
        with report.of_failure():
            result = _call(tool, signature, given)
        return _watched(result, report)  # type: ignore[no-any-return]

    return guarded


@runtime_checkable
class _Observes(Protocol):
    """A session of the host's: it may report what a tool returned. An agent's handle may not."""

    def observe_result(self, tool: str, result: Any, *, principal: str | None = None) -> None:
        """Report a tool's result."""


class _Report:
    """Tells the host's session what a tool gave back, also when it failed: a model reads both."""

    def __init__(self, session: object, action: str) -> None:
        self._session = session
        self._action = action

    def seen(self, result: Any) -> Any:
        """The result, once the session knows of it."""
        if isinstance(self._session, _Observes):
            self._session.observe_result(self._action, result)
        return result

    @contextmanager
    def of_failure(self) -> Iterator[None]:
        """Report what the tool raises, before anybody can read it. Being stopped from outside says nothing."""
        try:
            yield
        except (GeneratorExit, KeyboardInterrupt, CancelledError):
            raise
        except BaseException as error:
            self.seen("\n".join(_said(error, _MOST_ERRORS)))
            raise


def _said(error: BaseException | None, most: int) -> list[str]:
    """What an error says, with its notes, the errors it is a group of and those it came from."""
    if error is None or most < 1:
        return []
    own = "".join(traceback.format_exception_only(error)).strip()
    within = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    said = [own]
    for other in (*within, error.__cause__, error.__context__):
        said += _said(other, most - len(said))
    return said


def _watched(result: Any, report: _Report) -> Any:
    """A result, reported. It is what a tool returned that says whether it is yet to come, not how it was defined.

    A plain function may return a coroutine or a generator; its text is foreign only once it is there.
    """
    if inspect.isawaitable(result):
        return _awaited(result, report)
    if inspect.isgenerator(result):
        return _each(result, report)
    return _each_async(result, report) if inspect.isasyncgen(result) else report.seen(result)


async def _awaited(result: Awaitable[Any], report: _Report) -> Any:
    with report.of_failure():
        there = await result
    return _watched(there, report)


def _each(results: Iterator[Any], report: _Report) -> Iterator[Any]:
    with report.of_failure():
        for result in results:
            yield _watched(result, report)


async def _each_async(results: Any, report: _Report) -> AsyncIterator[Any]:
    with report.of_failure():
        async with aclosing(results):
            async for result in results:
                yield _watched(result, report)


def _wrapped(tool: Callable[..., Any]) -> Callable[..., Any]:
    return tool.func if isinstance(tool, functools.partial) else tool


def _is_coroutine(tool: Callable[..., Any]) -> bool:
    candidates = (_wrapped(tool), getattr(_wrapped(tool), "__call__", None))  # noqa: B004 - the method is looked at
    return any(inspect.iscoroutinefunction(one) for one in candidates)


def _name_of(tool: Callable[..., Any]) -> str:
    """A tool's real name: of the function behind a partial, of a method, or of a framework's tool object."""
    inner: Any = tool
    while isinstance(inner, functools.partial):
        inner = inner.func
    if inspect.ismethod(inner) and inner.__name__ == "__call__":
        inner = inner.__self__
    named = getattr(inner, "__name__", None) or getattr(inner, "name", None)
    if not isinstance(named, str) or named == "<lambda>":
        raise InvalidRequest(
            "This tool has no name of its own.",
            code="tool_without_name",
            hint="Pass name=…, the name its calls are judged under.",
        )
    return named


def _call(tool: Callable[..., Any], signature: inspect.Signature, given: Mapping[str, Any]) -> Any:
    """Call the tool with just the arguments that were judged."""
    positional: list[Any] = []
    named: dict[str, Any] = dict(given)
    for name, parameter in signature.parameters.items():
        if name not in named:
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positional += named.pop(name)
        elif parameter.kind is inspect.Parameter.POSITIONAL_ONLY or _has_rest(signature, name):
            positional.append(named.pop(name))
    return tool(*positional, **named)


def _has_rest(signature: inspect.Signature, name: str) -> bool:
    """Whether a plain argument stands before a rest of positional ones, and so has to be passed by its place."""
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return False
    return list(signature.parameters).index(name) < kinds.index(inspect.Parameter.VAR_POSITIONAL)


def _arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The call's arguments by name, as the model gave them; defaults that it left out are not its choice."""
    bound = signature.bind(*args, **kwargs)
    named: dict[str, Any] = {}
    for parameter, value in bound.arguments.items():
        kind = signature.parameters[parameter].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            if not named.keys().isdisjoint(value):
                # One of the two would be judged and the other used.
                raise InvalidRequest("An argument was given twice.", code="argument_twice", hint="Give it once.")
            named |= value
        else:
            named[parameter] = list(value) if kind is inspect.Parameter.VAR_POSITIONAL else value
    return named


def _redeem(
    session: Checks | None, action: str, arguments: Mapping[str, Any], ticket: Ticket | str | None, run: str | None
) -> None:
    if ticket is None and session is not None:
        ticket = _checked(session, action, arguments, run)
    if ticket is not None and session is not None:
        # A ticket that another session got is refused there, whoever holds it.
        session.redeem(ticket, action, arguments)
    elif isinstance(ticket, Ticket):
        ticket.redeem(action, arguments)
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
