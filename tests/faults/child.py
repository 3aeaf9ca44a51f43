"""Runs one function in a process of its own, where a limit or a system call filter does no harm to the tests."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from tests.crash.nursery import context


def in_child(body: Callable[..., Any], *arguments: Any) -> Any:
    """What a module's function returns when another process runs it; a failure there is one here."""
    processes = context()
    here, there = processes.Pipe(duplex=False)
    process = processes.Process(target=_run, args=(there, body, arguments))
    process.start()
    there.close()
    try:
        done, answer = here.recv()
    except EOFError:
        process.join()
        raise AssertionError(f"the process ended with {process.exitcode}") from None
    process.join()
    assert done, answer
    return answer


def _run(pipe: Connection, body: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        pipe.send((True, body(*arguments)))
    except BaseException:
        pipe.send((False, traceback.format_exc()))
