"""Asking an address that an operator configured: no redirects, no proxies, bounded in time and in what is read."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit

from truekeep.errors import ConfigError, ServiceUnreachable

_WHOLE = re.compile(r"[!-~]+")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LONGEST_ADDRESS = 2_000
"""Characters of an address; addresses of real receivers have a tenth of it."""


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """What came back."""

    status: int
    content: bytes


def is_loopback(host: str) -> bool:
    """Whether that is this machine, by a name that nobody else resolves."""
    return host in _LOOPBACK


def checked_address(url: str, *, unsafe_no_tls: bool = False) -> str:
    """An address to post to: https, or http on this machine, without a user's name in it."""
    try:
        parts = urlsplit(url)
        named = parts.hostname is not None and parts.username is None and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, named = SplitResult("", "", "", "", ""), False
    named = named and _is_nameable(parts.hostname or "")
    may_be_plain = unsafe_no_tls or is_loopback(parts.hostname or "")
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and may_be_plain)
    if not named or not is_safe or len(url) > _LONGEST_ADDRESS or not _WHOLE.fullmatch(url):
        raise ConfigError(
            "An address to post to cannot be used.",
            code="post_address",
            hint="Use https, or http on this machine; no user name in it. unsafe_no_tls = true lets http go further.",
        )
    return url


def _is_nameable(host: str) -> bool:
    """Whether a host's name can be looked up at all; of others the socket says so with an error of no network."""
    try:
        return bool(host.encode("idna"))
    except UnicodeError:
        return False


def shown_address(url: str) -> str:
    """An address without its path and query, which are often all the secret there is."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float, most: int) -> PostAnswer:
    """Send a body; the answer's first ``most`` bytes. A redirect is an answer like any other: nobody follows it.

    ``seconds`` bounds all of it: whoever sends an answer byte by byte is cut off.
    """
    return _asked("POST", url, body, headers, seconds, most)


def fetch(url: str, headers: Mapping[str, str], *, seconds: float, most: int) -> PostAnswer:
    """The same without a body, for what only reads."""
    return _asked("GET", url, None, headers, seconds, most)


def _asked(
    method: str, url: str, body: bytes | None, headers: Mapping[str, str], seconds: float, most: int
) -> PostAnswer:
    where = urlsplit(url)
    watch = _Watch(_connection(where, seconds), seconds)
    target = f"{where.path or '/'}{'?' + where.query if where.query else ''}"
    try:
        with watch as connection:
            connection.request(method, target, body, {"User-Agent": "truekeep", "Connection": "close", **headers})
            answer = connection.getresponse()
            content = answer.read(most)
        if watch.has_cut:  # half of the headers would pass for all of them
            raise TimeoutError
        return PostAnswer(answer.status, content)
    except (OSError, http.client.HTTPException) as error:
        raise ServiceUnreachable(
            "The receiver does not answer.", code="receiver_unreachable", hint=type(error).__name__
        ) from error


class _Watch:
    """Ends a connection when its time is over, whatever is waited for by then."""

    def __init__(self, connection: http.client.HTTPConnection, seconds: float) -> None:
        self._connection = connection
        self._line: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self.has_cut = False

    def __enter__(self) -> http.client.HTTPConnection:
        self._timer.start()
        try:
            self._connection.connect()
            _require_meant(self._connection)
        except BaseException:
            self.__exit__()
            raise
        self._line = self._connection.sock  # an answer that ends with its connection takes it away from there
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._connection.close()

    def _cut(self) -> None:
        self.has_cut = True
        with suppress(OSError, AttributeError):
            (self._line or self._connection.sock).shutdown(socket.SHUT_RDWR)


def _require_meant(connection: http.client.HTTPConnection) -> None:
    """Refuse a name that leads where no receiver is: whoever answers for it could point it at this machine, or at the
    address where clouds hand out credentials. Over https the certificate says who it is."""
    if isinstance(connection, http.client.HTTPSConnection) or is_loopback(connection.host):
        return
    peer = ip_address(connection.sock.getpeername()[0].partition("%")[0])
    peer = (peer.ipv4_mapped or peer) if isinstance(peer, IPv6Address) else peer
    if peer.is_loopback or peer.is_link_local or peer.is_unspecified:
        raise ConnectionRefusedError


def _connection(where: SplitResult, seconds: float) -> http.client.HTTPConnection:
    host = where.hostname or ""
    if where.scheme == "http":
        return http.client.HTTPConnection(host, where.port, timeout=seconds)
    return http.client.HTTPSConnection(host, where.port, timeout=seconds, context=ssl.create_default_context())
