"""The purse: which of a client's tokens a call goes with. A channel's words go with its token, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from truekeep.client import calls
from truekeep.client.wire import Call
from truekeep.errors import InvalidRequest, NotAllowed

Ask = Callable[[str, Call[dict[str, Any]]], dict[str, Any]]


class Purse:
    """The tokens of one client, and what the service says each is good for."""

    def __init__(self, tokens: list[str]) -> None:
        if not tokens:
            raise InvalidRequest("A client needs a token.", code="no_token")
        self._tokens = tokens
        self._known: dict[str, dict[str, Any]] | None = None

    @property
    def unknown(self) -> list[str]:
        """The tokens that the service has not been asked about yet."""
        return self._tokens if self._known is None else []

    def learn(self, identities: Mapping[str, dict[str, Any]]) -> None:
        """What the service says of each."""
        self._known = dict(identities)

    def pick(self, call: Call[Any]) -> str:
        """The token that a call goes with."""
        if call.via is not None:
            return self._of_channel(call.via)
        able = [token for token in self._tokens if call.needs in (self._known or {})[token]["capabilities"]]
        return able[0] if able else self._tokens[0]

    def choose(self, call: Call[Any], ask: Ask) -> str:
        """The same, after asking the service where that matters."""
        if len(self._tokens) == 1 and call.via is None:
            return self._tokens[0]
        self._learned(ask)
        return self.pick(call)

    def require(self, channel: str, ask: Ask) -> None:
        """Refuse a channel that no token is for."""
        self._learned(ask)
        self._of_channel(channel)

    def _learned(self, ask: Ask) -> None:
        if self._known is None:
            self.learn({token: ask(token, calls.identity()) for token in self._tokens})

    def _of_channel(self, channel: str) -> str:
        for token, known in (self._known or {}).items():
            if known["channel"] == channel:
                return token
        raise NotAllowed(
            "None of the client's tokens is for this channel.",
            code="no_token_for_channel",
            hint="Give connect() a token of that channel, too.",
        )
