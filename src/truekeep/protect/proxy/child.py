"""The server behind the proxy as a child process: bounded lines, few variables, and no life of its own.

The protocol's library reads a line however long it is, lets the server write to our standard error, and leaves a child
behind that ignores its closed input when the proxy is killed. Here a line has an end, what the server says beside the
protocol is sanitised, and on Linux the kernel ends the child with us.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from truekeep.errors import InvalidRequest
from truekeep.trust import fence

MOST_BYTES = 4_000_000
"""The longest message of a server's; a longer one ends the connection: its rest cannot be told from the next."""
_LONGEST_SAID, _MOST_SAID = 500, 1_000
"""How much of the server's standard error is shown: of a line, and lines in all."""
_MOST_DROPPED = 20
"""How often it is said that a line was no message; a server can send them without end."""
_ID, _MARGIN = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]'), 200
_PATIENCE = 2.0
_PR_SET_PDEATHSIG = 1

Say = Callable[[str], None]
_Incoming = ObjectSendStream[SessionMessage | Exception]


def environment(passed: Sequence[str]) -> dict[str, str]:
    """What the server gets of our environment: what any program needs, and the variables that the operator names."""
    return get_default_environment() | {name: os.environ[name] for name in passed if name in os.environ}


@asynccontextmanager
async def child_transport(command: Sequence[str], passed: Sequence[str], say: Say) -> AsyncIterator[Any]:
    """Start the server, and give the streams that a client of the protocol reads and writes."""
    process = await _started(command, environment(passed))
    sink, source, said = process.stdin, process.stdout, process.stderr
    if sink is None or source is None or said is None:
        raise RuntimeError("a child without pipes")
    incoming, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, source, incoming, say)
            tasks.start_soon(_write, sink, outgoing)
            tasks.start_soon(_listen, said, say)
            yield reading, writing
            tasks.cancel_scope.cancel()
    finally:
        for stream in (incoming, reading, writing, outgoing):
            stream.close()
        with anyio.CancelScope(shield=True):
            await _ended(process)


async def _started(command: Sequence[str], variables: dict[str, str]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=variables,
            limit=MOST_BYTES,
            start_new_session=True,
            preexec_fn=dies_with_us(os.getpid()),
        )
    except (OSError, ValueError):
        raise InvalidRequest(
            "The server cannot be started.", code="server_not_started", hint="Check the command after '--'."
        ) from None


def dies_with_us(parent: int) -> Callable[[], None] | None:
    """Have the kernel end the child when we end, however we do. Elsewhere its closed input has to do."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # we ended before the kernel was told

    return bind


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Close a server's input, give it a moment, then end its whole group."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


async def _read(source: asyncio.StreamReader, incoming: _Incoming, say: Say) -> None:
    """Hand on every message; a line that is none is refused, and one without an end ends the connection."""
    dropped = 0
    async with incoming:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                try:
                    line = await source.readline()
                except ValueError:
                    say("a message of the server was too long; the connection is closed")
                    return
                if not line:
                    return
                try:
                    await incoming.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
                except ValueError:
                    dropped += 1
                    if dropped <= _MOST_DROPPED:
                        say("a line of the server's was no message and was dropped")
                    for number in _answered(line):
                        await incoming.send(SessionMessage(_unreadable(number)))


def _answered(line: bytes) -> list[int]:
    """The call that an unreadable line answers, by its head or its end: whoever made it need not wait any longer."""
    found = _ID.findall(line[:_MARGIN]) or _ID.findall(line[-_MARGIN:])
    return [int(number) for number in found[:1]]


def _unreadable(number: int) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=PARSE_ERROR, message="unreadable"))


async def _write(sink: asyncio.StreamWriter, outgoing: ObjectReceiveStream[SessionMessage]) -> None:
    async with outgoing:
        with suppress(OSError):
            async for message in outgoing:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                sink.write(f"{line}\n".encode())
                await sink.drain()


async def _listen(source: asyncio.StreamReader, say: Say) -> None:
    """Show what the server says beside the protocol, sanitised and not without end; the rest is read and dropped."""
    shown, held = 0, b""
    while chunk := await source.read(65_536):
        *lines, held = (held + chunk).split(b"\n")
        held = held[:_LONGEST_SAID]
        for line in lines:
            shown += 1
            if shown <= _MOST_SAID:
                say(f"server: {fence.one_line(line[:_LONGEST_SAID].decode(errors='replace'))}")


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Close its input, give it a moment, then end its whole group."""
    if process.stdin is not None:
        process.stdin.close()
    with anyio.move_on_after(_PATIENCE):
        await process.wait()
    with suppress(ProcessLookupError, PermissionError):
        # The group, also when the server itself is gone: what it started must not go on without it.
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(_PATIENCE):
        await process.wait()
