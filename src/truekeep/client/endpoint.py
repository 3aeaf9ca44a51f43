"""The endpoint: where the service is and how it is reached, always verified and never by what the environment says."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truekeep.client.address import checked_address
from truekeep.client.exchange import Patience, Send
from truekeep.client.token import Token, tokens_of
from truekeep.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    import httpx

_CONNECTIONS = 100


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the service is and how it is reached, checked."""

    address: str
    tokens: tuple[Token, ...]
    patience: Patience
    trust: ssl.SSLContext | None

    @classmethod
    def checked(
        cls,
        address: str,
        token: str | Iterable[str],
        patience: Patience,
        trust: ssl.SSLContext | None,
        unsafe_plain_http: bool,
    ) -> Endpoint:
        """An endpoint whose certificate is verified, whatever is passed."""
        if trust is not None and (trust.verify_mode is not ssl.CERT_REQUIRED or not trust.check_hostname):
            raise ConfigError(
                "Certificates are always verified.", code="unverified_tls", hint="Load your own authority into trust=…."
            )
        return cls(checked_address(address, unsafe_plain_http=unsafe_plain_http), tokens_of(token), patience, trust)

    def options(self) -> dict[str, Any]:
        """What httpx is told: nothing from the environment, no other host, no more connections than that."""
        library = httpx_library()
        return {
            "verify": self.trust if self.trust is not None else _trust(),
            "follow_redirects": False,
            "trust_env": False,
            "limits": library.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS),
        }

    def arguments(self, step: Send) -> dict[str, Any]:
        """A request as httpx takes it; the token is put in when it goes out."""
        request = step.request
        return {
            "method": request.method,
            "url": self.address + request.path,
            "params": list(request.query) or None,
            "content": request.body,
            "headers": {"Accept": "application/json", "Accept-Encoding": "identity", **request.headers},
            "auth": functools.partial(_authorized, request.token),
            "timeout": step.seconds,
        }


def httpx_library() -> Any:
    """The HTTP library, which is an extra."""
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("client") from None
    return httpx


@functools.cache
def _trust() -> ssl.SSLContext:
    """The certificates to trust; loading them takes longer than most requests, so it is done once."""
    context: ssl.SSLContext = httpx_library().create_ssl_context(trust_env=False)
    return context


def _authorized(token: Token, request: httpx.Request) -> httpx.Request:
    request.headers["Authorization"] = token.authorization()
    return request
