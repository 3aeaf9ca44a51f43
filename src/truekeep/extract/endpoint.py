"""Where a model is, and how much time, size and money it may take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

from truekeep.errors import ConfigError
from truekeep.extract.usage import Prices

_PREFIX = "TRUEKEEP_LLM_"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Where the model is and how much of everything it may take. The key is never shown."""

    base_url: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 60.0
    """Seconds for one attempt, from connecting to the last byte, however slowly they come."""
    attempts: int = 3
    backoff: float = 0.5
    max_reply_bytes: int = 1_000_000
    max_output_tokens: int = 4_000
    prices: Prices = field(default_factory=Prices)
    unsafe_plain_http: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise ConfigError("The model's base URL must be a plain http or https address.", code="model_url")
        if parts.scheme == "http" and not (self.unsafe_plain_http or _is_loopback(parts.hostname)):
            raise ConfigError(
                "The model's base URL would send conversations over the network unencrypted.",
                code="model_plain_http",
                hint="Use https, or set unsafe_plain_http for a network that you trust.",
            )
        if not self.model or self.timeout <= 0 or self.attempts < 1 or self.max_reply_bytes < 1:
            raise ConfigError("The model's name, timeout, attempts and size must be set.", code="model_settings")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self | None:
        """``TRUEKEEP_LLM_BASE_URL``, ``_MODEL`` and ``_API_KEY``; nothing when no base URL is set."""
        found = os.environ if environment is None else environment
        base_url = found.get(f"{_PREFIX}BASE_URL", "")
        if not base_url:
            return None
        timeout = found.get(f"{_PREFIX}TIMEOUT", "60")
        try:
            seconds = float(timeout)
        except ValueError:
            raise ConfigError(f"{_PREFIX}TIMEOUT must be a number of seconds.", code="model_settings") from None
        return cls(
            base_url=base_url,
            model=found.get(f"{_PREFIX}MODEL", ""),
            key=found.get(f"{_PREFIX}API_KEY", ""),
            timeout=seconds,
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
