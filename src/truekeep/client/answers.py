"""Answers: what the service says becomes members or one of the house's errors; whatever else comes back is refused.

Members are read with their types: what is not of its type is not the service's answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from truekeep import errors
from truekeep.errors import AnswerRefused, TruekeepError
from truekeep.trust import fence

T = TypeVar("T")
ANSWER_CAP = 64_000_000
"""Bytes of an answer; more is not read."""
_JSON, _PROBLEM = "application/json", "application/problem+json"
_BUSY = frozenset({"rate_limited", "service_busy", "keep_closed", "store_busy", "shutting_down", "not_ready"})
_LONGEST = 500
"""Characters of an error that are shown: people and models read it, whoever wrote it."""
_BY_STATUS: dict[int, type[TruekeepError]] = {
    400: errors.InvalidRequest,
    401: errors.NotAuthenticated,
    403: errors.NotAllowed,
    404: errors.UnknownId,
    409: errors.NotAllowed,
    412: errors.InvalidRequest,
    413: errors.InvalidRequest,
    422: errors.InvalidRequest,
    428: errors.InvalidRequest,
    429: errors.ServiceBusy,
    503: errors.ServiceBusy,
}


class Members:
    """The members of one JSON object."""

    __slots__ = ("_held",)

    def __init__(self, held: object) -> None:
        if not isinstance(held, Mapping):
            raise malformed()
        self._held = held

    def text(self, name: str) -> str:
        """A string."""
        return self._of(name, str)

    def maybe_text(self, name: str) -> str | None:
        """A string, or nothing."""
        return None if self._held.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        """True or false."""
        return self._of(name, bool)

    def counts(self, name: str) -> dict[str, int]:
        """How many of each."""
        counts = self.mapping(name)
        if any(type(count) is not int for count in counts.values()):
            raise malformed()
        return counts

    def mapping(self, name: str) -> dict[str, Any]:
        """An object as it is."""
        return dict(self._of(name, dict))

    def everything(self) -> dict[str, Any]:
        """All of them as they are."""
        return dict(self._held)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        return self.each(name, as_text)

    def each(self, name: str, read: Callable[[Any], T]) -> tuple[T, ...]:
        """A list, each entry read."""
        return tuple(read(entry) for entry in self._of(name, list))

    def _of(self, name: str, kind: type[T]) -> T:
        value = self._held.get(name)
        if not isinstance(value, kind):
            raise malformed()
        return value


def as_text(value: object) -> str:
    """A string."""
    if not isinstance(value, str):
        raise malformed()
    return value


def as_list(value: object, length: int | None = None) -> Iterable[Any]:
    """A list, perhaps of a known length."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise malformed()
    return value


def malformed() -> AnswerRefused:
    """The answer is JSON, but not what the service says."""
    return AnswerRefused(
        "The answer has not the form that the service gives it.",
        code="malformed_answer",
        hint="Check that the service and the client are of the same version.",
    )


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """A readable answer: its members, and whether the gate rejected what was sent."""

    members: Mapping[str, Any]
    is_rejection: bool = False


def read(status: int, headers: Mapping[str, str], body: bytes) -> ServiceReply:
    """The members of an answer. A rejection is an answer; every other refusal is raised as the error it was."""
    if 300 <= status < 400:
        raise AnswerRefused(
            "The service sent the client elsewhere, which it does not follow.",
            code="redirected",
            hint="Give the address that the service itself answers at.",
        )
    media_type = _media_type(headers)
    members = _members(body) if media_type in (_JSON, _PROBLEM) else None
    if 200 <= status < 300 and media_type == _JSON and members is not None:
        return ServiceReply(members)
    if status >= 400 and media_type == _PROBLEM and members is not None:
        if status == 422 and members.get("decision") == "reject":
            return ServiceReply(members, is_rejection=True)
        raise error_of(status, members)
    raise AnswerRefused(
        f"Something other than the service answered, with status {status}.",
        hint="Check the address, and what stands between here and the service.",
    )


def error_of(status: int, members: Mapping[str, Any]) -> TruekeepError:
    """The error that a problem stands for: of the same class, with the same code and words."""
    kind = _FAMILIES.get(_text(members, "family")) or _FAMILIES.get(_text(members, "code"))
    kind = kind or _BY_STATUS.get(status, TruekeepError)
    message = _text(members, "detail") or f"The service refused the request with status {status}."
    return kind(message, code=_text(members, "code") or None, hint=_text(members, "hint"))


def may_be_tried_again(status: int, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether the same request may succeed shortly: what is busy does, what was tampered with does not."""
    if status == 409:
        return _code(headers, body) == "request_in_progress"
    if status not in (429, 502, 503, 504):
        return False
    if _media_type(headers) != _PROBLEM:
        return status in (502, 504) or "retry-after" in headers  # something in between speaks
    return "retry-after" in headers and _code(headers, body) in _BUSY


def _code(headers: Mapping[str, str], body: bytes) -> str:
    members = _members(body) if _media_type(headers) == _PROBLEM else None
    return _text(members or {}, "code")


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().casefold()


def _members(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _no_constant(_: str) -> Any:
    raise ValueError


def _text(members: Mapping[str, Any], name: str) -> str:
    """A member that is a text, as it may be shown: an error is read by people and models."""
    value = members.get(name)
    return fence.one_line(value[: 4 * _LONGEST])[:_LONGEST] if isinstance(value, str) else ""


def _families() -> dict[str, type[TruekeepError]]:
    """Every class of errors.py that is made of a message alone, by the code that its errors share."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TruekeepError)]
    return {kind.code: kind for kind in kinds if kind not in (TruekeepError, errors.MissingExtra)}


_FAMILIES = _families()
