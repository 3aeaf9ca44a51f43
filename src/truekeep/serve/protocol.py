"""The wire: HTTP/1.1 for clients that send too slowly, too much, or never read what they asked for.

A connection has so long for a request's headers and so long to take what is sent to it; what it announces in headers
and asks for ahead of its answers is bounded. When all connections are taken, one on which nothing is under way is
closed, of the peer that has most of them: silence keeps nobody out.

Reading costs the event loop, so it is charged to whoever sends, and a request begins when its sender's pace allows.
Until a request's headers are there nobody knows whose it is, and it is read as it comes, in few lines; its body can
wait.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from ipaddress import IPv6Address, ip_address
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from truekeep.errors import ServiceBusy
from truekeep.serve.arrival import ARRIVAL, Arrival
from truekeep.serve.pace import Lane, charged_to

GONE = "truekeep.gone"
"""Where a request's scope tells whether its client has left."""
_LANE = "truekeep.lane"
_MOST_AHEAD = 32
"""Requests that a client may send before it has its answers; each costs memory from the moment it is read."""
_MOST_HEADERS = 200
"""Lines; browsers and proxies send a tenth of it, and each one is looked at several times."""
_READ_ANYWAY = 65_536
"""Bytes of a body that are read whatever its sender owes: what lies unread when a refusal closes the connection has the
system reset it, and the refusal is lost."""
_SMALL_PIECE, _MOST_PIECES = 64, 10_000
"""Bytes of a chunk below which it is one of so many: each costs as much as a large one."""
_AT_ONCE = struct.pack("ii", 1, 0)
_REFUSED = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def peer_of(client: Any) -> str:
    """Whom a connection comes from. Of an IPv6 address the network counts, since whoever has one has all of it."""
    host = str(client[0]) if client else "unknown"
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
    return host


class PatientProtocol(HttpToolsProtocol):
    """One connection. What is allowed comes from the application it leads to, which is the edge."""

    _waits: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _beside = 0
    """Bytes that came for this request and are no body: its headers, what frames the body, what trails it."""
    _taken = 0
    """Bytes of its body that were read."""
    _pieces = 0
    """Small pieces that its body came in."""
    _lane: Lane | None = None
    """Whose the request is, from its headers on."""
    _has_more = False
    """Whether more of that request is to come."""
    _held = b""
    """What was read of it and waits for its sender's pace."""
    _arrival: Arrival | None = None
    """How long its body may take."""

    def connection_made(self, transport: Any) -> None:
        """Take a place, and begin to wait for headers."""
        super().connection_made(transport)
        self._allowed: Any = self.app.settings
        self._idle: Any = self.app.idle
        self._peer = peer_of(self.client)
        if len(self.connections) >= self._allowed.connections:
            self._make_room()
        self._idle.use(self._peer, self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._idle.drop(self)
        self._stop()
        self._read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Go on reading, when it is the sender's time, unless too much of it was no body."""
        pace = self.app.pace
        waits = self._has_more and self._taken > _READ_ANYWAY and self._lane is not None and pace.wait(self._lane)
        if self._held or waits:
            self.flow.pause_reading()
            if self._arrival is not None:
                self._arrival.hold()
            if not self._held and self._lane is not None:
                pace.begin(self._lane, self._read_on)
            self._held += data
            return
        began = time.thread_time()
        self._take_in(data)
        lane: Lane = self._lane or pace.lane(self.app.peer(self.client))
        lane.charge(time.thread_time() - began)

    def _read_on(self) -> bool:
        """Read what was held, and then what comes."""
        data, self._held = self._held, b""
        if self.transport.is_closing():
            return False
        self.data_received(data)
        if not self._held:
            self.flow.resume_reading()
            if self._arrival is not None:
                self._arrival.go_on()
        return True

    def _take_in(self, data: bytes) -> None:
        if self._beside > self._allowed.header_cap:
            self._refuse()
            return
        self._beside += len(data)
        super().data_received(data)

    def _refuse(self) -> None:
        self.transport.write(_REFUSED)
        self._give_up()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One more line, of not too many."""
        if len(self.headers) < _MOST_HEADERS:
            super().on_header(name, value)
        elif not self.transport.is_closing():
            self._refuse()

    def on_body(self, body: bytes) -> None:
        """This much was body, and may have had as much to frame it, in not too many small pieces."""
        self._beside -= 2 * len(body)
        self._taken += len(body)
        self._pieces += len(body) < _SMALL_PIECE
        if self._pieces <= _MOST_PIECES:
            super().on_body(body)
        elif not self.transport.is_closing():
            self._refuse()

    def on_message_begin(self) -> None:
        """The next request on the same connection has begun."""
        super().on_message_begin()
        self._beside = self._pieces = self._taken = 0
        self._lane, self._has_more = None, False
        self._wait()

    def on_message_complete(self) -> None:
        """All of it is here."""
        self._has_more = False
        super().on_message_complete()

    def on_headers_complete(self) -> None:
        """They are here."""
        self._stop()
        if self.transport.is_closing():
            return
        scope: Any = self.scope
        self._arrival = scope[ARRIVAL] = Arrival()
        self._lane = scope[_LANE] = self.app.lane(self.client, self.headers)
        self._has_more = True
        if len(self.pipeline) >= _MOST_AHEAD:
            self.transport.abort()
            return
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Begin with a request when its sender's pace allows. Until then nothing is under way, and it may give way."""
        lane: Lane = cycle.scope[_LANE]
        cycle.scope[GONE] = lambda: cycle.disconnected

        def begin() -> bool:
            if cycle.disconnected:
                return False
            self._idle.drop(self)
            task = self.loop.create_task(cycle.run_asgi(app), context=charged_to(lane))
            self.app.pace.began(lane)
            task.add_done_callback(lambda _: self.app.pace.ended(lane))
            task.add_done_callback(self.tasks.discard)
            self.tasks.add(task)
            return True

        self.app.pace.begin(lane, begin)

    def on_response_complete(self) -> None:
        """The answer is on its way; whoever does not take it, or goes on sending what nobody reads, is let go of."""
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._wait_until_read()
        if self.cycle.response_complete:  # else the next one, which was sent ahead, is under way by now
            self._idle.use(self._peer, self)
            if self.cycle.more_body:
                self._wait()

    def pause_writing(self) -> None:
        """More is unread than the connection may hold."""
        super().pause_writing()
        self._wait_until_read()

    def resume_writing(self) -> None:
        """Most of it was read."""
        self._read()
        super().resume_writing()

    def _make_room(self) -> None:
        try:
            other = self._idle.in_the_way(self._peer)
        except ServiceBusy:
            return  # all have requests under way: this one is told that the service is busy
        if other is not None:
            self.connections.discard(other)
            self._idle.drop(other)
            other.transport.abort()

    def _wait(self) -> None:
        self._stop()
        self._waits = self.loop.call_later(self._allowed.header_seconds, self._give_up)

    def _stop(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None

    def _give_up(self) -> None:
        self.transport.close()
        self._wait_until_read()  # closing waits for what is unread

    def _wait_until_read(self) -> None:
        if self._unread is None:
            self._unread = self.loop.call_later(self._allowed.answer_seconds, self._cut_off)

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _cut_off(self) -> None:
        self._unread = None
        if self.transport.get_write_buffer_size():
            # What lies in the system's buffers goes as well, instead of waiting for a reader after the connection.
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            self.transport.abort()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing was asked for a while."""
        self._give_up()
