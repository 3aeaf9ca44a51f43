"""The service's settings: the ``[serve]`` table, then ``TRUEKEEP_SERVE_*`` variables, then the command's options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from ipaddress import ip_address
from typing import Any

from truekeep.errors import ConfigError

PREFIX = "TRUEKEEP_SERVE_"
_LAST_PORT = 65_535
_SWITCH = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """All limits and defaults of the service. An unknown name is an error, never ignored."""

    host: str = "127.0.0.1"
    """Where to listen; anything but this machine needs TLS."""
    port: int = 8430
    """The port to listen on."""
    workers: int = 1
    """Processes that answer."""
    replicas: int = 1
    """Services on other hosts behind the same address, this one included, each with as many workers. A token's rate is
    shared out among them, and nothing is bound to one of them."""
    threads: int = 8
    """How many requests one worker works on at a time; the others wait their turn. More only compete for Python."""
    threads_per_token: int = 2
    """How many of them work for one token: a second one goes on while the first waits for the disk, and a third would
    only take the interpreter from others."""
    requests_at_once: int = 256
    """Requests of one token, or without one of one peer, that wait or are worked on; more are refused at once."""
    keeps: int = 128
    """How many keeps one worker holds open."""
    keeps_per_token: int = 32
    """Who goes through more keeps than this closes their own: to open a keep again costs its owner a second."""
    connections: int = 2_000
    """When so many are open, a silent one gives way, of the peer that has most."""
    header_cap: int = 65_536
    """Bytes of a request that are no body; what browsers and proxies send has a tenth of it."""
    body_cap: int = 2_000_000
    """Bytes of one request's body; a longer one is refused while it arrives."""
    backup_cap: int = 100_000_000
    """Bytes of a backup that an administrator sends to the console to be put back."""
    bodies_cap: int = 256_000_000
    """Bytes of request bodies that one worker holds at a time."""
    bodies_per_token: int = 32_000_000
    """Of them for one token: sixteen of the largest bodies."""
    header_seconds: float = 10.0
    """How long a client may take to send a request's headers before it is cut off."""
    body_seconds: float = 20.0
    """How long a client may take to send a body, beside what the service itself holds back."""
    answer_seconds: float = 20.0
    """How long a client may leave 64 KB of an answer unread before it is cut off."""
    mcp_sessions: int = 1_000
    """MCP sessions that one worker holds open."""
    mcp_sessions_per_token: int = 32
    """Each costs tasks and memory until it is idle for half an hour; whoever begins one more ends their oldest."""
    notice_seconds: float = 0.0
    """For how long a process that was told to stop goes on taking requests and says that it is not ready, so that load
    balancers turn elsewhere first."""
    drain_seconds: float = 20.0
    """How long a shutdown waits for requests that are under way."""
    requests_per_second: float = 500.0
    """Requests of one token in a second, over all workers; more are told to wait."""
    burst: int = 1_000
    """Requests that a token may send at once before its rate counts."""
    chore_seconds: float = 5.0
    """How often the background looks for sessions to extract and to let go of; 0 leaves that to somebody else."""
    webhook_seconds: float = 2.0
    """How often the background looks for what webhooks are to be told; 0 leaves that to ``truekeep webhooks send``."""
    merge_hours: float = 24.0
    """How often the memories of a keep that say the same are merged; 0 for never."""
    console: bool = True
    """Whether the review console is served under /console."""
    console_link_minutes: float = 15.0
    """How long a one-time link to the console can be used."""
    console_idle_minutes: float = 60.0
    """After how long without a request a person has to sign in again."""
    console_hours: float = 12.0
    """After how long a person has to sign in again in any case."""
    telemetry: bool = False
    """Whether traces and figures are sent over OTLP, to where the variables OTEL_EXPORTER_OTLP_* say; takes the extra
    otel. Scraping /metrics needs neither."""
    tls_certificate: str = ""
    """The file with the certificate chain; without it only this machine is served."""
    tls_key: str = ""
    """The file with its key; others must not be able to read it."""
    jwt_issuer: str = ""
    """Whose tokens are believed; empty turns JWTs off."""
    jwt_audience: str = ""
    """For whom such a token has to be meant, so that one for another service is not believed here."""
    jwt_keys: str = ""
    """A JWKS file, or the https address of one."""
    jwt_algorithms: str = "RS256 ES256 EdDSA"
    """Signatures that are believed; none that a public key could be used as a password for."""
    jwt_keep_claim: str = "truekeep_keep"
    """The claim that names the keep."""
    jwt_channel_claim: str = "truekeep_channel"
    """The claim that names the channel, and so the standing."""
    jwt_capabilities_claim: str = "truekeep_may"
    """The claim that lists what the token may do."""
    unsafe_no_auth: str = ""
    """A keep whose agent every caller is taken for."""
    unsafe_no_tls: bool = False
    """Whether other machines are served without encryption, for a proxy that adds it."""

    @classmethod
    def load(cls, table: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> ServeSettings:
        """The defaults, changed by the table, by the environment and by what was given on the command line."""
        names = {entry.name for entry in fields(cls)}
        given = {
            name: os.environ[f"{PREFIX}{name.upper()}"] for name in names if f"{PREFIX}{name.upper()}" in os.environ
        }
        values = {**table, **given, **{name: value for name, value in (options or {}).items() if value is not None}}
        if unknown := set(values) - names:
            raise ConfigError(
                f"[serve] has {len(unknown)} settings that do not exist.", hint=f"Settings: {', '.join(sorted(names))}."
            )
        return replace(cls(), **{name: _typed(name, value) for name, value in values.items()})

    @property
    def processes(self) -> int:
        """How many processes answer for the same address."""
        return max(1, self.workers) * max(1, self.replicas)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def require_safe(self) -> None:
        """Off this machine, refuse to serve in the open unless the operator says so in so many words."""
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise ConfigError("TLS takes both a certificate and a key.", code="tls_incomplete")
        if not all(os.access(path, os.R_OK) for path in (self.tls_certificate, self.tls_key) if path):
            raise ConfigError(
                "The certificate or its key cannot be read.",
                code="tls_unreadable",
                hint="Look at the paths of tls_certificate and tls_key, and at who may read the files.",
            )
        if self.is_loopback:
            return
        if self.unsafe_no_auth:
            raise ConfigError(
                "Without authentication the service stays on this machine.",
                code="unsafe_address",
                hint="Serve on 127.0.0.1, or make tokens with 'truekeep tokens add'.",
            )
        if not (self.tls_certificate or self.unsafe_no_tls):
            raise ConfigError(
                "Off this machine tokens and memories would travel in the open.",
                code="tls_missing",
                hint="Give --tls-certificate and --tls-key, or --unsafe-no-tls behind a proxy that speaks TLS.",
            )

    def as_environment(self) -> dict[str, str]:
        """The same settings as variables, for the worker processes."""
        return {f"{PREFIX}{entry.name.upper()}": str(getattr(self, entry.name)) for entry in fields(self)}


def _typed(name: str, value: Any) -> Any:
    kind: Any = type(getattr(ServeSettings(), name))
    try:
        if isinstance(value, bool) and kind is not bool:
            raise TypeError
        typed = _SWITCH[str(value).casefold()] if kind is bool else kind(value)
    except (TypeError, ValueError, KeyError):
        raise ConfigError(f"The setting serve.{name} must be a {kind.__name__}.") from None
    if name == "port" and not 0 <= typed <= _LAST_PORT:
        raise ConfigError(f"The setting serve.port must be at most {_LAST_PORT}.")
    if kind in (int, float) and not 0 <= typed < float("inf"):
        raise ConfigError(f"The setting serve.{name} must be a finite number, zero or more.")
    return typed
