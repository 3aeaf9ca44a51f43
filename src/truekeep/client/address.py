"""The address of a service: encrypted, or on this machine, and without anything that does not belong into one."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from truekeep.errors import ConfigError

_LONGEST = 2_000


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
