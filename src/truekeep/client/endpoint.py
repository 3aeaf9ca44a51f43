"""Where the service is and how it is reached: always verified, and never by what the environment says.

The address is encrypted, or on this machine, and holds nothing that does not belong into one. A token cannot be printed
by accident: not in a repr, a log, an error or a pickle.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from truekeep.client.exchange import BearerToken, RetryPatience, Send
from truekeep.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    import httpx

_LONGEST = 2_000
"""The longest URL that browsers agree on."""
_MOST = 100
"""Each is asked about once when the client begins."""
_CONNECTIONS = 100


def checked_address(address: object, *, unsafe_plain_http: bool = False) -> str:
    """The address without its last slash; a token never travels in the open unless that is asked for."""
    if not isinstance(address, str) or len(address) > _LONGEST or not address.isprintable() or " " in address:
        raise _unusable("The service's address cannot be used.")
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise _unusable("The service's address cannot be used.") from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise _unusable("The service's address cannot be used.")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "A token does not belong into the address: addresses end up in logs.",
            code="token_in_address",
            hint="Give it as token=….",
        )
    if parts.scheme == "http" and not (unsafe_plain_http or _is_this_machine(host)):
        raise ConfigError(
            "Over plain http the token and the memories would travel in the open.",
            code="plain_http",
            hint="Use https, or say unsafe_plain_http=True on a network that you trust as you trust this machine.",
        )
    return address.rstrip("/")


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unusable(message: str) -> ConfigError:
    return ConfigError(message, code="invalid_address", hint="It looks like https://memory.example or with a path.")


def tokens_of(given: str | Iterable[str]) -> tuple[BearerToken, ...]:
    """One token or several, one for each channel or task."""
    listed = (given,) if isinstance(given, str) else tuple(given)
    if not 1 <= len(listed) <= _MOST:
        raise ConfigError(f"A client has 1 to {_MOST} tokens.", code="invalid_token")
    return tuple(BearerToken(one) for one in listed)


@dataclass(frozen=True, slots=True)
class ServiceEndpoint:
    """Where the service is and how it is reached, checked."""

    address: str
    tokens: tuple[BearerToken, ...]
    patience: RetryPatience
    trust: ssl.SSLContext | None

    @classmethod
    def checked(
        cls,
        address: str,
        token: str | Iterable[str],
        patience: RetryPatience,
        trust: ssl.SSLContext | None,
        unsafe_plain_http: bool,
    ) -> ServiceEndpoint:
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


def _authorized(token: BearerToken, request: httpx.Request) -> httpx.Request:
    request.headers["Authorization"] = token.authorization()
    return request
