"""The server: uvicorn with the house's limits, one process or several, until it is told to stop."""

from __future__ import annotations

import errno
import os
import resource
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn

from truekeep.errors import ConfigError
from truekeep.serve.protocol import PatientProtocol
from truekeep.serve.settings import ServeSettings

_FACTORY = "truekeep.serve.app:from_environment"


def require_free(settings: ServeSettings) -> None:
    """Whether the address can be had, asked before anybody is told that it is served there."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"Something else listens on port {settings.port}.",
                code="port_in_use",
                hint="Stop it, or choose another port with --port.",
            ) from None
        raise ConfigError(
            "The address cannot be served on.",
            code="address_unusable",
            hint="Give an address of this machine with --host, and a port above 1023 unless you are root.",
        ) from None


def run(settings: ServeSettings, home: str | Path | None) -> None:
    """Serve until a signal says stop; what is under way then is finished first."""
    settings.require_safe()
    _raise_file_limit()
    os.environ.update(settings.as_environment())
    if home is not None:
        os.environ["TRUEKEEP_HOME"] = str(home)
    uvicorn.run(_FACTORY, **options(settings), workers=settings.workers if settings.workers > 1 else None)


def options(settings: ServeSettings) -> dict[str, Any]:
    """What uvicorn is told."""
    return {
        "factory": True,
        "host": settings.host,
        "port": settings.port,
        "http": PatientProtocol,
        "ws": "none",
        "lifespan": "on",
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": settings.connections,
        "timeout_keep_alive": max(1, int(settings.header_seconds)),
        "timeout_graceful_shutdown": max(1, int(settings.drain_seconds)),
        "ssl_certfile": settings.tls_certificate or None,
        "ssl_keyfile": settings.tls_key or None,
    }


def _raise_file_limit() -> None:
    """Every open keep takes a few files and every connection one; use what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
