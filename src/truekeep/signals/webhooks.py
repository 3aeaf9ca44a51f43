"""Webhooks: what the operator configured, and the messages that are sent, signed as https://standardwebhooks.com says.

A message has ids and codes, never what somebody said, and no name that somebody else chose. Its id is made of the keep
and the event, so a message that is sent twice is known again.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from truekeep import disk
from truekeep.data import read_table
from truekeep.errors import ConfigError, is_plain_name
from truekeep.signals.post import checked_address
from truekeep.types import AuditEvent, utc_text

TAMPERED, TEST = "tampered", "test"
"""Topics that no event of the log stands for."""
_MEMBERS = ("item", "ticket", "memory", "incident", "what", "code", "decision", "channel")
"""Members of events that are sent on: the keep's own ids and codes, and the operator's channels."""
_CODE = re.compile(r"[\w:.@-]{1,200}", re.ASCII)
_SHORTEST_SECRET = 24
"""Bytes: fewer can be guessed from one message and its signature."""
_LONGEST_SECRET = 1_000
"""Bytes of the file that holds it."""
_HINT = "Give env:NAME or file:PATH with at least 24 random bytes; whsec_ and base64 is understood, too."


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """One ``[webhooks.NAME]`` table."""

    url: str
    """Where messages go: an https address, or ``env:NAME`` or ``file:PATH`` of one, as an address may be a secret."""
    secret: str
    """Where the key of the signatures is: ``env:NAME`` or ``file:PATH``. It stands in no settings file."""
    events: tuple[str, ...] = ("held", "confirm", "tampered", "revoked")
    """What is told: held, confirm, denied, rejected, revoked, tampered."""
    shape: str = "standard"
    """``standard``, or ``slack`` for receivers that take one member ``text``."""
    seconds: float = 10.0
    """How long a receiver may take to answer; up to 20."""
    unsafe_no_tls: bool = False
    """Whether messages go to other machines unencrypted."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A receiver, ready to be sent to."""

    name: str
    settings: WebhookSettings
    url: str = field(repr=False)
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """What is sent to one receiver about one event."""

    id: str
    topic: str
    at: str
    data: Mapping[str, Any]
    seq: int = 0
    """The number of the event."""
    hash: str = ""
    """Its hash in the chain."""
    damage: str = ""
    """What is wrong with a keep that was tampered with, in short."""

    def body(self, shape: str) -> bytes:
        """The message as it is sent."""
        said = topics()[self.topic]["says"].format_map(_Known(self.data))
        if shape == "slack":
            return json.dumps({"text": said}).encode()
        kind = f"truekeep.{self.topic}"
        return json.dumps({"type": kind, "timestamp": self.at, "text": said, "data": dict(self.data)}).encode()


class _Known(dict[str, Any]):
    """What a sentence is filled in with; what an event does not have stands as nothing."""

    def __missing__(self, key: str) -> str:
        return "-"


def webhooks_of(tables: Mapping[str, Any]) -> tuple[Webhook, ...]:
    """The receivers that the ``[webhooks.NAME]`` tables name, with their keys read."""
    return tuple(_webhook(name, table) for name, table in tables.items())


def _webhook(name: str, table: Any) -> Webhook:
    settings = checked(name, table)
    url = _resolved(settings.url) if settings.url.startswith(("env:", "file:")) else settings.url
    return Webhook(name, settings, checked_address(url, unsafe_no_tls=settings.unsafe_no_tls), _key(settings.secret))


def checked(name: str, table: Any) -> WebhookSettings:
    """The settings of one receiver, their types and values checked; its key and address are not looked up."""
    known = [one.name for one in fields(WebhookSettings)]
    if not is_plain_name(name):
        raise ConfigError("A webhook's name is a word of letters, digits and underscores.")
    if not isinstance(table, dict) or set(table) - set(known):
        raise ConfigError(f"[webhooks.{name}] takes {', '.join(known)} only.")
    made = WebhookSettings(**{"url": "", "secret": "", **table})
    typed = isinstance(made.url, str) and isinstance(made.secret, str) and isinstance(made.unsafe_no_tls, bool)
    if not typed or isinstance(made.seconds, bool) or not isinstance(made.seconds, int | float):
        raise ConfigError(f"[webhooks.{name}] has a value of another type than its setting.")
    if not 0 < made.seconds <= 20 or made.shape not in ("standard", "slack"):
        raise ConfigError(f"[webhooks.{name}] seconds is up to 20, shape is standard or slack.")
    told = sorted(set(topics()) - {TEST})
    is_list = isinstance(made.events, list | tuple) and bool(made.events)
    if not is_list or not all(one in told for one in made.events):
        raise ConfigError(f"[webhooks.{name}] events are some of {', '.join(told)}.")
    if not made.url or not made.secret.startswith(("env:", "file:")):
        raise ConfigError(f"[webhooks.{name}] needs url and secret.", hint=_HINT)
    return made


def _key(source: str) -> bytes:
    secret = _resolved(source)
    if secret.startswith("whsec_"):
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            key = b""
    else:
        key = secret.encode()
    if len(key) < _SHORTEST_SECRET:
        raise ConfigError("The secret of a webhook is too short.", code="webhook_secret", hint=_HINT)
    return key


def _resolved(source: str) -> str:
    """What is in a variable or in a file that nobody else can write; errors repeat nothing of it."""
    kind, _, rest = source.partition(":")
    try:
        text = os.environ.get(rest, "") if kind == "env" else disk.read_trusted(Path(rest), _LONGEST_SECRET).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "A file that a webhook names cannot be read.", code="webhook_secret", hint=type(error).__name__
        ) from None
    return text.strip()


@cache
def topics() -> dict[str, dict[str, Any]]:
    """What can be told of, by its name."""
    return read_table("signals", "topics.toml")


def kinds_of(webhook: Webhook) -> frozenset[str]:
    """The kinds of events that a receiver is told of."""
    return frozenset(kind for one in webhook.settings.events if (kind := topics()[one].get("kind")))


def message_of(event: AuditEvent, keep: str, wanted: tuple[str, ...]) -> WebhookMessage | None:
    """The message about an event, if it is one that is wanted."""
    for topic in wanted:
        row = topics()[topic]
        members = row.get("with", {}).items()
        if row.get("kind") == event.kind and all(event.body.get(name) == value for name, value in members):
            given = ((name, event.body.get(name)) for name in _MEMBERS)
            known = {name: value for name, value in given if isinstance(value, str) and _CODE.fullmatch(value)}
            data = {"keep": keep, "event": event.seq, "kind": event.kind, **known}
            return WebhookMessage(
                f"{keep}-{event.seq}-{event.hash[:12]}", topic, utc_text(event.at), data, event.seq, event.hash
            )
    return None


def headers_of(message: WebhookMessage, body: bytes, key: bytes, sent: int) -> dict[str, str]:
    """The headers of one attempt, signed over the id, the second it is sent in and the body."""
    signed = hmac.digest(key, f"{message.id}.{sent}.".encode() + body, "sha256")
    return {
        "Content-Type": "application/json",
        "webhook-id": message.id,
        "webhook-timestamp": str(sent),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }
