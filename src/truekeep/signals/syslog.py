"""Lines sent to a system's log: RFC 5424, over TCP (with octet counts, RFC 6587), TLS, UDP or a Unix socket."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from truekeep.errors import ConfigError, ServiceUnreachable
from truekeep.signals.kinds import report_of
from truekeep.signals.post import is_loopback
from truekeep.types import AuditEvent, utc_text

_SECONDS = 10.0
"""How long the receiver may take for one line."""
_AUDIT = 13
"""The facility of audit logs."""
_LEVELS = {1: 6, 2: 5, 3: 4, 4: 3, 5: 2}
"""From the table's severities to the levels of syslog: informational, notice, warning, error, critical."""
_SCHEMES = ("tcp", "tls", "udp", "unix")
_HINT = "Write tcp://host:port, tls://host:port, udp://host:port or unix:///dev/log."


@dataclass(frozen=True, slots=True)
class SyslogPlace:
    """Where lines go."""

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""

    @classmethod
    def parsed(cls, address: str, *, unsafe_no_tls: bool = False) -> SyslogPlace:
        """The place an operator named; off this machine only encrypted, unless they say otherwise."""
        try:
            where = urlsplit(address)
            made = cls(where.scheme, where.hostname or "", where.port or 0, where.path)
        except ValueError:
            made = cls("")
        is_whole = bool(made.path) if made.scheme == "unix" else bool(made.host and made.port)
        if made.scheme not in _SCHEMES or not is_whole:
            raise ConfigError("The syslog address is not understood.", code="syslog_address", hint=_HINT)
        if made.scheme in ("tcp", "udp") and not unsafe_no_tls and not is_loopback(made.host):
            raise ConfigError(
                "Lines for another machine are sent encrypted only.",
                code="syslog_insecure",
                hint="Use tls://host:port, a receiver on this machine, or --unsafe-no-tls.",
            )
        return made


class Syslog:
    """An open connection to a place."""

    def __init__(self, line: socket.socket, place: SyslogPlace) -> None:
        self._line, self._place = line, place

    def send(self, event: AuditEvent, text: str) -> None:
        """One event; ``text`` is what follows the header."""
        level = _AUDIT * 8 + _LEVELS[report_of(event).severity]
        head = f"<{level}>1 {utc_text(event.at)} {socket.gethostname()} truekeep {os.getpid()} {event.kind} - "
        message = (head + text).encode("ascii", "backslashreplace")
        is_stream = self._place.scheme in ("tcp", "tls")
        try:
            self._line.sendall(str(len(message)).encode() + b" " + message if is_stream else message)
        except OSError as error:
            raise _gone(error) from error


@contextmanager
def syslog(place: SyslogPlace) -> Iterator[Syslog]:
    """A connection for the block."""
    with ExitStack() as stack:
        try:
            line = _connected(place, stack)
        except OSError as error:
            raise _gone(error) from error
        yield Syslog(line, place)


def _connected(place: SyslogPlace, stack: ExitStack) -> socket.socket:
    if place.scheme in ("tcp", "tls"):
        line = stack.enter_context(socket.create_connection((place.host, place.port), _SECONDS))
        if place.scheme == "tcp":
            return line
        encrypted = ssl.create_default_context().wrap_socket(line, server_hostname=place.host)
        return stack.enter_context(encrypted)
    family, address = socket.AF_UNIX, place.path
    if place.scheme == "udp":
        family, *_, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_DGRAM)[0]  # type: ignore[assignment]
    line = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
    line.settimeout(_SECONDS)
    line.connect(address)
    return line


def _gone(error: OSError) -> ServiceUnreachable:
    return ServiceUnreachable(
        "The syslog receiver does not take lines.", code="syslog_unreachable", hint=type(error).__name__
    )
