"""Time stamps (RFC 3161): an authority's signed word that something was there at a moment. It learns only a hash."""

from __future__ import annotations

import hashlib
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from cryptography import x509

from truekeep.errors import InvalidRequest, MissingExtra, ServiceUnreachable
from truekeep.signals.post import checked_address, post

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse

_SECONDS = 20.0
"""How long an authority may take."""
_ANSWER_CAP = 100_000
"""Bytes of an answer; with a whole chain of certificates it has a tenth of it."""


def stamped(url: str, content: bytes) -> bytes:
    """The authority's answer for that content: a stamp over its SHA-256, made for this request."""
    try:
        from rfc3161_client import HashAlgorithm, TimestampRequestBuilder  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra("timestamp") from error
    request = TimestampRequestBuilder().data(content).hash_algorithm(HashAlgorithm.SHA256).build()
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    answer = post(checked_address(url), request.as_bytes(), headers, seconds=_SECONDS, most=_ANSWER_CAP)
    if answer.status != HTTPStatus.OK:
        raise ServiceUnreachable(
            "The time-stamping authority refused.", code="timestamp_refused", hint=f"It answered {answer.status}."
        )
    info = _parsed(answer.content).tst_info
    if info.nonce != request.nonce or info.message_imprint.message != hashlib.sha256(content).digest():
        raise _invalid("The time stamp is not of what was sent.")
    return answer.content


def stamped_at(stamp: bytes, content: bytes, roots: bytes) -> datetime:
    """When that content was stamped, by an authority that one of those certificates (PEM) vouches for."""
    try:
        from rfc3161_client import VerificationError, VerifierBuilder  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra("timestamp") from error
    try:
        verifier = VerifierBuilder(roots=x509.load_pem_x509_certificates(roots)).build()
        response = _parsed(stamp)
        verifier.verify_message(response, content)
    except (VerificationError, ValueError) as error:
        raise _invalid("The time stamp does not hold.") from error
    return response.tst_info.gen_time


def _parsed(answer: bytes) -> TimeStampResponse:
    from rfc3161_client import decode_timestamp_response  # noqa: PLC0415 - an extra

    try:
        response = decode_timestamp_response(answer)
        _ = response.tst_info  # raises if no stamp was granted
    except ValueError as error:
        raise _invalid("The authority sent no time stamp.") from error
    return response


def _invalid(words: str) -> InvalidRequest:
    return InvalidRequest(words, code="timestamp_invalid", hint="Ask the authority again, or check its certificates.")
