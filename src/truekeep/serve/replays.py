"""Replays: a write that is sent again with the same Idempotency-Key gets the answer it got, and is not done twice.

Answers are remembered by this process. That a batch of memories is not stored twice holds beyond it: the keep itself
writes the request's name down with what it stored.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.responses import Response

from truekeep.errors import InvalidRequest, TicketRefused

_KEY = re.compile(r"[!-~]{1,200}", re.ASCII)
_MOST = 4_096
_MOST_BYTES = 16_000
_LIFE_SECONDS = 86_400.0


def digest(*parts: str) -> str:
    """One name for several parts."""
    lengths = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(lengths.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sending of a request that has a key."""

    name: str
    content: str

    @classmethod
    def of(cls, token_id: str, place: str, key: str, body: bytes) -> Attempt:
        """The attempt of a token at a place, under the client's key."""
        if not _KEY.fullmatch(key):
            raise InvalidRequest(
                "The Idempotency-Key cannot be used.",
                code="invalid_idempotency_key",
                hint="Use 1 to 200 printable ASCII characters without spaces.",
            )
        return cls(digest(token_id, place, key), hashlib.sha256(body).hexdigest())

    @property
    def digest(self) -> str:
        """What a keep notes: the key's and the content's."""
        return f"{self.name}.{self.content[:16]}"


@dataclass(slots=True)
class _Answer:
    content: str
    at: float = field(default_factory=time.monotonic)
    response: tuple[int, bytes, dict[str, str], str | None] | None = None


class Replays:
    """The answers to requests with a key that this process gave."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, _Answer] = OrderedDict()

    def once(self, attempt: Attempt, do: Callable[[], Response]) -> Response:
        """Do it, or answer as before."""
        with self._lock:
            known = self._answers.get(attempt.name)
            if known is None or time.monotonic() - known.at > _LIFE_SECONDS:
                known = None
                self._answers[attempt.name] = _Answer(attempt.content)
                while len(self._answers) > _MOST:
                    self._answers.popitem(last=False)
        if known is not None:
            return _again(known, attempt)
        return self._done(attempt, do)

    def forget_all(self) -> None:
        """Keep no answer any longer, because one may hold what was erased."""
        with self._lock:
            self._answers = OrderedDict((name, one) for name, one in self._answers.items() if one.response is None)

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
            self._answers.pop(attempt.name, None)


def _again(known: _Answer, attempt: Attempt) -> Response:
    if known.content != attempt.content:
        raise InvalidRequest("This Idempotency-Key came with another body.", code="another_body")
    if known.response is None:
        raise TicketRefused("The request is being worked on.", code="request_in_progress", hint="Try again shortly.")
    status, body, headers, media_type = known.response
    return Response(body, status, {**headers, "Idempotency-Replayed": "true"}, media_type)
