"""Work that may take longer than somebody likes to look at nothing: its page at once, or until then how far it is.

The answer begins while the work goes on, and ends with the page that the work made. So nothing is kept from one request
to the next, any process can be asked, and it takes no script: each line hides the one before it, the page all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import copy_context
from threading import Event, Thread

from markupsafe import Markup
from starlette.responses import Response, StreamingResponse

from truekeep.errors import TruekeepError
from truekeep.serve.console.desk import Desk
from truekeep.types import Progress

Work = Callable[[Progress], Response]
_PATIENCE = 0.4
"""Seconds after which a person wants to know that something happens."""
_EVERY = 0.25
_HERE = "</main>"
"""Where a page that is sent in parts is cut: no stored text has it unescaped."""


class _Left(Exception):
    """Whoever asked does not wait for the answer any more."""


def in_steps(desk: Desk, title: str, work: Work, *, here: str, is_look: bool = True) -> Response:
    """The page that the work makes. A look ends when nobody waits for it; what changes something is done to its end."""
    frame = desk.page("working.html", here=here, title=title)  # before the work, which may need the keep for itself
    steps = _Steps(work, is_look=is_look)
    if steps.ended.wait(_PATIENCE):
        return steps.answer()
    return StreamingResponse(_parts(desk, bytes(frame.body).decode(), steps), media_type="text/html; charset=utf-8")


class _Steps:
    """Work in a thread of its own, and how far it is."""

    def __init__(self, work: Work, *, is_look: bool) -> None:
        self.ended = Event()
        self.done, self.total = 0, 0
        self._is_look, self._is_left = is_look, False
        self._outcome: Response | BaseException = _Left()
        Thread(target=copy_context().run, args=(self._run, work), name="console-work").start()

    def answer(self) -> Response:
        """What the work made; what went wrong in it goes wrong here."""
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome

    def leave(self) -> None:
        """Nobody waits for it any more."""
        self._is_left = True

    def _run(self, work: Work) -> None:
        try:
            self._outcome = work(self._told)
        except BaseException as error:  # it is raised where the answer is made
            self._outcome = error
        finally:
            self.ended.set()

    def _told(self, done: int, total: int) -> None:
        if self._is_left and self._is_look:
            raise _Left
        self.done, self.total = done, total


def _parts(desk: Desk, frame: str, steps: _Steps) -> Iterator[str]:
    head, _, tail = frame.partition(_HERE)
    try:
        yield head
        while not steps.ended.wait(_EVERY):
            yield _line(desk, steps)
        yield f'<div class="ended">{_outcome(desk, steps)}</div>{_HERE}{tail}'
    finally:
        steps.leave()


def _line(desk: Desk, steps: _Steps) -> str:
    if not steps.total:
        return ""
    told = desk.words.t("frame.so_far", done=f"{steps.done:,}", total=f"{steps.total:,}")
    line = Markup('<p class="step"><progress max="{}" value="{}" aria-label="{}"></progress> {}</p>')
    return line.format(steps.total, steps.done, told, told)


def _outcome(desk: Desk, steps: _Steps) -> str:
    """What a page has in its middle. Where an answer leads on, this one does: its headers have been sent."""
    try:
        answer = steps.answer()
    except TruekeepError as error:
        answer = desk.page("problem.html", code=error.code, detail=str(error), hint=error.hint, is_own=False)
    on = answer.headers.get("location")
    if on is not None:
        go = Markup('<meta http-equiv="refresh" content="0;url={}"><p><a class="btn primary" href="{}">{}</a></p>')
        return go.format(on, on, desk.words.t("frame.go_on"))
    middle = bytes(answer.body).decode().partition("<main")[2].partition(">")[2]
    return middle.partition(_HERE)[0]
