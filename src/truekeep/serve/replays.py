"""Replays: a write that is sent again with the same Idempotency-Key gets the answer it got, and is not done twice.

Answers are remembered by this process, and where keeps are in a database they are shared with all others, sealed. That
a batch of memories is not stored twice needs neither: the keep itself writes the request's name down with what it
stored, and the answer is made of that note. Once something was erased in a keep, by whichever process, no answer from
before is given again: it may hold what was erased.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from starlette.responses import Response

from truekeep.config import NAME_CAP
from truekeep.errors import InvalidRequest, TicketRefused, TruekeepError
from truekeep.records.idempotency import RequestDone
from truekeep.serve.limits import Shares

if TYPE_CHECKING:
    from truekeep.stores.postgres_service import SharedState

_KEY = re.compile(rf"[!-~]{{1,{NAME_CAP}}}", re.ASCII)
_MOST, _MOST_OF_ONE = 4_096, 512
"""Answers that are kept for requests sent again, and of them those of one token; the oldest go first."""
_MOST_BYTES = 16_000
"""A larger answer is not kept: the keep itself knows that the request was done."""
_LIFE_SECONDS = 86_400.0
"""A client that comes back after more than a day asks anew."""


def digest(*parts: str) -> str:
    """One name for several parts."""
    lengths = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(lengths.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sending of a request that has a key."""

    name: str
    content: str
    token: str = ""
    keep: str = ""

    @classmethod
    def of(
        cls, who: tuple[str, ...], what: tuple[str, ...], key: str, body: bytes, token: str = "", keep: str = ""
    ) -> Attempt:
        """Somebody's attempt at something, under the client's key; its answer takes one of the token's places."""
        if not _KEY.fullmatch(key):
            raise InvalidRequest(
                "The Idempotency-Key cannot be used.",
                code="invalid_idempotency_key",
                hint=f"Use 1 to {NAME_CAP} printable ASCII characters without spaces.",
            )
        return cls(digest(digest(*who), digest(*what), key), hashlib.sha256(body).hexdigest(), token, keep)

    @property
    def digest(self) -> str:
        """What a keep notes: the key's and the content's."""
        return digest(self.name, self.content)


class ErasureLog(Protocol):
    """Knows what was erased in the keep that a request is about."""

    def head(self) -> int:
        """How far the keep's log goes."""

    def has_erased_since(self, head: int) -> bool:
        """Whether anything was erased since the log went that far."""


@dataclass(slots=True)
class _Answer:
    content: str
    head: int
    """How far the keep's log went before it was given."""
    at: float = field(default_factory=time.monotonic)
    response: tuple[int, bytes, dict[str, str], str | None] | None = None
    is_erased: bool = False


class Replays:
    """The answers to requests with a key that this process gave, or others that share theirs."""

    def __init__(self, shared: SharedState | None = None) -> None:
        self._lock = threading.Lock()
        self._answers: dict[str, _Answer] = {}
        self._shares: Shares[str] = Shares(_MOST, _MOST_OF_ONE)
        self._shared = shared

    def once(
        self, attempt: Attempt, log: ErasureLog | None, do: Callable[[], Response], *, is_made_anew: bool = False
    ) -> Response:
        """Do it, or answer as before; without a log, also after an erasure: the answer holds nothing to erase.

        An answer that ``is_made_anew`` of what the keep noted is not shared: every process can make it.
        """
        shared = None if is_made_anew else self._shared
        head = log.head() if log is not None else 0
        known = self._known(attempt, head)
        if known is None:
            try:
                known = _of_another(shared, attempt)
            except BaseException:
                self._forget(attempt)
                raise
            if known is None:
                return self._told(attempt, log, head, self._done(attempt, do), shared)
            with self._lock:
                self._answers[attempt.name] = known
        if log is not None and known.response is not None and log.has_erased_since(known.head):
            with self._lock:
                known.response, known.is_erased = None, True
        return _again(known, attempt)

    def _known(self, attempt: Attempt, head: int) -> _Answer | None:
        """What was answered here, or is being worked on here; if nothing, it is from now on."""
        with self._lock:
            known = self._answers.get(attempt.name)
            if known is None or time.monotonic() - known.at > _LIFE_SECONDS:
                known = None
                self._shares.drop(attempt.name)
                if (oldest := self._shares.in_the_way(attempt.token)) is not None:
                    self._drop(oldest)
                self._answers[attempt.name] = _Answer(attempt.content, head)
                self._shares.use(attempt.token, attempt.name)
            return known

    def _told(
        self, attempt: Attempt, log: ErasureLog | None, head: int, response: Response, shared: SharedState | None
    ) -> Response:
        """Share an answer. What was asked for is done, so a database that fails now changes nothing about it."""
        if shared is None:
            return response
        with self._lock:
            known = self._answers.get(attempt.name)
        with suppress(TruekeepError):
            if log is None or log.has_erased_since(head):
                shared.drop_answers(attempt.keep)
            if known is not None and known.response is not None:
                status, body, headers, media_type = known.response
                told = [known.content, known.head, status, body.decode("latin-1"), headers, media_type]
                shared.keep_answer(attempt.keep, attempt.name, json.dumps(told).encode())
        return response

    def _done(self, attempt: Attempt, do: Callable[[], Response]) -> Response:
        try:
            response = do()
        except BaseException:
            self._forget(attempt)  # nothing was done, or nobody knows: the next attempt finds out
            raise
        body = bytes(response.body)
        if response.status_code >= 400 or len(body) > _MOST_BYTES:
            self._forget(attempt)
        else:
            with self._lock:
                if attempt.name in self._answers:
                    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
                    kept = (response.status_code, body, headers, response.media_type)
                    self._answers[attempt.name].response = kept
        return response

    def _forget(self, attempt: Attempt) -> None:
        with self._lock:
            self._drop(attempt.name)

    def _drop(self, name: str) -> None:
        self._answers.pop(name, None)
        self._shares.drop(name)


def _of_another(shared: SharedState | None, attempt: Attempt) -> _Answer | None:
    """What another process answered."""
    told = shared.answer(attempt.keep, attempt.name) if shared is not None else None
    if told is None:
        return None
    content, head, status, body, headers, media_type = json.loads(told)
    return _Answer(content, head, response=(status, body.encode("latin-1"), headers, media_type))


def _again(known: _Answer, attempt: Attempt) -> Response:
    if known.content != attempt.content:
        raise InvalidRequest("This Idempotency-Key came with another body.", code="another_body")
    if known.is_erased:
        raise RequestDone(())
    if known.response is None:
        raise TicketRefused("The request is being worked on.", code="request_in_progress", hint="Try again shortly.")
    status, body, headers, media_type = known.response
    return Response(body, status, {**headers, "Idempotency-Replayed": "true"}, media_type)
