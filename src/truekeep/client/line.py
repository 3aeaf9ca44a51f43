"""The line to one keep of a service: whose token a call goes out with, and how it is sent and answered."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from truekeep.client.answers import Reply, read
from truekeep.client.exchange import Patience, Request, Steps, exchanged
from truekeep.client.members import Members
from truekeep.client.token import Token
from truekeep.errors import InvalidRequest, NotAllowed
from truekeep.origin import keep_name

KEEP_HEADER = "Truekeep-Keep"


@dataclass(frozen=True, slots=True)
class Caller:
    """A token, and what the service says that it is for."""

    token: Token
    keep: str
    channel: str
    capabilities: frozenset[str]
    channel_capabilities: frozenset[str]
    signs_as: str

    def may(self, capability: str, of_channel: str | None = None) -> bool:
        """Whether the token allows it, and the channel what goes with it."""
        return capability in self.capabilities and (of_channel is None or of_channel in self.channel_capabilities)


class Line:
    """Sends the calls of one client. It keeps nothing but what the service said of its tokens."""

    def __init__(self, tokens: tuple[Token, ...], patience: Patience, keep: str | None = None) -> None:
        self._tokens = tokens
        self._patience = patience
        self.keep = keep_name(keep) if keep is not None else None
        self._callers: tuple[Caller, ...] | None = None

    def callers(self) -> Steps[tuple[Caller, ...]]:
        """Every token with what it is for; the service is asked once."""
        if self._callers is None:
            found = []
            for token in self._tokens:
                reply = yield from self._sent(token, "GET", "/v1/identity", True)
                found.append(_caller(token, reply.members))
            if len({one.keep for one in found}) != 1:
                raise InvalidRequest("The tokens are for different keeps.", code="several_keeps")
            self._callers = tuple(found)
            self.keep = found[0].keep
        return self._callers

    def caller(self, capability: str, via: str | None = None, *, of_channel: str | None = None) -> Steps[Caller]:
        """The token to use: one of the channel that is named, and one that may. The channel is never another one."""
        known = yield from self.callers()
        named = [one for one in known if via in (None, one.channel)]
        if not named:
            raise NotAllowed(
                "No token of this client is for that channel.",
                code="channel_fixed",
                hint=f"A token fixes its channel ({', '.join(dict.fromkeys(one.channel for one in known))} here); "
                "add one with 'truekeep tokens add' and give it to the client as well.",
            )
        able = [one for one in named if one.may(capability, of_channel)]
        return (able or named)[0]

    def writer(self, via: str | None, capability: str = "write") -> Steps[Caller]:
        """The token to write with; which channel that is has to be said where there is a choice."""
        known = yield from self.callers()
        able = [one for one in known if one.may(capability)] or known
        if via is None and len({one.channel for one in able}) > 1:
            raise InvalidRequest(
                "This client has tokens of several channels.", code="via_missing", hint="Say which with via=…."
            )
        return (yield from self.caller(capability, via))

    def ask(
        self,
        caller: Caller,
        method: str,
        *path: str,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        is_repeatable: bool = True,
    ) -> Steps[Reply]:
        """Send one call. A key is made once a call and goes out with every attempt."""
        where = "/v1/" + "/".join(_segment(part) for part in path)
        pairs = tuple((name, str(value)) for name, value in (query or {}).items() if value is not None)
        more = {"Idempotency-Key": key, **(headers or {})} if key is not None else headers or {}
        content = encoded(body) if body is not None else None
        return (yield from self._sent(caller.token, method, where, is_repeatable, pairs, content, more))

    def _sent(
        self,
        token: Token,
        method: str,
        path: str,
        is_repeatable: bool,
        query: tuple[tuple[str, str], ...] = (),
        body: bytes | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Steps[Reply]:
        headers = {KEEP_HEADER: self.keep} if self.keep is not None else {}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        request = Request(method, path, token, query, body, headers | dict(more or {}), is_repeatable)
        answer = yield from exchanged(request, self._patience)
        return read(answer.status, answer.headers, answer.body)


def new_key(request: str | None = None) -> str:
    """A name for one logical call; the caller's own name for it if there is one, so that it holds across processes."""
    if request is None:
        return secrets.token_urlsafe(24)
    return "request-" + hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest()


def encoded(body: Mapping[str, Any]) -> bytes:
    """A body as JSON."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        raise InvalidRequest("What is passed must be plain JSON.", code="not_json") from None


def _segment(part: str) -> str:
    """One part of a path; an id cannot lead anywhere else."""
    if not isinstance(part, str) or not part or part in (".", "..") or len(part) > 1_000:
        raise InvalidRequest("That id or name cannot be used.", code="invalid_id")
    try:
        return quote(part, safe="")
    except UnicodeEncodeError:
        raise InvalidRequest("That id or name cannot be used.", code="invalid_id") from None


def _caller(token: Token, held: Mapping[str, Any]) -> Caller:
    members = Members(held)
    if held.get("channel_capabilities", ()) is None:
        raise InvalidRequest(
            "This token covers several keeps, and none is named.", code="keep_not_named", hint="Say which with keep=…."
        )
    return Caller(
        token=token,
        keep=members.text("keep"),
        channel=members.text("channel"),
        capabilities=frozenset(members.texts("capabilities")),
        channel_capabilities=frozenset(members.texts("channel_capabilities")),
        signs_as=members.text("signs_as"),
    )
