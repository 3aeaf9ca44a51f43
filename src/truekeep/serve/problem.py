"""Problems: every refusal and failure as problem+json (RFC 9457), with a stable code, and never a stack trace."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from truekeep.errors import (
    InputError,
    InvalidText,
    KeepClosed,
    KeyUnavailable,
    NotAllowed,
    NotAuthenticated,
    PromptSecurityError,
    ServiceBusy,
    StoreError,
    TicketRefused,
    TruekeepError,
    UnknownId,
)
from truekeep.read.reader import sanitised_json
from truekeep.types import Verdict

MEDIA_TYPE = "application/problem+json"
DESCRIBED = "GET /openapi.json describes every path and what it takes."
"""The hint of a refusal that has none of its own."""
_STATUSES: tuple[tuple[type[TruekeepError], int], ...] = (
    (NotAuthenticated, 401),
    (TicketRefused, 409),
    (NotAllowed, 403),
    (UnknownId, 404),
    (InvalidText, 422),
    (PromptSecurityError, 422),
    (InputError, 400),
    (ServiceBusy, 503),
    (KeepClosed, 503),
    (KeyUnavailable, 503),
    (StoreError, 503),
)
_BY_CODE = {
    "working_refused": 422,
    "batch_too_large": 413,
    "item_settled": 409,
    "run_credited": 409,
    "request_done": 409,
    "another_member": 409,
    "another_body": 422,
    "rate_limited": 429,
    "etag_mismatch": 412,
    "etag_missing": 428,
}
CODE = b"x-truekeep-code"
"""Where an answer has its code on its way to the edge, which counts it and takes it away."""
_AGAIN = {401: {"WWW-Authenticate": 'Bearer realm="truekeep"'}, 429: {"Retry-After": "1"}, 503: {"Retry-After": "1"}}


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    hint: str,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> JSONResponse:
    """A refusal or failure as an answer. ``error`` repeats ``detail`` for callers of the library's dictionaries.

    It always says what to do: a blank hint becomes where everything is described.
    """
    body: dict[str, Any] = {
        "type": f"urn:truekeep:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "success": False,
        "error": detail,
        "code": code,
        "hint": hint if hint.strip() else DESCRIBED,
        "findings": [],
    }
    # The one sanitiser once more: whatever an error came to hold, no reader of it is told to do anything.
    told = sanitised_json(body | more)
    given = {**_AGAIN.get(status, {}), **(headers or {}), CODE.decode(): code}
    return JSONResponse(told, status, given, MEDIA_TYPE)


def status_of(error: TruekeepError) -> int:
    """The status that goes with one of the house's errors."""
    return _BY_CODE.get(error.code) or next((number for kind, number in _STATUSES if isinstance(error, kind)), 500)


def problem_of(error: TruekeepError) -> JSONResponse:
    """One of the house's errors as an answer; what an error says never echoes what was sent.

    ``family`` is the code that all errors of its class share, for clients that have the same classes.
    """
    return problem(status_of(error), error.code, str(error), hint=error.hint, family=type(error).code)


def problem_of_verdict(verdict: Verdict, **more: Any) -> JSONResponse:
    """A text that the gate rejected: the sentence, the code and what was found."""
    findings = [finding.as_dict() for finding in verdict.findings]
    return problem(422, verdict.code, verdict.reason, hint=verdict.hint, findings=findings, decision="reject", **more)
